import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'
import { bundledPackages } from './tests/support/bundled-packages.ts'
import { chooseSample } from './tests/support/choose-sample.ts'

const migrations = await readD1Migrations('migrations')

// Files of the project `node` read it from the environment, those in workerd from a binding.
chooseSample()

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
        TEST_MAIL_SERVER: inject<string>('mailServer'),
        TEST_POSTGRES_URL: inject<string>('postgresUrl'),
        TEST_POSTGRES_IS_WHOLE: String('ROOKERY_TEST_POSTGRES_URL' in process.env),
        ROOKERY_VAULT_KEY: 'dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=',
        ROOKERY_ALLOW_PRIVATE_SERVICES: 'true',
        ROOKERY_SECRET_WEATHER: 'the-secret-of-the-weather',
        ROOKERY_TEST_ALL: process.env.ROOKERY_TEST_ALL ?? '',
        ROOKERY_TEST_SAMPLE: process.env.ROOKERY_TEST_SAMPLE ?? '',
        ROOKERY_FUZZ_SEED: process.env.ROOKERY_FUZZ_SEED ?? '',
        ROOKERY_FUZZ_RUNS: process.env.ROOKERY_FUZZ_RUNS ?? '',
        ROOKERY_ROWS_POSTS: process.env.ROOKERY_ROWS_POSTS ?? '',
      },
      hyperdrives: { TEST_HYPERDRIVE: inject<string>('postgresUrl') },
    },
  }))

/** Files that share a Worker, and find nothing in its database but what they put there. */
const onDatabase = [
  'tests/{hub,stories,web}/**/*.test.{ts,tsx}',
  'tests/agents/scheduler/{scheduler-object,simulated-day}.test.ts',
  'tests/mcp-servers/credentials/*.test.ts',
  'tests/mcp-servers/gateway/{approval,guarded-reads,rate-limit}.test.ts',
  'tests/mcp-servers/outside/{mcp,resources}-on-worker.test.ts',
  'tests/mcp-servers/remote/{bulk,connect-attacks,hosted,hostile,own-accounts,remote-servers,sessions,transport}.test.ts',
  'tests/mcp-servers/servers/{http,hub-on-d1}.test.ts',
]

/** Files that share a Worker and keep to themselves. */
const inRooms = ['tests/{agents,architecture,bundle,log,mcp-servers,shared}/**/*.test.ts']

const setup = 'tests/support/setup.ts'
const fixSeed = 'tests/support/fix-seed.ts'
const support = {
  globalSetup: ['tests/support/global-setup.ts'],
  deps: { optimizer: { ssr: { enabled: true, include: bundledPackages } } },
}

/** Compiled scripts of Node: tests start some hundred processes with the same ones. */
const compileCache =
  process.env.NODE_COMPILE_CACHE ?? join(import.meta.dirname, 'node_modules/.cache/compiled')

/** More files than cores: those that watch a clock mostly wait. */
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
          setupFiles: [
            'tests/support/empty-database.ts',
            'tests/support/compose-again.ts',
            setup,
            fixSeed,
          ],
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
          exclude: onDatabase,
          setupFiles: [setup, fixSeed],
          isolate: false,
          maxWorkers,
        },
      },
      {
        test: {
          name: 'node',
          include: ['tests/node/**/*.test.ts'],
          globalSetup: ['tests/node/migrated-data.ts'],
          ...patience,
          // Their processes wait for each other, so that two a core keep it busy.
          maxWorkers: 2 * availableParallelism(),
          // Other numbers of workers take turns.
          sequence: { groupOrder: 1 },
          env: { NODE_COMPILE_CACHE: compileCache },
        },
      },
    ],
  },
})
