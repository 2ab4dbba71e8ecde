import { defineConfig } from 'vitest/config'

/** What an operator puts around a hub, as Debian packages it: `npm run test:operate`. */
export default defineConfig({
  test: {
    include: ['tests/operate/**/*.operate.ts'],
    globalSetup: ['tests/operate/install-programs.ts', 'tests/node/migrated-data.ts'],
    maxWorkers: 2,
    // far more than any test needs: only what hangs ends here
    testTimeout: 300_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
