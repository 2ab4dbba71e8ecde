import type { D1Migration } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterAll } from 'vitest'
import { closeAll } from './at-end'

const { TEST_MIGRATIONS: migrations } = env as unknown as { TEST_MIGRATIONS: D1Migration[] }
const isMigrated = await env.DB.prepare(
  `SELECT 1 FROM sqlite_master WHERE name = 'd1_migrations'`,
).first()

// The migrations in one round trip and a statement each: every test file waits for them. Tests of
// migrations apply them one by one, as a hub does.
if (isMigrated === null) {
  const table =
    'CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)'
  await env.DB.batch([
    env.DB.prepare(table),
    ...migrations.map(({ queries }) => env.DB.prepare(queries.join('\n;\n'))),
    ...migrations.map(({ name }) =>
      env.DB.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(name),
    ),
  ])
}

afterAll(closeAll)
