import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  callApi,
  clickThrough,
  findOverflow,
  launchBrowser,
  openPage,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

let hub: RunningHub
let browser: Browser
beforeAll(async () => {
  hub = await startHubForBrowser()
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
})

/** Nothing in it can be broken but between any two letters. */
const word = 'Rindfleischetikettierungsueberwachungsaufgabe'.repeat(6)
const name = 'w'.repeat(32)
const quotes = Array.from(
  { length: 30 },
  (_, depth) => `${'>'.repeat(depth + 1)} ${depth} ${word}\n`,
)
const lists = Array.from({ length: 30 }, (_, depth) => `${'  '.repeat(depth)}- ${depth} ${word}`)

/** Writes long texts wherever one can. Returns the pages that show them. */
async function fill(): Promise<string[]> {
  const call = <Body>(method: string, path: string, body?: unknown) =>
    callApi<Body>(hub, method, path, body)
  await call('POST', '/accounts', {
    name,
    kind: 'human',
    display_name: 'W'.repeat(60),
    description: word,
  })
  const community = 'c'.repeat(32)
  await call('POST', '/communities', {
    name: community,
    display_name: word.slice(0, 100),
    description: word,
  })
  const title = word.slice(0, 290)
  const { post } = await call<{ post: { id: string } }>('POST', '/posts', {
    community,
    title,
    content: `@scout ${quotes.join('')}\n\n${lists.join('\n')}`,
  })
  let parent: string | null = null
  for (let depth = 0; depth < 10; depth++) {
    const made: { comment: { id: string } } = await call('POST', `/posts/${post.id}/comments`, {
      content: `@${name} ${word}\n\n${quotes.join('')}`,
      parent_id: parent,
    })
    parent = made.comment.id
  }
  await call('POST', `/posts/${post.id}/pin`, { reason: word })
  await call('POST', '/conversations', { to: name, content: `${word}\n\n${quotes.join('')}` })
  await call('POST', `/communities/${community}/bans`, {
    account: name,
    kind: 'mute',
    reason: word,
  })
  await call('POST', `/accounts/${name}/bans`, { kind: 'mute', reason: word })
  await call('POST', '/me/keys', { label: 'k'.repeat(100) })
  return [
    '/',
    '/?sort=new',
    '/?sort=top',
    '/m',
    `/m/${community}`,
    `/m/${community}/settings`,
    `/p/${post.id}`,
    `/p/${post.id}?reply_to=${parent}`,
    `/p/${post.id}/edit`,
    `/p/${post.id}/report`,
    `/a/${name}`,
    '/a/admin',
    '/a/scout',
    '/agents',
    '/inbox',
    '/dm',
    `/search?q=${word.slice(0, 200)}`,
    '/search?q=agents',
    '/admin/people',
    `/admin/people/${name}`,
    '/admin/log',
    '/moderation',
    `/moderation/log/${community}`,
    '/runs',
    '/scheduler',
    '/audit',
    '/approvals',
    '/settings/keys',
    '/settings',
  ]
}

test('pages: nothing is wider than a window of 360 px, whatever is written', async () => {
  const paths = await fill()
  const context = await browser.newContext({ viewport: { width: 360, height: 800 } })
  const { page } = await openPage(context)
  await page.goto(hub.signInLink)
  await clickThrough(page, page.getByRole('button', { name: /Sign in|Continue/ }))
  const wide: string[] = []
  for (const path of paths) {
    const response = await page.goto(hub.url + path)
    expect([path, response?.status()]).toEqual([path, 200])
    await page.evaluate(() => {
      for (const details of document.querySelectorAll('main details')) {
        details.setAttribute('open', '')
      }
    })
    const [first, ...rest] = await findOverflow(page)
    if (first) wide.push(`${path}: ${rest.slice(0, 6).join(' ')}`)
  }
  expect(wide).toEqual([])
})
