import { expect, test } from 'vitest'
import { continueStay, formatStay } from '../../src/web/home/home-page'
import { adminKey } from '../hub/create-test-hub'
import { createBrowser, createScene, signIn } from './open-pages'

const { hub, mira, scout, postId } = await createScene()
const dora = await hub.join('dora', 'human')
const minute = 60_000

const write = async (title: string, key: string): Promise<string> => {
  const { body } = await hub.call('/posts', { key, body: { community: 'general', title } })
  return body.post.id
}
const comment = (id: string, content: string, key: string) =>
  hub.call(`/posts/${id}/comments`, { key, body: { content } })

/** Opens the feed as a browser does that keeps its cookies; returns the page. */
async function openFeed(browser: { cookie: string; get(path: string): Promise<Response> }) {
  const response = await browser.get('/')
  const kept = /rookery_stay[^=]*=[^;]*/.exec(response.headers.get('set-cookie') ?? '')?.[0]
  const others = browser.cookie.split('; ').filter((each) => !each.includes('rookery_stay'))
  return { html: await response.text(), cookie: [...others, ...(kept ? [kept] : [])].join('; ') }
}
const withCookie = (cookie: string) => createBrowser(hub, cookie)
const findSince = (html: string): string =>
  (/<p[^>]*id="since"[\s\S]*?<\/p>/.exec(html)?.[0] ?? '').replace(/<[^>]*>/g, '')
const findRow = (html: string, id: string): string =>
  new RegExp(`<li id="p-${id}"[\\s\\S]*?</li>`).exec(html)?.[0] ?? ''

test('pages: the feed says in one line what is new since the last stay, and goes on saying it in this stay', async () => {
  const first = await openFeed(await signIn(hub, mira.key))
  expect(findSince(first.html)).toBe('')

  hub.clock.advance(60 * minute)
  const fresh = await write('A new thread', dora.key)
  await write('My own thread', mira.key)
  await comment(postId, 'It was the garbage collector.', dora.key)
  const second = await openFeed(withCookie(first.cookie))
  expect(findSince(second.html)).toMatch(
    /^Since you were here 1.h ago: 1 new thread, 1 answer to you$/,
  )
  expect(findRow(second.html, fresh)).toContain('<b>new</b>')

  hub.clock.advance(5 * minute)
  const third = await openFeed(withCookie(second.cookie))
  expect(findSince(third.html)).toContain('1 new thread, 1 answer to you')

  hub.clock.advance(60 * minute)
  const next = await openFeed(withCookie(third.cookie))
  expect(findSince(next.html)).toBe('')
  expect(findRow(next.html, fresh)).not.toContain('<b>new</b>')
})

test('pages: a row of the feed says how many replies are unread, until the thread is opened', async () => {
  const browser = await signIn(hub, dora.key)
  const id = await write('A thread to follow', mira.key)
  await browser.read(`/p/${id}`)
  expect(findRow(await browser.read('/'), id)).not.toContain('new</b>')
  hub.clock.advance(minute)
  await comment(id, 'One.', mira.key)
  hub.clock.advance(minute)
  await comment(id, 'Two.', mira.key)
  await comment(id, 'My own.', dora.key)
  expect(findRow(await browser.read('/'), id)).toContain('<b>, 2 new</b>')
  // somebody who never opened it
  expect(findRow(await (await signIn(hub, scout.key)).read('/'), id)).not.toContain('new</b>')
  await browser.read(`/p/${id}`)
  expect(findRow(await browser.read('/'), id)).not.toContain('new</b>')
})

test('pages: a row of the feed says whether an agent answered', async () => {
  const silent = await write('Nobody was asked', dora.key)
  const html = await createBrowser(hub).read('/')
  expect(findRow(html, postId)).toContain('answered')
  expect(findRow(html, silent)).not.toContain('answered')
})

test('pages: a pinned post is listed once', async () => {
  const id = await write('Read this first', dora.key)
  const admin = await signIn(hub)
  expect(findRow(await admin.read('/m/general'), id)).not.toBe('')
  const { status } = await hub.call(`/posts/${id}/pin`, {
    key: adminKey,
    method: 'POST',
    body: { reason: 'Rules.' },
  })
  expect(status).toBeLessThan(300)
  const html = await admin.read('/m/general')
  expect(findRow(html, id)).toBe('')
  expect(html.split('Read this first').length - 1).toBe(1)
})

test.each([
  ['nothing', undefined, { since: null, last: 5_000_000 }],
  ['what nobody wrote', 'x-y', { since: null, last: 5_000_000 }],
  ['a first stay that goes on', '-4000000', { since: null, last: 5_000_000 }],
  ['a stay that goes on', '7-4000000', { since: 7, last: 5_000_000 }],
  ['a stay that ended', '7-3000000', { since: 3_000_000, last: 5_000_000 }],
])('a stay continues from %s', (_, kept, stay) => {
  expect(continueStay(kept, 5_000_000)).toEqual(stay)
  expect(continueStay(formatStay(stay), 5_000_000)).toEqual(stay)
})
