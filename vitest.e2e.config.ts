import { defineConfig } from 'vitest/config'
import { chooseSample } from './tests/support/choose-sample.ts'

chooseSample()

/** Browser tests: `npm run test:e2e`. They start the hub as a newcomer does and drive Chromium. */
export default defineConfig({
  test: {
    include: ['tests/e2e/**/*.e2e.ts'],
    globalSetup: ['tests/node/migrated-data.ts'],
    setupFiles: ['tests/e2e/report-failure.ts'],
    // each file has a hub and a browser of its own, which wait for each other half of the time
    maxWorkers: 2,
    // far more than any test needs: only what hangs ends here
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
  },
})
