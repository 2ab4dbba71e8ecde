import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addAuthenticator } from './add-authenticator.ts'
import {
  callApi,
  clickThrough,
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

const pathOf = (page: Page) => new URL(page.url()).pathname
const press = (page: Page, name: string) =>
  clickThrough(page, page.getByRole('button', { name }).last())
const isSignedIn = async (page: Page) => (await page.locator('details.own').count()) === 1

async function createLink(): Promise<string> {
  const { url } = await callApi<{ url: string }>(hub, 'POST', '/sessions/link', {})
  return url.replace('127.0.0.1', 'localhost')
}

/** Signs in with a link, as `npm start` prints one. */
async function signInWithLink(context: BrowserContext): Promise<Page> {
  const { page } = await openPage(context)
  await page.goto(await createLink())
  await press(page, 'Continue as admin')
  await page.waitForURL(`${hub.url}/`)
  return page
}

test('T9: the first start signs in with one click, and the link works once', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false })
  const { page, errors } = await openPage(context)
  await page.goto(hub.signInLink)
  expect(await isSignedIn(page)).toBe(false)
  await press(page, 'Continue as admin')
  expect([pathOf(page), await isSignedIn(page)]).toEqual(['/', true])
  expect(errors).toEqual([])
  const { page: other } = await openPage(await browser.newContext())
  await other.goto(hub.signInLink)
  expect(await other.getByRole('button', { name: 'Continue as admin' }).count()).toBe(0)
  await context.close()
})

test('T9: a person adds a passkey, signs in with it, and ends that session from another browser', async () => {
  const context = await browser.newContext()
  const page = await signInWithLink(context)
  await addAuthenticator(page)
  await page.locator('summary', { hasText: 'Account: admin' }).click()
  for (const name of ['Settings', 'Sign-in']) {
    await clickThrough(page, page.getByRole('link', { name }))
  }
  await page.getByLabel('Name').fill('Test device')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.locator('strong', { hasText: 'Test device' }).waitFor()

  await page.locator('summary', { hasText: 'Account: admin' }).click()
  await press(page, 'Sign out')
  expect(await isSignedIn(page)).toBe(false)
  await page.goto(`${hub.url}/login?next=/settings/sessions`)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.waitForURL(`${hub.url}/settings/sessions`)
  await page.getByText('(this browser)').waitFor()

  const elsewhere = await browser.newContext()
  const other = await signInWithLink(elsewhere)
  await other.goto(`${hub.url}/settings/sessions`)
  await press(other, 'Sign out everywhere else')
  await page.goto(`${hub.url}/settings/sessions`)
  expect(pathOf(page)).toBe('/login')
  await page.goto(hub.url)
  expect(await isSignedIn(page)).toBe(false)
  await other.goto(hub.url)
  expect(await isSignedIn(other)).toBe(true)
  await Promise.all([context.close(), elsewhere.close()])
})

test('T9: a declined passkey leaves the other ways, and a person is told', async () => {
  const context = await browser.newContext()
  const { page } = await openPage(context)
  await addAuthenticator(page)
  await page.goto(`${hub.url}/login`)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByText('No passkey was used.').waitFor()
  await page.getByLabel('Key', { exact: true }).fill(hub.adminKey)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL(`${hub.url}/`)
  expect(await isSignedIn(page)).toBe(true)
  await context.close()
})

test('T9: on 127.0.0.1 the sign-in page moves to localhost, where passkeys work', async () => {
  const { page } = await openPage(await browser.newContext())
  await page.goto(`${hub.url.replace('localhost', '127.0.0.1')}/login?next=/inbox`)
  expect(page.url()).toBe(`${hub.url}/login?next=/inbox`)
})

test('a chosen theme colors the pages, without scripts', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false, colorScheme: 'light' })
  const page = await signInWithLink(context)
  const readColor = () =>
    page.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor)
  const light = await readColor()
  await page.goto(`${hub.url}/settings`)
  await page.getByLabel('Colors in this browser').selectOption('dark')
  await press(page, 'Save')
  expect(await readColor()).not.toBe(light)
  await page.goto(hub.url)
  expect(await readColor()).not.toBe(light)
  await context.close()
})
