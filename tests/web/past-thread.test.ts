import { beforeAll, expect, test } from 'vitest'
import { adminKey } from '../hub/create-test-hub'
import { createOffice } from '../hub/runs/create-office'
import { type Browser, createBrowser, signIn } from './open-pages'

const office = createOffice()
const { hub } = office
const { clock } = hub
let key: string
let browser: Browser

beforeAll(async () => {
  key = (await hub.join('ria', 'human')).key
  browser = await signIn(hub, key)
})

const send = async (path: string, body: object, method = 'POST', by = key) =>
  (await hub.call(path, { key: by, method, body })).body

/** A thread, and when it was as it was first: everything in it is changed later. */
async function writeThread() {
  const first = { community: 'general', title: 'First title', content: '**First** text, @ria' }
  const { id } = (await send('/posts', first)).post
  const replies: string[] = []
  for (const content of ['First reply', 'Removed reply', 'Deleted reply']) {
    clock.advance(1_000)
    replies.push((await send(`/posts/${id}/comments`, { content })).comment.id)
  }
  const at = clock.now()
  clock.advance(1_000)
  await send(`/posts/${id}`, { title: 'Second title', content: 'Second' }, 'PATCH')
  await send(`/comments/${replies[0]}`, { content: 'Second reply' }, 'PATCH')
  await send(`/comments/${replies[1]}/remove`, { reason: 'Spam.' }, 'POST', adminKey)
  await hub.call(`/comments/${replies[2]}`, { key, method: 'DELETE' })
  await send(`/posts/${id}/comments`, { content: 'Later reply' })
  return { id, at, replies }
}

const toQuery = (at: number) => `at=${encodeURIComponent(new Date(at).toISOString())}`
const mainOf = (html: string) => html.slice(html.indexOf('<main'), html.indexOf('</main>'))

test('P2: a thread is shown as it was, without what may not be read today, and leads to the present one', async () => {
  const { id, at } = await writeThread()
  const answer = await browser.get(`/p/${id}?${toQuery(at)}`)
  expect(answer.headers.get('x-robots-tag')).toBe('noindex')
  const html = mainOf(await answer.text())
  for (const text of [
    'First title',
    '<strong>First</strong> text',
    'href="/a/ria">@ria',
    'First reply',
  ]) {
    expect(html).toContain(text)
  }
  expect(html).toContain('Removed by a moderator: Spam.')
  for (const text of ['Second', 'Later', 'Removed reply', 'Deleted reply']) {
    expect(html).not.toContain(text)
  }
  expect(html).toContain(`<a class="ul" href="/p/${id}">`)
  // To read: nothing can be sent, and nothing waits for a script.
  for (const part of ['<form', '<button', 'data-live', 'reply_to=', '/edit', '/report']) {
    expect(html).not.toContain(part)
  }
})

test('P2: a time that is none, that is to come, or at which there was no thread is refused', async () => {
  const { id } = await writeThread()
  for (const [query, status] of [
    ['at=then', 400],
    ['at=', 400],
    [toQuery(clock.now() + 1), 400],
    [toQuery(clock.now() - 60_000), 404],
  ] as const) {
    expect((await browser.get(`/p/${id}?${query}`)).status, query).toBe(status)
  }
  await send('/communities', { name: 'cellar', visibility: 'private' })
  const hidden = (await send('/posts', { community: 'cellar', title: 'Hidden' })).post.id
  const path = `/p/${hidden}?${toQuery(clock.now())}`
  expect((await browser.get(path)).status).toBe(200)
  expect((await createBrowser(hub).get(path)).status).toBe(404)
})

test('P2: a long thread as it was has pages', async () => {
  const { id } = await writeThread()
  for (let n = 1; n <= 60; n++) {
    clock.advance(1_000)
    await send(`/posts/${id}/comments`, { content: `Number ${n}.` })
  }
  const query = toQuery(clock.now())
  clock.advance(1_000)
  await send(`/posts/${id}/comments`, { content: 'Number 61.' })
  const html = await browser.read(`/p/${id}?${query}`)
  expect(html).toContain('Number 60.')
  expect(html).toContain('Number 11.')
  expect(html).not.toMatch(/Number (10|61)\./)
  const [, earlier] = /href="([^"]+)">Earlier replies/.exec(html) ?? []
  const before = await browser.read(`${earlier}`.replaceAll('&amp;', '&'))
  expect(before).toContain('Number 10.')
  expect(before).not.toContain('Number 11.')
  expect(before).not.toContain('Earlier replies')
})

test('P2: the page of a run opens the thread as the run read it', async () => {
  const agent = await office.createAgent('scout')
  const id = await office.post(key, '@scout why?')
  clock.advance(1_000)
  const { activationId } = await office.start(agent.id)
  const started = clock.now()
  clock.advance(1_000)
  const path = `/activations/${activationId}`
  expect(mainOf(await browser.read(path))).toContain(`href="/p/${id}"`)
  await office.commit(agent.id, activationId, {})
  const past = `/p/${id}?${toQuery(started)}`
  expect(mainOf(await browser.read(path))).toContain(`href="${past}"`)
  expect((await browser.get(past)).status).toBe(200)
  // A thread that the run began was not there then.
  await office.run('UPDATE posts SET created_at = ? WHERE id = ?', started + 1, id)
  expect(mainOf(await browser.read(path))).toContain(`href="/p/${id}"`)
})
