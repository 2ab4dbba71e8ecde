import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { type Browser, signIn } from '../../web/open-pages'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
type Account = Awaited<ReturnType<typeof hub.join>>
let ada: Account
let olga: Account
let browser: Browser

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  olga = await hub.join('olga', 'human')
  await hub.call('/accounts/olga/role', { method: 'PUT', key: adminKey, body: { role: 'admin' } })
  browser = await signIn(hub, ada.key)
})
beforeEach(async () => {
  await env.DB.prepare('DELETE FROM ban_appeals').run()
  await env.DB.prepare('DELETE FROM bans').run()
})

const send = (key: string, path: string, body: object) => {
  hub.clock.advance(10)
  return hub.call(path, { key, method: 'POST', body })
}
const restrict = async (kind: string, key = adminKey): Promise<string> => {
  const answer = await send(key, '/accounts/ada/bans', { kind, reason: 'Spam <links>' })
  expect(answer.status).toBe(201)
  return answer.body.ban.id
}
const decide = (key: string, id: string, decision: string) =>
  send(key, `/bans/${id}/decide`, { decision, reason: 'I looked at it.' })

test('T11 T10: a banned account reads its ban, appeals it once, and nothing else', async () => {
  const id = await restrict('ban')
  expect((await hub.call('/feed', { key: ada.key })).body.code).toBe('BANNED')
  await hub.call('/bans', { key: ada.key })
  const { body, headers } = await hub.call('/bans', { key: ada.key })
  expect(body.bans).toMatchObject([{ id, kind: 'ban', reason: 'Spam <links>', appeal: null }])
  expect(readCost(headers).roundTrips).toBe(1)
  expect((await send(olga.key, `/bans/${id}/appeal`, { text: 'No.' })).status).toBe(404)
  expect((await send(ada.key, `/bans/${id}/appeal`, { text: 'It was not me.' })).status).toBe(201)
  expect((await send(ada.key, `/bans/${id}/appeal`, { text: 'Again' })).status).toBe(409)
  expect((await send(ada.key, '/appeals', { action_id: 'x', text: 'x' })).body.code).toBe('BANNED')
})

test('T11 T10: in the browser, every page but the notice is refused, and leads to it', async () => {
  const id = await restrict('ban')
  for (const path of ['/', '/inbox', '/moderation/mine', '/settings']) {
    const page = await browser.get(path)
    expect(page.status, path).toBe(403)
    expect(await page.text()).toContain('href="/moderation/notice"')
  }
  await browser.get('/moderation/notice')
  const notice = await browser.get('/moderation/notice')
  expect(notice.status).toBe(200)
  expect(readCost(notice.headers).roundTrips).toBe(1)
  expect(await notice.text()).toContain('Reason: Spam &lt;links&gt;')
  const empty = await browser.send('/moderation/notice', { ban_id: id, text: ' ' })
  expect(empty.status).toBe(400)
  expect(await empty.text()).toContain('The appeal must not be empty.')
  const sent = await browser.send('/moderation/notice', { ban_id: id, text: 'It was <not> me.' })
  expect(sent.headers.get('location')).toBe('/moderation/notice')
  const page = await browser.read('/moderation/notice')
  expect(page).toContain('It was &lt;not&gt; me.')
  expect(page).toContain('Waiting for an admin.')
  const again = await signIn(hub, ada.key)
  expect((await again.get('/moderation/notice')).status).toBe(200)
  expect((await again.get('/')).status).toBe(403)
})

test('T11 T10: another admin than the one who banned decides, and a reversal lets the account in', async () => {
  const id = await restrict('ban', olga.key)
  expect((await decide(adminKey, id, 'uphold')).status).toBe(404)
  await send(ada.key, `/bans/${id}/appeal`, { text: 'It was not me.' })
  const admin = await signIn(hub, adminKey)
  const queue = await admin.read('/moderation')
  expect(queue).toContain('It was not me.')
  expect(queue).toMatch(/Moderation<b> 1<\/b>/)
  const { body } = await hub.call('/bans/appeals', { key: adminKey })
  expect(body.bans).toMatchObject([
    { id, account: { name: 'ada' }, by: { name: 'olga' }, appeal: 'It was not me.' },
  ])
  expect((await decide(ada.key, id, 'reverse')).body.code).toBe('BANNED')
  expect((await decide(olga.key, id, 'reverse')).status).toBe(403)
  expect(await decide(adminKey, id, 'reverse')).toMatchObject({
    status: 200,
    body: { ban: { appeal_outcome: 'reversed' } },
  })
  expect((await hub.call('/feed', { key: ada.key })).status).toBe(200)
  const { items } = (await hub.call('/inbox', { key: ada.key })).body
  expect(items[0].content).toMatch(/Appeal accepted.* I looked at it\./)
  const entry = await env.DB.prepare(
    `SELECT account_id, target_id, reason FROM admin_log WHERE action = 'account.appeal.reversed'`,
  ).first()
  expect(entry).toMatchObject({ target_id: ada.id, reason: 'I looked at it.' })
  expect((await decide(adminKey, id, 'reverse')).status).toBe(404)
})

test('T11 T10: a muted account appeals too; an appeal that is rejected leaves the mute', async () => {
  const id = await restrict('mute')
  expect((await send(ada.key, `/bans/${id}/appeal`, { text: 'No.' })).status).toBe(201)
  expect((await decide(olga.key, id, 'uphold')).status).toBe(200)
  expect((await decide(olga.key, id, 'uphold')).status).toBe(409)
  const post = await send(ada.key, '/posts', { community: 'general', title: 'Hello' })
  expect(post.body.code).toBe('MUTED')
  expect(post.body.hint).toContain('/moderation/notice')
  expect(await browser.read('/moderation/notice')).toContain('I looked at it.')
})

test('T11 T10: who is the only admin that can act decides alone', async () => {
  const id = await restrict('mute')
  await send(ada.key, `/bans/${id}/appeal`, { text: 'No.' })
  expect((await decide(adminKey, id, 'uphold')).status).toBe(403)
  await send(adminKey, '/accounts/olga/disable', {})
  expect((await decide(adminKey, id, 'uphold')).status).toBe(200)
  await send(adminKey, '/accounts/olga/enable', {})
})
