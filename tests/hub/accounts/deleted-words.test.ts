import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { adminKey, createTestHub } from '../create-test-hub'
import { makeModerator } from '../moderation/make-moderator'

const hub = createTestHub()
const canary = 'quetzal-5150'
type Person = Awaited<ReturnType<typeof hub.join>>
let mo: Person
let ria: Person
let people = 0

beforeAll(async () => {
  mo = await hub.join('mo', 'human')
  ria = await hub.join('ria', 'human')
  await makeModerator(mo.id, 'general')
})

const send = (person: Person, path: string, body: unknown = {}, method = 'POST') => {
  hub.clock.advance(10)
  return hub.call(path, { key: person.key, body, method })
}
const newPost = async (person: Person, content = `About ${canary}`) =>
  (await send(person, '/posts', { community: 'general', title: 'Birds', content })).body.post
    .id as string
const remove = (name: string, words: 'keep' | 'remove' = 'remove') =>
  hub.call(`/accounts/${name}?words=${words}`, { key: adminKey, method: 'DELETE' })
const newPerson = () => hub.join(`mira${++people}`, 'human')

async function dumpAll(): Promise<string[]> {
  const { results } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_%' ESCAPE '\\' AND name NOT LIKE 'd1%' AND name NOT LIKE 'search_%'`,
  ).all<{ name: string }>()
  const found: string[] = []
  for (const { name } of results) {
    const rows = (await env.DB.prepare(`SELECT * FROM "${name}"`).all()).results
    if (JSON.stringify(rows).includes(canary)) found.push(name)
  }
  return found
}

test('T10: texts of appeals and reports go with the words of their account', async () => {
  const mira = await newPerson()
  const post = await newPost(mira)
  const other = await newPost(ria, 'Plums')
  await send(mira, `/posts/${other}/report`, { reason: `Not like ${canary}` })
  const removed = await send(mo, `/posts/${post}/remove`, { reason: 'Off topic' })
  expect(removed.status).toBe(200)
  const appeal = { action_id: removed.body.action.id, text: `It is about ${canary}` }
  const appealed = await send(mira, '/appeals', appeal)
  expect(appealed.status, JSON.stringify(appealed.body)).toBeLessThan(300)
  expect(await dumpAll()).toEqual(expect.arrayContaining(['appeals', 'content_reports', 'posts']))
  expect((await remove(mira.name)).status).toBe(200)
  expect(await dumpAll()).toEqual([])
  expect(hub.seen.deletedFiles).toEqual([mira.id])
  // The queue still opens, with the report and the appeal.
  expect((await hub.call('/moderation/queue', { key: mo.key })).status).toBe(200)
})

test('T10: restoring what a deleted account wrote says that its author deleted it', async () => {
  const mira = await newPerson()
  const post = await newPost(mira)
  const thread = await newPost(ria, 'Plums')
  const { body } = await send(mira, `/posts/${thread}/comments`, { content: canary })
  const comment = body.comment.id as string
  for (const path of [`/posts/${post}`, `/comments/${comment}`]) {
    expect((await send(mo, `${path}/remove`, { reason: 'Off topic' })).status).toBe(200)
  }
  expect((await remove(mira.name)).status).toBe(200)
  for (const path of [`/posts/${post}`, `/comments/${comment}`]) {
    const restored = await send(mo, `${path}/restore`, { reason: 'It was fine' })
    expect(restored.status).toBe(409)
    expect(restored.body.error).toMatch(/deleted by its author/)
  }
  const rows = await env.DB.prepare('SELECT removal_id FROM posts WHERE id = ?').bind(post).all()
  expect(rows.results).toEqual([{ removal_id: null }])
})

test('T10 T12: the admin log lets go of the names of a deleted account, and of nothing else', async () => {
  for (const words of ['keep', 'remove'] as const) {
    const mira = await newPerson()
    const rename = { key: adminKey, method: 'PUT', body: { name: `${mira.name}-x` } }
    expect((await hub.call(`/accounts/${mira.name}/name`, rename)).status).toBe(200)
    const entry = () =>
      env.DB.prepare(`SELECT * FROM admin_log WHERE action = 'account.rename' AND target_id = ?`)
        .bind(mira.id)
        .first()
    expect(JSON.stringify(await entry())).toContain(mira.name)
    const scrub = `UPDATE admin_log SET before = NULL, after = NULL WHERE target_id = ?`
    await expect(env.DB.prepare(scrub).bind(mira.id).run()).rejects.toThrow('append-only')
    expect((await remove(`${mira.name}-x`, words)).status).toBe(200)
    expect(await entry()).toMatchObject({ target_id: mira.id, before: null, after: null })
    expect(JSON.stringify(await entry())).not.toContain(mira.name)
    for (const change of [`reason = 'x'`, `after = '{}'`, `account_id = 'x'`, `created_at = 1`]) {
      const sql = `UPDATE admin_log SET before = NULL, after = NULL, ${change} WHERE target_id = ? AND action = 'account.rename'`
      await expect(env.DB.prepare(sql).bind(mira.id).run(), change).rejects.toThrow()
    }
    const deletion = `UPDATE admin_log SET after = NULL WHERE target_id = ? AND action = 'account.delete'`
    await expect(env.DB.prepare(deletion).bind(mira.id).run()).rejects.toThrow('append-only')
  }
})

test('T10: when files cannot be deleted, the answer says so', async () => {
  const mira = await newPerson()
  hub.seen.failsToDeleteFiles = true
  const { body } = await remove(mira.name)
  expect(body.remains.join(' ')).toMatch(/could not be deleted/)
})

test('T10: the appeal of a ban of the whole hub goes with the words of its account', async () => {
  const mira = await newPerson()
  const ban = await hub.call(`/accounts/${mira.name}/bans`, {
    key: adminKey,
    body: { kind: 'ban', reason: 'Spam' },
  })
  const appealed = await send(mira, `/bans/${ban.body.ban.id}/appeal`, { text: canary })
  expect(appealed.status).toBe(201)
  expect(await dumpAll()).toContain('ban_appeals')
  expect((await remove(mira.name)).status).toBe(200)
  expect(await dumpAll()).toEqual([])
})
