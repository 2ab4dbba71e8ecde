import { defineConfig } from 'vitest/config'

/** Browser tests: `npm run test:e2e`. They start the hub as a newcomer does and drive Chromium. */
export default defineConfig({
  test: {
    include: ['tests/e2e/**/*.e2e.ts'],
    // each file has a hub and a browser of its own, which wait for each other half of the time
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
  },
})
