import type { Browser, Page, WebSocket } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addAuthenticator } from './add-authenticator.ts'
import {
  clickThrough,
  findAxeViolations,
  launchBrowser,
  openPage,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

const secret = 'Wombats hibernate in the boathouse'
const spam = 'Cheap almanacs for everybody'

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

/** A person at a browser of their own. */
interface Person {
  page: Page
  errors: string[]
}

async function open(): Promise<Person> {
  const context = await browser.newContext()
  return openPage(context)
}

/** Whether it is more than the browser's own note of a page that was answered with 404. */
const isUnexpected = (error: string) => !error.includes('404')
const pathOf = (page: Page) => new URL(page.url()).pathname
const findAccount = async (page: Page) =>
  (await page.locator('details.own summary').allTextContents()).join()

/** Asserts that the open page shows its viewer no hurdle that axe finds. */
async function expectAccessible({ page }: Person): Promise<void> {
  expect(await findAxeViolations(page), page.url()).toEqual([])
}

/** Clicks a button that sends a form, and returns the status of the page that it leads to. */
const send = ({ page }: Person, button: string | RegExp) =>
  clickThrough(page, page.getByRole('button', { name: button }).first())

const follow = ({ page }: Person, link: string | RegExp) =>
  clickThrough(page, page.getByRole('link', { name: link }).first())

/** Opens a page of the menu of what is managed. */
async function manage(person: Person, name: string | RegExp): Promise<void> {
  await person.page.locator('header summary', { hasText: 'Manage' }).click()
  await follow(person, name)
}

/** Creates an invitation on the page of people and returns its link. */
async function invite(owner: Person, note: string): Promise<string> {
  const { page } = owner
  await page.getByLabel('Note, for admins only').fill(note)
  expect(await send(owner, 'Create link')).toBe(200)
  await expectAccessible(owner)
  const link = await page.getByLabel('Invitation link').inputValue()
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'Copy invitation link' }).click()
  await page.getByRole('button', { name: 'Copied invitation link' }).waitFor()
  expect(await page.locator('#announce').textContent()).toBe('Copied')
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(link)
  return link
}

/** Opens an invitation and creates an account with it. */
async function join(link: string, name: string): Promise<Person> {
  const person = await open()
  const { page } = person
  await page.goto(link)
  await expectAccessible(person)
  await page.getByLabel('Name', { exact: true }).fill(name)
  expect(await send(person, 'Create account')).toBe(200)
  expect([pathOf(page), await findAccount(page)]).toEqual(['/', expect.stringContaining(name)])
  await page.getByRole('link', { name: 'add a passkey' }).waitFor()
  await expectAccessible(person)
  return person
}

/** Adds a passkey, signs out, and signs in with it. */
async function usePasskey(person: Person, name: string): Promise<void> {
  const { page } = person
  await follow(person, 'add a passkey')
  await addAuthenticator(page)
  await page.getByLabel('Name').fill(`Device of ${name}`)
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.locator('strong', { hasText: `Device of ${name}` }).waitFor()
  await expectAccessible(person)
  await page.locator('details.own summary').click()
  await send(person, 'Sign out')
  expect(await findAccount(page)).toBe('')
  await follow(person, 'Sign in')
  await expectAccessible(person)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.locator('details.own').waitFor()
  expect(await findAccount(page)).toContain(name)
}

/** Makes a link for another device and opens it in another browser. */
async function useSecondDevice(person: Person, name: string): Promise<void> {
  await person.page.locator('details.own summary').click()
  await follow(person, 'Settings')
  await follow(person, 'Sessions')
  await send(person, 'Create link')
  await expectAccessible(person)
  const link = (await person.page.locator('p.code').textContent()) ?? ''
  const device = await open()
  await device.page.goto(link)
  await expectAccessible(device)
  await send(device, `Continue as ${name}`)
  expect(await findAccount(device.page)).toContain(name)
  expect(device.errors).toEqual([])
  await device.page.context().close()
}

/** Posts in the open community. Returns the path of the thread. */
async function post(person: Person, title: string): Promise<string> {
  const { page } = person
  await page.getByLabel('Title of a new post').fill(title)
  await page.getByLabel('Text').fill(`${title}: this is all there is to say.`)
  expect(await send(person, 'Post')).toBe(200)
  await page.waitForURL(/\/p\//)
  await expectAccessible(person)
  return pathOf(page)
}

/** Creates a private community with a member and a post in it. Returns the path of the post. */
async function makePrivateCommunity(person: Person, member: string): Promise<string> {
  const { page } = person
  await follow(person, 'Communities')
  await follow(person, 'Create a community')
  await expectAccessible(person)
  await page.getByLabel('Name', { exact: true }).fill('boathouse')
  await page.getByLabel('Title').fill('Boathouse')
  await page.getByLabel('Visibility').selectOption('private')
  expect(await send(person, 'Create community')).toBe(200)
  if (pathOf(page) !== '/m/boathouse/settings') await follow(person, 'Members and settings')
  await page.getByLabel('Account', { exact: true }).fill(member)
  expect(await send(person, 'Add member')).toBe(200)
  await page.locator('#members ~ ul').getByRole('link', { name: member }).waitFor()
  await expectAccessible(person)
  await follow(person, 'Posts')
  await expectAccessible(person)
  return post(person, secret)
}

/** Asserts that a thread is nowhere to be found: not by its address, in the feed or by searching. */
async function expectNotFound(person: Person, path: string): Promise<void> {
  const { page } = person
  expect((await page.goto(hub.url + path))?.status()).toBe(404)
  expect(await page.textContent('h1')).toBe('Not found')
  await expectAccessible(person)
  await follow(person, 'Back to the feed')
  expect(await page.textContent('body')).not.toContain(secret)
  await page.getByRole('searchbox', { name: 'Search' }).first().fill('wombats')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/search\?q=wombats/)
  await expectAccessible(person)
  expect(await page.locator('main').textContent()).not.toContain('hibernate')
}

/** Reports a thread as a reader of it. */
async function report(person: Person, path: string): Promise<void> {
  const { page } = person
  await page.goto(hub.url)
  await follow(person, spam)
  expect(pathOf(page)).toBe(path)
  await page.locator('#post summary', { hasText: 'More for this post' }).click()
  await follow(person, /^Report/)
  await expectAccessible(person)
  await page.getByLabel('Reason').fill('It sells something')
  expect(await send(person, 'Send report')).toBe(200)
  await page.getByRole('heading', { name: 'Report sent' }).waitFor()
  await follow(person, 'Back to the thread')
  await page.getByRole('heading', { name: 'Report sent' }).waitFor({ state: 'detached' })
  expect(pathOf(page)).toBe(path)
}

/** Finds a reported post in the queue and removes it. */
async function removeReported(person: Person): Promise<void> {
  const { page } = person
  await page.goto(hub.url)
  await manage(person, /^Moderation/)
  await page.getByText('mira: It sells something').waitFor()
  await expectAccessible(person)
  await page.getByLabel('Reason', { exact: true }).fill('No sales talk, please')
  expect(await send(person, 'Remove post')).toBe(200)
  await page.getByText('Nothing to decide.').waitFor()
  await expectAccessible(person)
}

/** Bans an account from the whole hub. */
async function ban(person: Person, name: string, reason: string): Promise<void> {
  const { page } = person
  await manage(person, 'People')
  await follow(person, name)
  expect(pathOf(page)).toBe(`/admin/people/${name}`)
  await expectAccessible(person)
  await page.locator('#ban-reason').fill(reason)
  expect(await send(person, 'Apply')).toBe(200)
  await page.getByText(reason).waitFor()
  await expectAccessible(person)
}

/** Opens a path and returns the socket of its live updates, open. */
async function openLive({ page }: Person, path: string): Promise<WebSocket> {
  const opened = page.waitForEvent('websocket')
  await page.goto(hub.url + path)
  const socket = await opened
  expect(socket.url()).toContain('/live/posts/')
  return socket
}

test('story: invited people join, keep a secret, report what is wrong, and one is banned while reading', async () => {
  const owner = await open()
  await owner.page.goto(hub.signInLink)
  await send(owner, 'Continue as admin')
  await manage(owner, 'People')
  const toMira = await invite(owner, 'Mira from design')
  const toBen = await invite(owner, 'Ben from the boathouse')

  const mira = await join(toMira, 'mira')
  await usePasskey(mira, 'mira')
  await useSecondDevice(mira, 'mira')
  const ben = await join(toBen, 'ben')
  const hidden = await makePrivateCommunity(mira, 'ben')

  const stranger = await open()
  for (const person of [stranger, owner]) await expectNotFound(person, hidden)
  await owner.page.goto(`${hub.url}/m/boathouse`)
  expect(await owner.page.locator('main').textContent()).not.toContain(secret)
  await expectAccessible(owner)

  await follow(ben, 'Feed')
  await follow(ben, 'Communities')
  await follow(ben, /boathouse/)
  await follow(ben, secret)
  expect([pathOf(ben.page), await ben.page.textContent('h1')]).toEqual([hidden, secret])
  await follow(ben, 'Communities')
  await follow(ben, /general/)
  const reported = await post(ben, spam)
  await report(mira, reported)
  await removeReported(owner)
  for (const person of [mira, stranger]) {
    await person.page.goto(hub.url + reported)
    expect(await person.page.textContent('h1')).toBe('Removed post')
    await person.page.getByText('Removed by a moderator: No sales talk, please').waitFor()
    expect(await person.page.textContent('body')).not.toContain(spam)
    await expectAccessible(person)
  }

  const socket = await openLive(ben, hidden)
  await mira.page.goto(hub.url + hidden)
  await mira.page.fill('#reply', 'They snore')
  await send(mira, /^Reply|^Post/)
  await ben.page.locator('article.reply', { hasText: 'They snore' }).waitFor()
  expect([...owner.errors, ...mira.errors, ...ben.errors].filter(isUnexpected)).toEqual([])
  expect(socket.isClosed()).toBe(false)
  const closed = socket.waitForEvent('close')
  await ban(owner, 'ben', 'Sold almanacs here')
  await closed
  expect(await follow(ben, 'Communities')).toBe(403)
  await ben.page.getByText('This account is banned from this hub until').waitFor()
  await ben.page.getByText('Reason: Sold almanacs here').waitFor()
  await expectAccessible(ben)
  await send(ben, 'Sign out')
  expect([pathOf(ben.page), await findAccount(ben.page)]).toEqual(['/', ''])
})
