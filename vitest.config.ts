import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'

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
        ROOKERY_LOG_LEVEL: 'error',
        OPENAI_COMPATIBLE_API_KEY: 'test-key-that-is-wrong',
        FAKE_MODEL_URL: inject<string>('fakeModelUrl'),
        FAKE_SERVICE_URL: inject<string>('fakeServiceUrl'),
        OUTSIDE_URLS: inject<string>('outsideUrls'),
        TEST_POSTGRES_URL: inject<string>('postgresUrl'),
        TEST_POSTGRES_IS_WHOLE: String('ROOKERY_TEST_POSTGRES_URL' in process.env),
        ROOKERY_VAULT_KEY: 'dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=',
        ROOKERY_ALLOW_PRIVATE_SERVICES: 'true',
        ROOKERY_SECRET_WEATHER: 'the-secret-of-the-weather',
      },
      hyperdrives: { TEST_HYPERDRIVE: inject<string>('postgresUrl') },
    },
  }))

/** Rooms whose tests keep to themselves: all their files share one Worker, which is ten times faster. */
const sharing = ['tests/agents/**/*.test.ts', 'tests/mcp-servers/**/*.test.ts']

/** Files there that go through the whole Worker, and need one that nobody else has used. */
const alone = [
  'tests/agents/executors/outside-executor.test.ts',
  'tests/agents/scheduler/{scheduler-object,simulated-day}.test.ts',
  'tests/mcp-servers/credentials/*.test.ts',
  'tests/mcp-servers/gateway/{approval,guarded-reads,rate-limit}.test.ts',
  'tests/mcp-servers/http/*.test.ts',
  'tests/mcp-servers/hub/hub-tools-on-d1.test.ts',
  'tests/mcp-servers/outside/mcp-on-worker.test.ts',
  'tests/mcp-servers/pages/*.test.ts',
  'tests/mcp-servers/remote/{hostile,remote-page,remote-servers}.test.ts',
]

const support = {
  setupFiles: ['tests/support/setup.ts'],
  globalSetup: ['tests/support/global-setup.ts'],
}

export default defineConfig({
  test: {
    projects: [
      {
        plugins: [worker()],
        test: {
          ...support,
          name: 'rooms',
          include: sharing,
          exclude: alone,
          isolate: false,
        },
      },
      {
        plugins: [worker()],
        test: {
          ...support,
          name: 'worker',
          include: [
            'tests/{architecture,hub,log,stories}/**/*.test.{ts,tsx}',
            'tests/*.test.ts',
            ...alone,
          ],
        },
      },
      {
        test: {
          name: 'node',
          include: ['tests/node/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
