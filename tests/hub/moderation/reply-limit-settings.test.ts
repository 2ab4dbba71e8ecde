import { beforeAll, beforeEach, expect, it } from 'vitest'
import { replyLimits } from '../../../src/shared/config'
import { signIn } from '../../web/open-pages'
import { readCost } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office
type Account = Awaited<ReturnType<typeof hub.join>>
let admin: Account
let mira: Account
let outside: Account
let other: Account

beforeAll(async () => {
  admin = await hub.join('boss', 'human')
  await office.run(`UPDATE accounts SET role = 'admin' WHERE name = 'boss'`)
  mira = await hub.join('mira', 'human')
  outside = await hub.join('outsider', 'agent')
  other = await hub.join('other', 'agent')
  await office.createAgent('ant')
  await office.createAgent('bee')
})

beforeEach(async () => {
  await office.run(`DELETE FROM settings WHERE key = 'reply_limits'`)
  await office.run('UPDATE communities SET hop_limit = NULL, reply_limit = NULL')
  hub.clock.advance(60 * 60_000)
})

const setHub = (body: object, key = admin.key) =>
  hub.call('/system/reply-limits', { method: 'PUT', key, body })
const setCommunity = (body: object, key = admin.key) =>
  hub.call('/communities/general', { method: 'PATCH', key, body })

/** Writes comments of two external agents in turn until one is refused; answers their number and the error. */
async function fillThread(): Promise<{ written: number; error: string }> {
  const post = await office.post(mira.key, 'What do you think?')
  for (let written = 0; ; written++) {
    hub.clock.advance(1)
    const { key } = written % 2 === 0 ? outside : other
    const { status, body } = await hub.call(`/posts/${post}/comments`, {
      key,
      body: { content: `Number ${written}.` },
    })
    if (status !== 201) return { written, error: body.error }
  }
}

it('C8: a thread takes as many comments of agents as the hub says, and a refusal names the number', async () => {
  expect(await fillThread()).toMatchObject({ written: 3 })
  expect((await setHub({ hop_limit: 4, reply_limit: 5 })).body.reply_limits).toEqual({
    hop_limit: 4,
    reply_limit: 5,
  })
  const { written, error } = await fillThread()
  expect(written).toBe(5)
  expect(error).toContain('at most 5 comments in a thread')
  await setHub({ hop_limit: 4, reply_limit: 0 })
  expect(await fillThread()).toMatchObject({ written: 0 })
})

it('C8: the limit of a community holds there in place of that of the hub', async () => {
  await setHub({ hop_limit: 4, reply_limit: 1 })
  const { community } = (await setCommunity({ reply_limit: 6 })).body
  expect(community).toMatchObject({ hop_limit: null, reply_limit: 6 })
  const { written, error } = await fillThread()
  expect(written).toBe(6)
  expect(error).toContain('at most 6 comments in a thread')
  await setCommunity({ reply_limit: null })
  expect(await fillThread()).toMatchObject({ written: 1 })
})

it('C8: a mention wakes as many agents as the limits of the place allow; preview, answer and page name the number', async () => {
  const send = async (content: string) => {
    hub.clock.advance(60 * 60_000)
    const body = { community: 'general', title: 'Hear', content }
    const preview = await hub.call('/posts/preview', {
      key: outside.key,
      body: { community: 'general', title: 'Hear', content },
    })
    const posted = await hub.call('/posts', { key: outside.key, body })
    return { preview: preview.body, notWoken: posted.body.not_woken, id: posted.body.post.id }
  }
  expect((await send('@ant @bee look')).notWoken).toEqual([])
  await setCommunity({ reply_limit: 1 })
  const replies = await send('@ant @bee look')
  expect(replies.notWoken).toEqual([
    { name: 'bee', reason: expect.stringMatching(/at most 1 comment in/) },
  ])
  expect(JSON.stringify(replies.preview)).toContain('at most 1 comment in')
  const page = await hub.fetch(`/p/${replies.id}`)
  expect(await page.text()).toContain('at most 1 comment in a thread')
  expect(readCost(page.headers).roundTrips).toBe(1)
  await setCommunity({ reply_limit: null, hop_limit: 0 })
  const hops = await send('@ant look')
  expect(hops.notWoken).toEqual([
    { name: 'ant', reason: expect.stringMatching(/wake one another at most 0 times/) },
  ])
  const quiet = await hub.call(`/agents/ant/why-quiet?post=${hops.id}`, { key: mira.key })
  expect(JSON.stringify(quiet.body)).toContain('at most 0 times')
})

it('C8: limits have ceilings, and moderators, admins and guests set what they may', async () => {
  const { ceilings } = replyLimits
  expect((await setHub({ hop_limit: ceilings.hopLimit + 1, reply_limit: 1 })).status).toBe(400)
  expect((await setHub({ hop_limit: 1, reply_limit: -1 })).status).toBe(400)
  expect((await setHub({ hop_limit: 1, reply_limit: 1 }, mira.key)).status).toBe(403)
  expect((await setCommunity({ reply_limit: ceilings.replyLimit + 1 })).status).toBe(400)
  expect((await setCommunity({ reply_limit: 1 }, mira.key)).status).toBe(403)
  expect(ceilings.replyLimit).toBeLessThan(replyLimits.lookBack)
  const own = { community: { name: 'garden' }, key: mira.key }
  await hub.call('/communities', { key: own.key, body: own.community })
  const patch = (body: object) =>
    hub.call('/communities/garden', { method: 'PATCH', key: mira.key, body })
  expect((await patch({ hop_limit: 2 })).body.community.hop_limit).toBe(2)
  await office.run(`UPDATE accounts SET role = 'guest' WHERE name = 'mira'`)
  expect((await patch({ hop_limit: 9 })).status).toBe(403)
  expect((await patch({ description: 'Plants', hop_limit: 2 })).status).toBe(200)
  await office.run(`UPDATE accounts SET role = 'member' WHERE name = 'mira'`)
})

it('C8: limits that are set cost a comment of an agent two rows more, and one of a person none', async () => {
  const measure = async (key: string, content: string) => {
    const post = await office.post(mira.key, 'Well?')
    hub.clock.advance(1)
    const { headers } = await hub.call(`/posts/${post}/comments`, { key, body: { content } })
    return readCost(headers).rowsRead
  }
  const agent = await measure(outside.key, 'I think so.')
  const person = await measure(mira.key, 'I think so.')
  await setHub({ hop_limit: 4, reply_limit: 3 })
  expect(await measure(mira.key, 'I think so.')).toBe(person)
  expect(await measure(outside.key, 'I think so.')).toBeLessThanOrEqual(agent + 2)
  await setCommunity({ hop_limit: 4, reply_limit: 3 })
  expect(await measure(outside.key, 'I think so.')).toBeLessThanOrEqual(agent + 2)
})

it('C8: the pages show the limits in force, reject what exceeds a ceiling, and save', async () => {
  const browser = await signIn(hub, admin.key)
  await browser.read('/admin/limits')
  const page = await browser.get('/admin/limits')
  expect(readCost(page.headers).roundTrips).toBe(1)
  expect(await page.text()).toMatch(/name="hop_limit"[^>]*value="4"/)
  const refused = await browser.send('/admin/limits', { hop_limit: '99', reply_limit: '' })
  expect(refused.status).toBe(400)
  expect(await refused.text()).toContain('Enter a whole number from 0 to 10.')
  expect((await browser.send('/admin/limits', { hop_limit: '2', reply_limit: '7' })).status).toBe(
    303,
  )
  expect(await browser.read('/admin/limits')).toMatch(/name="reply_limit"[^>]*value="7"/)
  const path = '/m/general/settings'
  expect(await browser.read(path)).toContain('Empty: the limit of the hub, 7.')
  const settings = { display_name: 'General', visibility: 'public', follow_threads: 'true' }
  const saved = await browser.send(path, { ...settings, hop_limit: '', reply_limit: '9' })
  expect(saved.status).toBe(303)
  expect(await browser.read(path)).toMatch(/name="reply_limit"[^>]*value="9"/)
  expect(
    await office.all('SELECT hop_limit, reply_limit FROM communities WHERE name = ?1', 'general'),
  ).toEqual([{ hop_limit: null, reply_limit: 9 }])
})
