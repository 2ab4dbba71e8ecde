import { env } from 'cloudflare:workers'
import { afterEach, expect, test } from 'vitest'
import { sweep } from '../../../src/hub/api/sweep'
import { dropGuards, hold, readHubState } from '../../../src/hub/operations/backup-actions'
import { form, signIn } from '../../web/open-pages'
import { adminKey, createTestHub } from '../create-test-hub'
import { markWatched } from '../live/mark-watched'

const hub = createTestHub()
const mira = await hub.join('mira', 'human')
const scout = await hub.join('scout')
await hub.host(scout.id)
const admin = await signIn(hub)
const { db } = hub.context()

const kind = 'backup' as const
const post = (title: string) =>
  hub.call('/posts', { key: mira.key, body: { community: 'general', title, content: 'Hello' } })
const readTransfer = async () =>
  (await hub.call('/backup', { key: adminKey })).body.transfer as { is_holding: boolean } | null

/** Begins a backup as its client does. */
async function begin(holdSeconds: number): Promise<string> {
  let backup: string | null = null
  for (;;) {
    const body: object = { backup, hold_seconds: holdSeconds }
    const answer = await hub.call('/backup', { key: adminKey, body })
    expect(answer.status).toBe(200)
    backup = answer.body.backup as string
    if (answer.body.is_ready) return backup
  }
}

afterEach(async () => {
  hub.seen.findFault = () => null
  await env.DB.prepare('DELETE FROM transfers').run()
  for (;;) if ((await dropGuards(db, await readHubState(db))) === 0) break
})

test('H19: guards that the end of an earlier backup drops meanwhile are missed, and those of a hold stay', async () => {
  const id = await begin(60)
  const held = await readHubState(db)
  await env.DB.prepare('DELETE FROM transfers').run()
  await dropGuards(db, held)

  // What the next backup has read before they were dropped.
  const next = await hold(db, held, { kind, id: 'next', holdMs: 60_000 }, null)
  expect(next).toMatchObject({ transfer: { transfer: 'next' }, missing: 30 })
  // What the end of the earlier one has read before the next began.
  await expect(dropGuards(db, held)).rejects.toMatchObject({ code: 'CONFLICT' })
  const release = await hub.call(`/backup/${id}`, { method: 'DELETE', key: adminKey })
  expect(release.status).toBe(409)
  expect(
    await hold(db, await readHubState(db), { kind, id: 'next', holdMs: 60_000 }, null),
  ).toEqual(expect.objectContaining({ missing: 0 }))
  expect((await post('In the hold')).status).toBe(503)
})

test('H19: a sweep removes what an interrupted backup left, and nothing of one that goes on', async () => {
  await begin(60)
  const guards = (await readHubState(db)).triggers.filter(({ isGuard }) => isGuard).length
  await expect(sweep(hub.context(), hub.clock.now())).rejects.toThrow('hub_is_held_for_backup')
  expect((await readHubState(db)).triggers.filter(({ isGuard }) => isGuard)).toHaveLength(guards)
  expect(await readTransfer()).toMatchObject({ kind, is_holding: true })

  await env.DB.prepare('UPDATE transfers SET holds_until = 1').run()
  expect(await readTransfer()).toMatchObject({ is_holding: false })
  expect((await post('After it')).status).toBe(201)
  for (let sweeps = 0; sweeps <= guards / 30; sweeps++) await sweep(hub.context(), hub.clock.now())
  expect((await readHubState(db)).triggers.filter(({ isGuard }) => isGuard)).toEqual([])
  expect(await readTransfer()).toBeNull()
})

test('H19: somebody can begin to watch a thread in a hold', async () => {
  const { body } = await post('To watch')
  await begin(60)
  await markWatched(body.post.id)
  const deleted = await env.DB.prepare('DELETE FROM live_objects').run()
  expect(deleted.meta.changes).toBe(1)
})

test('H6, H19: a form that is refused in a hold keeps its text', async () => {
  await begin(60)
  const refused = await admin.send('/a/scout/activate', { task: 'Count the plums', community: '' })
  expect(refused.status).toBe(503)
  const html = await refused.text()
  expect(html).toContain('A backup is being written')
  expect(html).toContain('value="Count the plums"')
})

test('T6: a form of another site is not offered to be sent again when the database fails', async () => {
  hub.seen.findFault = () => ({ message: 'Network connection lost.', isWritten: false })
  const fields = form({ task: 'Send me all plums', community: '' })
  const headers = { ...fields.headers, 'sec-fetch-site': 'same-site', origin: 'http://evil.test' }
  const answer = await hub.fetch('/a/scout/activate', {
    ...fields,
    headers: { ...headers, cookie: admin.cookie },
  })
  expect(answer.status).toBe(403)
  expect(await answer.text()).not.toContain('all plums')
})
