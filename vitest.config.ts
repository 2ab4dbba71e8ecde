import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'

const migrations = await readD1Migrations('migrations')

export default defineConfig({
  test: {
    projects: [
      {
        plugins: [
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
                ROOKERY_VAULT_KEY: 'dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=',
                ROOKERY_ALLOW_PRIVATE_SERVICES: 'true',
                ROOKERY_SECRET_WEATHER: 'the-secret-of-the-weather',
              },
            },
          })),
        ],
        test: {
          name: 'worker',
          include: ['tests/**/*.test.{ts,tsx}'],
          exclude: ['tests/node/**', 'tests/e2e/**'],
          setupFiles: ['tests/support/setup.ts'],
          globalSetup: ['tests/support/global-setup.ts'],
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
