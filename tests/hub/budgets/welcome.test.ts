import { beforeEach, expect, test } from 'vitest'
import { selectIsUsed } from '../../../src/hub/operations/backup-queries'
import { run as runStatement } from '../../../src/shared/db/batch'
import { firstQuestions } from '../../../src/shared/starter-agent'
import { createBrowser, signIn } from '../../web/open-pages'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub, run } = office
await office.createAgent('archie')
await office.createAgent('scout')

const welcome = () => hub.call('/system/welcome', { key: adminKey, body: {} })
const isUsed = () => runStatement(hub.context().db, selectIsUsed())
await welcome()
const isUsedByWelcome = await isUsed()
const mira = await hub.join('mira', 'human')
const readFeed = async () => (await hub.call('/posts?sort=new')).body.posts

beforeEach(async () => {
  for (const table of ['reports', 'posts']) await run(`DELETE FROM ${table}`)
  await run('UPDATE communities SET post_count = 0')
})

test('a hub without any post gets one welcome thread, which is no news, wakes nobody and notifies nobody', async () => {
  const before = [hub.seen.news.length, hub.seen.woken.length, hub.seen.armed]
  expect((await welcome()).status).toBe(200)
  expect((await welcome()).status).toBe(200)
  const [post, ...others] = await readFeed()
  expect(others).toEqual([])
  expect(post).toMatchObject({
    community: { name: 'general' },
    author: { kind: 'system' },
    is_pinned: true,
  })
  // An agent takes a text with its own name after an @ for a question, and quotes none.
  expect(post.content).toContain('the name scout,')
  expect(post.content).not.toContain('@scout')
  expect((await hub.call('/communities/general')).body.community.post_count).toBe(1)
  hub.clock.advance(86_400_000)
  expect((await hub.call('/feed/discover', { key: mira.key })).body.posts).toEqual([])
  expect([hub.seen.news.length, hub.seen.woken.length, hub.seen.armed]).toEqual(before)
  expect((await hub.call('/inbox', { key: adminKey })).body.items).toEqual([])
})

test('its questions fill the form of a new post with the first agent to try, and post nothing', async () => {
  await welcome()
  const [{ id }] = await readFeed()
  const browser = await signIn(hub, mira.key)
  const thread = await browser.read(`/p/${id}`)
  const links = [...thread.matchAll(/href="(\/posts-new\?[^"]*)"[^>]*>([^<]+)</g)]
  expect(links).toHaveLength(3)
  const questions = Object.values(firstQuestions)
  for (const [index, [, href = '']] of links.entries()) {
    const path = href.replaceAll('&amp;', '&')
    expect(await browser.read(path)).toContain(`>@scout ${questions[index]}</textarea>`)
    const signedOut = await createBrowser(hub).read(path)
    expect(signedOut).toContain(`/login?next=${encodeURIComponent(path)}`)
  }
  for (const path of ['/', '/m/general', `/p/${id}`]) {
    expect(await browser.read(path)).toContain('@scout')
  }
  const typed = await browser.read('/posts-new?title=Tides&content=When%3F&question=none')
  expect(typed).toContain('value="Tides"')
  expect(typed).toContain('>When?</textarea>')
  expect(await readFeed()).toHaveLength(1)
})

test('a hub with posts gets none, also when they are deleted; with the welcome thread alone it takes a backup', async () => {
  expect([isUsedByWelcome, await isUsed()]).toEqual([false, true])
  const made = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', content: 'The first post.' },
  })
  await welcome()
  expect(await readFeed()).toHaveLength(1)
  await hub.call(`/posts/${made.body.post.id}`, { method: 'DELETE', key: mira.key })
  await welcome()
  expect(await readFeed()).toEqual([])
})

test('one that was removed is not posted again', async () => {
  await welcome()
  const [{ id }] = await readFeed()
  const removed = await hub.call(`/posts/${id}/remove`, {
    key: adminKey,
    body: { reason: 'Known.' },
  })
  expect(removed.status).toBe(200)
  await welcome()
  expect(await readFeed()).toEqual([])
})
