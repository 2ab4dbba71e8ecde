import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { samples } from '../hub/media/samples.ts'
import {
  callApi,
  clickThrough,
  findAxeViolations,
  findOverflow,
  launchBrowser,
  openPage,
  openSignedIn,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

/** A person's hour with the hub, and her return on the next day. */
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

const title = 'A kingfisher at the old weir'
const daySeconds = 24 * 60 * 60
const png = { name: 'nest.png', mimeType: 'image/png', buffer: Buffer.from(samples.png) }

/** Creates a person, and returns the hub as callers of its API with the person's key see it. */
async function addPerson(name: string): Promise<RunningHub> {
  const body = { name, kind: 'human' }
  const made = await callApi<{ account: { api_key: string } }>(hub, 'POST', '/accounts', body)
  return { ...hub, adminKey: made.account.api_key }
}

const writePost = async (as: RunningHub, title: string, content: string): Promise<string> => {
  const body = { community: 'general', title, content }
  return (await callApi<{ post: { id: string } }>(as, 'POST', '/posts', body)).post.id
}

/** Asserts that axe finds nothing and nothing scrolls sideways, also on a dark phone. */
async function expectAccessible(page: Page): Promise<void> {
  for (const [width, colorScheme] of [[390, 'dark'] as const, [1280, 'light'] as const]) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const found = [...(await findAxeViolations(page)), ...(await findOverflow(page))]
    expect(found, `${page.url()}, ${width} px, ${colorScheme}`).toEqual([])
  }
}

const button = (within: Page | Locator, name: string | RegExp) =>
  within.getByRole('button', { name, exact: true })

/** Opens the menu of a post or reply, and returns a link there. */
async function findInMenu(text: Locator, name: string): Promise<Locator> {
  await text.locator('summary', { hasText: 'More for' }).first().click()
  return text.getByRole('link', { name }).first()
}

/** Writes a post with an image that is chosen and described, looks at its preview, and posts it. Returns its path. */
async function writeWithPicture(page: Page): Promise<string> {
  await page.fill('#new', title)
  const text = page.locator('#content')
  await text.pressSequentially('@scout where do kingfishers nest? ')
  const form = page.locator('form[action="/posts-new"]')
  const add = form.locator('[data-image]:not([target])')
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), add.click()])
  await chooser.setFiles(png)
  await page.getByLabel(/^Describe nest\.png/).fill('A nest in the bank')
  await expect.poll(() => text.inputValue()).toMatch(/!\[A nest in the bank\]\(\/media\/[\w-]+\)$/)
  await button(form, 'Preview').click()
  await page.locator('#shown').getByAltText('A nest in the bank').waitFor()
  await expect.poll(() => page.textContent('#promise')).toMatch(/scout.*answers/s)
  await clickThrough(page, button(form, 'Post'))
  await page.locator('#post').getByAltText('A nest in the bank').waitFor()
  return new URL(page.url()).pathname
}

/** Waits in an open thread for the work of the agent that is resumed now, and for its answer. */
async function awaitAnswer(page: Page): Promise<Locator> {
  // The offline agent may be done between two looks at the page, so the page itself notes what it showed.
  await page.evaluate(() => {
    new MutationObserver(() => {
      const work = document.querySelector('[data-activation] [data-do]')?.textContent
      if (work) document.body.dataset.work = work
    }).observe(document.querySelector('#working') as Element, { childList: true, subtree: true })
  })
  await callApi(hub, 'POST', '/agents/scout/resume')
  const answer = page.locator('article.reply[data-author=scout]').first()
  await answer.waitFor()
  await expect.poll(() => page.locator('[data-activation]').count()).toBe(0)
  await answer.locator('.prov', { hasText: /completed.*offline model, free/ }).waitFor()
  // a page that was loaded again would not have kept it
  expect(await page.evaluate(() => document.body.dataset.work)).toMatch(/^scout is /)
  return answer
}

/**
 * Closes a browser and returns it as it is opened a day later. The hub's clock cannot be moved, so what the browser
 * keeps is made a day older: cookies that have expired by then are gone, the others expire a day earlier, and the
 * one that says when the browser was here last says a day before. For the hub all of the last day is new then.
 */
async function closeUntilTomorrow(context: BrowserContext): Promise<BrowserContext> {
  const kept = await context.storageState()
  await context.close()
  const cookies = kept.cookies
    .map((each) => ({ ...each, expires: each.expires - daySeconds }))
    .filter(({ expires }) => expires * 1_000 > Date.now())
  const stay = cookies.find(({ name }) => name.includes('rookery_stay'))
  if (stay) stay.value = `-${Number(stay.value.replace(/^-/, '')) - daySeconds * 1_000}`
  return browser.newContext({ storageState: { ...kept, cookies } })
}

/** Opens the feed on the next day, and reads what is new in the thread and in the inbox. */
async function readNews(page: Page, thread: string, fresh: string[]): Promise<void> {
  const unread = page.locator('[data-unread]')
  const row = (id: string) => page.locator(`li#p-${id}`)
  await page.goto(hub.url)
  // the hub itself wrote a thread, and the agent two answers
  const since = (await page.textContent('#since')) ?? ''
  expect(since).toMatch(/^Since you were here .*: 3 new threads, 3 answers to you$/)
  for (const id of fresh) await row(id).getByText('new', { exact: true }).waitFor()
  await row(thread).getByText(', 1 new').waitFor()
  expect(await unread.textContent()).toBe(' 2')
  await expectAccessible(page)

  await clickThrough(page, row(thread).getByRole('link', { name: title }))
  await page.getByRole('link', { name: 'First unread reply' }).click()
  const first = page.locator('article.reply:target')
  expect(await first.getAttribute('data-author')).toBe('ben')
  await first.getByText('new', { exact: true }).waitFor()
  const top = () => first.evaluate((reply) => reply.getBoundingClientRect().top / innerHeight)
  await expect.poll(top).toBeLessThan(1)
  // the thread takes what it showed off the count
  await expect.poll(() => unread.textContent()).toBe(' 1')

  await clickThrough(page, page.getByRole('link', { name: /^Inbox/ }).first())
  const items = await page.locator('main li.unread').allTextContents()
  expect(items).toEqual([expect.stringContaining('mentioned you')])
  await clickThrough(page, button(page, 'Mark all as read'))
  await page.getByText('No unread items.').waitFor()
  expect(await unread.isVisible()).toBe(false)
  await page.goto(hub.url)
  expect(await row(thread).textContent()).not.toContain('new')
  await expectAccessible(page)
}

test('story: a person writes, is answered, edits, votes, quotes, searches, and finds what is new tomorrow', async () => {
  const as = { mira: await addPerson('mira'), ben: await addPerson('ben') }
  await writePost(as.mira, 'Almanac', 'Kingfishers nest in holes of steep banks.')
  // so that the thread is open before the agent begins
  await callApi(hub, 'POST', '/agents/scout/pause')
  const today = await openSignedIn(browser, hub, {}, as.mira.adminKey)
  const { page } = today
  await expectAccessible(page)

  // both listeners stand before the thread is there
  const isLive = new Promise((resolve) => {
    page.on('websocket', (socket) => {
      if (socket.url().includes('/live/posts/')) socket.once('framereceived', resolve)
    })
  })
  const path = await writeWithPicture(page)
  const id = path.slice('/p/'.length)
  await page.getByText('scout is paused').waitFor()
  await isLive
  const answer = await awaitAnswer(page)
  expect(await answer.textContent()).toContain('Kingfishers nest in holes of steep banks.')

  const post = page.locator('#post')
  await clickThrough(page, await findInMenu(post, 'Edit or delete'))
  const text = page.getByLabel('Text')
  await text.fill((await text.inputValue()).replace('where', 'when'))
  await clickThrough(page, button(page, 'Save'))
  await clickThrough(page, post.getByRole('link', { name: 'edited' }))
  expect(await page.locator('del').allTextContents()).toEqual(['where'])
  expect(await page.locator('ins').allTextContents()).toEqual(['when'])

  await page.goto(hub.url + path)
  await clickThrough(page, button(answer, /^Vote up/))
  expect(await button(answer, /^Vote up/).getAttribute('aria-pressed')).toBe('true')
  await (await findInMenu(answer, 'Quote')).click()
  const reply = page.locator('#reply')
  await expect.poll(() => reply.inputValue()).toMatch(/^> /)
  await reply.fill(`${await reply.inputValue()}They dive from the willow.`)
  await clickThrough(page, button(page, 'Reply'))
  const own = page.locator('article.reply[data-author=mira]')
  await own.locator('blockquote ~ p', { hasText: 'They dive from the willow.' }).waitFor()
  // the agent follows the thread until she stops it
  const later = page.locator('article.reply article.reply[data-author=scout]')
  await clickThrough(page, button(later, 'Stop following'))

  await page.goto(`${hub.url}/settings`)
  await page.getByLabel('Picture').setInputFiles(png)
  await clickThrough(page, button(page, 'Save picture'))
  await page.goto(hub.url + path)
  const face = post.locator('a.who', { hasText: 'mira' }).locator('img')
  await expect.poll(() => face.evaluate((img: HTMLImageElement) => img.naturalWidth)).toBe(16)
  await expectAccessible(page)

  await page.getByRole('searchbox', { name: 'Search' }).first().fill('kingfihser')
  await Promise.all([page.waitForURL(/\/search\?q=/), page.keyboard.press('Enter')])
  await clickThrough(page, page.getByRole('link', { name: /^kingfishers?$/ }))
  await clickThrough(page, page.locator('.hits').getByRole('link', { name: title }).first())
  expect(new URL(page.url()).pathname).toBe(path)
  // nothing is left to read or to wait for
  const readCount = () => callApi(as.mira, 'GET', '/inbox/count')
  await expect.poll(readCount).toMatchObject({ unread_count: 0 })
  const context = await closeUntilTomorrow(today.context)

  const fresh = [
    await writePost(as.ben, 'Ice on the pond', 'Since this morning.'),
    await writePost(as.ben, 'Who has the key?', '@mira do you have the key of the boathouse?'),
  ]
  await callApi(as.ben, 'POST', `/posts/${id}/comments`, { content: 'I saw three as well.' })

  const tomorrow = await openPage(context)
  await readNews(tomorrow.page, id, fresh)
  expect(await readCount()).toMatchObject({ unread_count: 0 })
  expect([...today.errors, ...tomorrow.errors]).toEqual([])
})
