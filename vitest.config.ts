import { availableParallelism } from 'node:os'
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'
import { bundledPackages } from './tests/support/bundled-packages.ts'

const migrations = await readD1Migrations('migrations')

/** The Worker as tests see it. */
const worker = () =>
  cloudflareTest(({ inject }) => ({
    wrangler: { configPath: './wrangler.toml' },
    miniflare: {
      bindings: {
        TEST_MIGRATIONS: migrations,
        ROOKERY_ADMIN_KEY: 'test_admin_key_0123456789',
        ROOKERY_PUBLIC: 'true',
        ROOKERY_ORIGIN: 'http://hub.test,https://hub.example',
        // Requests of tests come from no proxy.
        ROOKERY_CLIENT_ADDRESS_HEADER: '',
        ROOKERY_LOG_LEVEL: 'error',
        OPENAI_COMPATIBLE_API_KEY: 'test-key-that-is-wrong',
        FAKE_MODEL_URL: inject<string>('fakeModelUrl'),
        FAKE_BASE_URL: inject<string>('fakeModelUrl'),
        FAKE_API_KEY: 'test-key-of-the-fake',
        FAKE_SERVICE_URL: inject<string>('fakeServiceUrl'),
        OUTSIDE_URLS: inject<string>('outsideUrls'),
        TEST_POSTGRES_URL: inject<string>('postgresUrl'),
        TEST_POSTGRES_IS_WHOLE: String('ROOKERY_TEST_POSTGRES_URL' in process.env),
        ROOKERY_VAULT_KEY: 'dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=',
        ROOKERY_ALLOW_PRIVATE_SERVICES: 'true',
        ROOKERY_SECRET_WEATHER: 'the-secret-of-the-weather',
        ROOKERY_FUZZ_SEED: process.env.ROOKERY_FUZZ_SEED ?? '',
        ROOKERY_FUZZ_RUNS: process.env.ROOKERY_FUZZ_RUNS ?? '',
        ROOKERY_ROWS_POSTS: process.env.ROOKERY_ROWS_POSTS ?? '',
      },
      hyperdrives: { TEST_HYPERDRIVE: inject<string>('postgresUrl') },
    },
  }))

/**
 * Files that go through the whole Worker. What an agent set going there may outlast its file, so each
 * of them has a Worker of its own, which costs 5 seconds.
 */
const alone = [
  'tests/agents/executors/outside-executor.test.ts',
  'tests/agents/scheduler/{scheduler-object,simulated-day}.test.ts',
  'tests/hub/{reply-limits,tasks}/story.test.ts',
  'tests/hub/live/{activation-stream,runtime-events,*-watched}.test.ts',
  'tests/hub/scheduler/board.test.ts',
  'tests/mcp-servers/credentials/{canary,vault}.test.ts',
  'tests/mcp-servers/http/http-request.test.ts',
  'tests/mcp-servers/outside/mcp-on-worker.test.ts',
  'tests/mcp-servers/remote/{bulk,connect-attacks,hosted,hostile,own-accounts,remote-servers,sessions,transport}.test.ts',
  'tests/stories/*.test.ts',
  'tests/web/tools/*.test.ts',
]

/** Files that share a Worker, and find nothing in its database but what they put there. */
const onDatabase = [
  'tests/{hub,web}/**/*.test.{ts,tsx}',
  'tests/mcp-servers/credentials/*.test.ts',
  'tests/mcp-servers/gateway/{approval,guarded-reads,rate-limit}.test.ts',
  'tests/mcp-servers/hub/hub-tools-on-d1.test.ts',
]

/** Files that share a Worker and keep to themselves. */
const inRooms = ['tests/{agents,architecture,log,mcp-servers,shared}/**/*.test.ts']

const setup = 'tests/support/setup.ts'
const fixSeed = 'tests/support/fix-seed.ts'
const support = {
  globalSetup: ['tests/support/global-setup.ts'],
  deps: { optimizer: { ssr: { enabled: true, include: bundledPackages } } },
}

/** More files than cores: those that kill processes or watch a clock mostly wait. */
const maxWorkers = Math.ceil(availableParallelism() * 1.5)
/** Far more than any test needs: a machine may be slow, and only what hangs ends here. */
const patience = {
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 120_000 } },
}

export default defineConfig({
  test: {
    maxWorkers,
    projects: [
      {
        plugins: [worker()],
        test: {
          ...support,
          ...patience,
          name: 'hub',
          include: onDatabase,
          exclude: alone,
          setupFiles: ['tests/support/empty-database.ts', setup, fixSeed],
          isolate: false,
          maxWorkers,
        },
      },
      {
        plugins: [worker()],
        test: {
          ...support,
          ...patience,
          name: 'rooms',
          include: inRooms,
          exclude: [...alone, ...onDatabase],
          setupFiles: [setup, fixSeed],
          isolate: false,
          maxWorkers,
        },
      },
      {
        plugins: [worker()],
        test: {
          ...support,
          ...patience,
          name: 'worker',
          include: alone,
          setupFiles: [setup],
          maxWorkers,
        },
      },
      {
        test: {
          name: 'node',
          include: ['tests/node/**/*.test.ts'],
          ...patience,
          maxWorkers,
        },
      },
    ],
  },
})
