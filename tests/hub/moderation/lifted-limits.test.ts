import { beforeAll, beforeEach, expect, it } from 'vitest'
import type { CommentId, PostId } from '../../../src/shared/ids'
import { signIn } from '../../web/open-pages'
import { adminKey, readCost } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office
type Account = Awaited<ReturnType<typeof hub.join>>
let mira: Account
let oskar: Account
let ant: Account
let bee: Account
let outside: Account
let second: Account

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  oskar = await hub.join('oskar', 'human')
  ant = await office.createAgent('ant')
  bee = await office.createAgent('bee')
  outside = await hub.join('outsider', 'agent')
  second = await hub.join('second', 'agent')
})

beforeEach(async () => {
  await office.clear()
  await office.run('UPDATE agents SET interval_ms = 0, daily_comments_max = 1000')
  await office.run('UPDATE communities SET hop_limit = NULL, reply_limit = NULL')
  await office.run(
    `UPDATE accounts SET role = 'member', is_moderator = 0 WHERE name IN ('oskar', 'mira')`,
  )
  await office.run(`UPDATE accounts SET owner_id = NULL WHERE name = 'outsider'`)
  hub.clock.advance(2 * 60 * 60_000)
  hub.seen.woken = []
})

const lift = (post: PostId, key = mira.key) => {
  hub.clock.advance(1)
  return hub.call(`/posts/${post}/lifted-limits`, { key, method: 'POST' })
}

const isTask = ({ is_task, read_at }: { is_task: number; read_at: number | null }) =>
  is_task === 1 && read_at === null

/** Lets both agents answer each other, each mentioning the other, until none is woken; answers their comments. */
async function loop(post: PostId): Promise<number> {
  for (let written = 0; ; written++) {
    const waiting = await Promise.all([ant, bee].map(async ({ id }) => office.inbox(id)))
    const self = [ant, bee].find((_each, index) => waiting[index]?.some(isTask))
    if (!self) return written
    hub.clock.advance(1)
    const { activationId, items } = await office.start(self.id)
    const parentId = items.at(-1)?.commentId ?? null
    const content = `@${self === ant ? 'bee' : 'ant'} and you?`
    const reply = { id: office.newId<CommentId>(), postId: post, parentId, content, addressed: [] }
    const { replyId } = await office.commit(self.id, activationId, { reply })
    if (replyId === null) throw new Error('The answer was refused.')
  }
}

const stopped = async () => {
  const post = await office.post(mira.key, '@ant talk to @bee')
  await office.run(`UPDATE inbox_items SET read_at = 1 WHERE account_id = ?`, bee.id)
  return { post, written: await loop(post) }
}

it('C8: a loop of agents that a person lifted once continues, and stops again at the limit', async () => {
  const { post, written } = await stopped()
  expect(written).toBe(3)
  const refused = await office.all<{ id: string; hops: number }>(
    `SELECT id, hops FROM inbox_items WHERE post_id = ? AND refusal = 'reply_limit_post'`,
    post,
  )
  expect(refused).toHaveLength(1)
  hub.seen.woken = []
  const answer = await lift(post)
  expect(answer.status).toBe(201)
  expect(answer.body).toMatchObject({ post_id: post, woken: [{ name: 'bee', kind: 'agent' }] })
  expect(hub.seen.woken).toEqual([bee.id])
  const item = (await office.inbox(bee.id)).find(({ id }) => id === refused[0]?.id)
  expect(item).toMatchObject({ is_task: 1, refusal: null, hops: 1 })
  expect(await loop(post)).toBe(3)
  expect((await lift(post)).body.woken).toHaveLength(1)
  expect(await loop(post)).toBe(3)
})

it('C8: a stop is lifted once; then, and where nothing was stopped, nothing changes', async () => {
  const { post } = await stopped()
  const both = await Promise.all([lift(post), lift(post, adminKey)])
  expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
  expect((await lift(post)).status).toBe(409)
  expect(await office.all('SELECT 1 FROM lifted_limits WHERE post_id = ?', post)).toHaveLength(1)
  const calm = await office.post(mira.key, 'Nothing here')
  expect((await lift(calm)).status).toBe(409)
  expect((await lift('none' as PostId)).status).toBe(404)
  const continued = (await stopped()).post
  await office.comment(mira.key, continued, 'I see.')
  expect((await lift(continued)).status).toBe(409)
})

it('C8: only people lift, and only while they may comment there', async () => {
  const { post } = await stopped()
  expect((await lift(post, outside.key)).status).toBe(403)
  await office.run('UPDATE posts SET is_locked = 1 WHERE id = ?', post)
  expect((await lift(post)).body).toMatchObject({ code: 'FORBIDDEN' })
  await office.run('UPDATE posts SET is_locked = 0 WHERE id = ?', post)
  await office.run(
    `INSERT INTO bans (id, account_id, kind, reason, created_by, created_at) VALUES ('b1', ?1, 'mute', 'Loud', ?1, 1)`,
    mira.id,
  )
  expect((await lift(post)).body).toMatchObject({ code: 'MUTED' })
  await office.run(`DELETE FROM bans WHERE id = 'b1'`)
  expect(await office.all('SELECT 1 FROM lifted_limits WHERE post_id = ?', post)).toEqual([])
  await office.run('UPDATE communities SET reply_limit = 0')
  expect((await lift(post)).status).toBe(409)
  await office.run('UPDATE communities SET reply_limit = NULL')
  expect((await lift(post)).status).toBe(201)
})

it('C8: as many mentions as the reply limit are woken, for their requesters and for the account that lifted', async () => {
  await office.run('UPDATE communities SET hop_limit = 0, reply_limit = 5')
  hub.clock.advance(1)
  await office.run(`UPDATE accounts SET owner_id = ? WHERE name = 'outsider'`, oskar.id)
  const posted = await hub.call('/posts', {
    key: outside.key,
    body: { community: 'general', title: 'Hear', content: '@ant @bee look' },
  })
  const post = posted.body.post.id as PostId
  expect(posted.body.not_woken).toHaveLength(2)
  expect((await lift(post, oskar.key)).status).toBe(409)
  await office.run('UPDATE communities SET hop_limit = 2, reply_limit = 1')
  expect((await lift(post)).status).toBe(403)
  const { woken } = (await lift(post, oskar.key)).body
  expect(woken).toHaveLength(1)
  expect((await lift(post, oskar.key)).status).toBe(409)
  const rows = await office.all<{ requesters: string | null; refusal: string | null }>(
    'SELECT requesters, refusal FROM inbox_items WHERE post_id = ? ORDER BY is_task DESC',
    post,
  )
  expect(rows.map(({ refusal }) => refusal)).toEqual([null, 'reply_limit_hops'])
  expect(JSON.parse(rows[0]?.requesters ?? '[]')).toEqual([outside.id, oskar.id].sort())
  const started = await office.start(woken[0].name === 'ant' ? ant.id : bee.id)
  expect(started.requesters.map(({ name }) => name).sort()).toEqual(['oskar', 'outsider'])
})

it('C8 T1: what an agent wrote for the hub itself never runs with the rights of the person who lifts', async () => {
  const { post } = await stopped()
  const ofThread = "post_id = ? AND refusal = 'reply_limit_post'"
  await office.run(`UPDATE inbox_items SET requesters = '[]' WHERE ${ofThread}`, post)
  expect((await lift(post, adminKey)).status).not.toBe(201)
  expect((await lift(post)).status).toBe(409)
  expect(
    await office.all(`SELECT is_task, requesters FROM inbox_items WHERE ${ofThread}`, post),
  ).toEqual([{ is_task: 0, requesters: '[]' }])
  const html = await (await signIn(hub, mira.key)).read(`/p/${post}`)
  expect(html).toContain('did not wake bee')
  expect(html).not.toContain('lifted-limits')
})

const itemsOf = (post: PostId) =>
  office.all<{ requesters: string; refusal: string | null; read_at: number | null }>(
    `SELECT requesters, refusal, read_at FROM inbox_items WHERE post_id = ? AND account_id = ? AND from_account_id = ?`,
    post,
    bee.id,
    ant.id,
  )

it('C8: nobody makes agents spend the money of others by lifting, unless set over the place', async () => {
  const { post } = await stopped()
  const before = await itemsOf(post)
  const tryAll = async (status: number) => {
    for (const role of ['guest', 'member']) {
      await office.run(`UPDATE accounts SET role = ? WHERE name = 'oskar'`, role)
      expect((await lift(post, oskar.key)).status, role).toBe(status)
    }
  }
  await tryAll(403)
  // Not as the author of the post either: what agents do below it is for those who asked.
  await office.run('UPDATE posts SET author_id = ? WHERE id = ?', oskar.id, post)
  await tryAll(403)
  // A guest alone lifts what is for this guest, and never what is for others too.
  await office.run(
    `UPDATE inbox_items SET requesters = json_array(?, ?) WHERE post_id = ? AND refusal IS NOT NULL`,
    mira.id,
    oskar.id,
    post,
  )
  await office.run(`UPDATE accounts SET role = 'guest' WHERE name = 'oskar'`)
  expect((await lift(post, oskar.key)).body).toMatchObject({ code: 'FORBIDDEN' })
  expect(await office.all('SELECT 1 FROM lifted_limits WHERE post_id = ?', post)).toEqual([])
  expect((await itemsOf(post)).map(({ refusal }) => refusal)).toEqual(
    before.map(({ refusal }) => refusal),
  )
  await office.run(
    `UPDATE inbox_items SET requesters = json_array(?) WHERE post_id = ? AND refusal IS NOT NULL`,
    oskar.id,
    post,
  )
  expect((await lift(post, oskar.key)).status).toBe(201)
})

it('C8: a moderator lifts for others, which the admin log shows, and a requester only what is for them', async () => {
  const { post } = await stopped()
  await office.run(`UPDATE accounts SET is_moderator = 1 WHERE name = 'oskar'`)
  expect((await lift(post, oskar.key)).status).toBe(201)
  const entries = () =>
    office.all(
      `SELECT target_id FROM admin_log WHERE action = 'thread.lift_limit' AND account_id = ?`,
      oskar.id,
    )
  expect(await entries()).toEqual([{ target_id: post }])
  expect((await itemsOf(post)).some(({ requesters }) => requesters.includes(oskar.id))).toBe(true)
  await office.run(`UPDATE accounts SET is_moderator = 0 WHERE name = 'oskar'`)
  const other = (await stopped()).post
  await office.run(
    `INSERT INTO inbox_items (id, account_id, type, post_id, from_account_id, created_at, refusal, requesters)
     VALUES ('of-oskar', ?, 'mention', ?, ?, ?, 'reply_limit_hops', json_array(?))`,
    ant.id,
    other,
    bee.id,
    hub.clock.now(),
    oskar.id,
  )
  expect((await lift(other)).body.woken).toMatchObject([{ name: 'bee', kind: 'agent' }])
  expect(await office.all(`SELECT refusal FROM inbox_items WHERE id = 'of-oskar'`)).toEqual([
    { refusal: 'reply_limit_hops' },
  ])
  expect(await entries()).toHaveLength(1)
})

it('C8: a mention that its agent read as refused becomes a task again', async () => {
  const { post } = await stopped()
  await office.run(
    'UPDATE inbox_items SET read_at = 1 WHERE post_id = ? AND refusal IS NOT NULL',
    post,
  )
  expect((await lift(post)).body.woken).toMatchObject([{ name: 'bee', kind: 'agent' }])
  expect(await loop(post)).toBe(3)
})

it('C8: after a lift, comments of an external agent on the post itself stop at the reply limit', async () => {
  const { post } = await stopped()
  await office.run('UPDATE posts SET hops = 9 WHERE id = ?', post)
  expect((await lift(post)).status).toBe(201)
  const statuses: number[] = []
  for (let count = 0; count < 6; count++) {
    hub.clock.advance(60_000)
    const body = { content: '@ant again' }
    statuses.push((await hub.call(`/posts/${post}/comments`, { key: outside.key, body })).status)
    // Another account has to write in between, which counts as well.
    hub.clock.advance(60_000)
    statuses.push((await hub.call(`/posts/${post}/comments`, { key: second.key, body })).status)
  }
  expect(statuses.filter((status) => status === 201)).toHaveLength(3)
})

it('C8: the thread offers it where the stop is explained, says who lifted it, and works without scripts', async () => {
  const { post } = await stopped()
  const path = `/p/${post}`
  const browser = await signIn(hub, mira.key)
  await browser.read(path)
  const page = await browser.get(path)
  expect(readCost(page.headers).roundTrips).toBe(1)
  const html = await page.text()
  expect(html).toContain('did not wake bee')
  expect(html).toContain(`action="${path}/lifted-limits"`)
  for (const other of [
    await (await signIn(hub, oskar.key)).read(path),
    await (await hub.fetch(path)).text(),
  ]) {
    expect(other).not.toContain('lifted-limits')
    expect(other).toContain('moderators and admins can let the agents continue')
  }
  const sent = await browser.send(`${path}/lifted-limits`, {})
  expect([sent.status, sent.headers.get('location')]).toEqual([303, `${path}#notices`])
  const after = await browser.read(path)
  expect(after).not.toContain('did not wake')
  expect(after).toMatch(/mira<span class="vh">, person<\/span><\/span><\/a><span>lifted the limit/)
  expect((await browser.send(`${path}/lifted-limits`, {})).status).toBe(409)
  await office.comment(mira.key, post, 'Thanks.')
  expect(await browser.read(path)).not.toContain('lifted the limit')
})
