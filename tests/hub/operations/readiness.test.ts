import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, test } from 'vitest'
import type { Disk, Machine } from '../../../src/hub/http/hub-env'
import { createTestHub } from '../create-test-hub'

const hub = createTestHub({ ROOKERY_PUBLIC: 'false' })

afterEach(() => {
  hub.seen.machine = null
  hub.seen.findFault = () => null
})

async function readReadiness() {
  const answer = await hub.fetch('/readyz')
  const body = (await answer.json()) as { status: string; reasons: string[] }
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body }
}

const machine = (state: Disk['state'], agents: Machine['agents']): Machine => ({
  disk: { state, free_bytes: 1 },
  agents,
})

describe('H20: GET /readyz', () => {
  test.each([
    ['no machine answers', null, true],
    ['the agents are loaded', machine('ok', { state: 'loaded', failed: 0 }), true],
    ['a folder was refused', machine('ok', { state: 'loaded', failed: 2 }), true],
    ['the disk has little room', machine('critical', { state: 'loaded', failed: 0 }), true],
    ['agents are being loaded', machine('ok', { state: 'loading', failed: 0 }), false],
    ['the disk is full', machine('full', { state: 'loaded', failed: 0 }), false],
  ] as const)(
    'H20: %s: says whether the hub is ready, without a key',
    async (_, state, isReady) => {
      hub.seen.machine = state
      const { status, retryAfter, body } = await readReadiness()
      expect([status, retryAfter]).toEqual(isReady ? [200, null] : [503, '5'])
      expect(body).toEqual({
        status: isReady ? 'ready' : 'not ready',
        reasons: isReady ? [] : [expect.stringMatching(/\.$/)],
        ...(state ?? { disk: null, agents: null }),
      })
      expect((await hub.fetch('/healthz')).status).toBe(200)
    },
  )

  test('H20: a database that does not answer is no ready hub, and the process is healthy', async () => {
    hub.seen.findFault = () => ({ message: 'D1_ERROR: down', isWritten: false })
    const { status, retryAfter, body } = await readReadiness()
    expect([status, retryAfter]).toEqual([503, '5'])
    expect(body.reasons).toEqual(['The database does not answer or was never migrated.'])
    expect((await hub.fetch('/healthz')).status).toBe(200)
  })

  test('H20: a database without the newest migration is not ready, one of a newer version is', async () => {
    const rename = (from: string, to: string) =>
      env.DB.prepare('UPDATE d1_migrations SET name = ? WHERE name = ?').bind(to, from).run()
    const newest = await env.DB.prepare('SELECT max(name) AS name FROM d1_migrations').first('name')
    await env.DB.prepare("INSERT INTO d1_migrations (name) VALUES ('9999_later.sql')").run()
    expect((await readReadiness()).status).toBe(200)
    await rename(String(newest), 'away')
    try {
      const { status, body } = await readReadiness()
      expect([status, body.reasons]).toEqual([
        503,
        ['The database lacks migrations of this version.'],
      ])
    } finally {
      await rename('away', String(newest))
      await env.DB.prepare("DELETE FROM d1_migrations WHERE name = '9999_later.sql'").run()
    }
    expect((await readReadiness()).status).toBe(200)
  })
})
