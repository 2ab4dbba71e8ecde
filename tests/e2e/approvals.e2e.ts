import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  clickThrough,
  findAxeViolations,
  findOverflow,
  launchBrowser,
  openSignedIn,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

let hub: RunningHub
let browser: Browser

beforeAll(async () => {
  hub = await startHubForBrowser()
  browser = await launchBrowser()
  await send('PUT', '/api/v1/agents/*/grants', {
    allowed: ['hub:read', 'hub:write'],
    require_approval: ['tool:hub_create_post'],
  })
})
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
})

async function send(method: string, path: string, body: unknown): Promise<string> {
  const response = await fetch(hub.url + path, {
    method,
    headers: {
      authorization: `Bearer ${hub.adminKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(body),
  })
  return response.text()
}

/** Makes a tool call as an external agent. */
const callTool = (title: string, content = 'a-word-that-never-ends-'.repeat(20)) =>
  send('POST', '/mcp/hub', {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'hub_create_post',
      arguments: { community: 'general', title, content },
    },
  })

async function signIn(options: Parameters<Browser['newContext']>[0]) {
  const opened = await openSignedIn(browser, hub, options)
  await opened.page.goto(`${hub.url}/approvals`)
  return opened
}

const press = (page: Page, name: string) =>
  clickThrough(page, page.getByRole('button', { name }).first())

test('M7: without scripts a person sees what would run, approves it, and it runs once', async () => {
  expect(await callTool('From outside')).toContain('requires approval')
  const { page, context } = await signIn({ javaScriptEnabled: false })
  expect(await page.locator('article .code').textContent()).toContain('"title": "From outside"')
  await press(page, 'Approve once')
  expect(await page.locator('#decided + ul').textContent()).toContain('approved')
  expect(await callTool('From outside')).toContain('/p/')
  expect(await callTool('From outside')).toContain('requires approval')
  await page.reload()
  await page.getByLabel('Note for the agent').fill('Once is enough')
  await press(page, 'Deny')
  expect(await callTool('From outside')).toContain('Once is enough')
  await context.close()
})

test.each([
  { width: 1280, colorScheme: 'light' },
  { width: 320, colorScheme: 'dark' },
] as const)(
  'M7: axe finds nothing on the page of approvals, full or empty, at $width px, $colorScheme',
  async ({ width, colorScheme }) => {
    const { page, errors, context } = await signIn({
      viewport: { width, height: 800 },
      colorScheme,
    })
    const check = async () => {
      expect(await findAxeViolations(page)).toEqual([])
      expect(await findOverflow(page)).toEqual([])
    }
    await check()
    const token = `ghp_${'a1B2'.repeat(9)}`
    await callTool(`Another at ${width}`, `Key ${token}, \u202ehidden\u200b, ${'word-'.repeat(60)}`)
    await page.reload()
    await page.locator('article .code').waitFor()
    await check()
    expect(await page.getByText(token).isVisible()).toBe(false)
    await page.locator('article summary').click()
    await expect.poll(() => page.getByText(token).isVisible()).toBe(true)
    await check()
    if (process.env.SHOTS)
      await page.screenshot({ path: `${process.env.SHOTS}/${width}.png`, fullPage: true })
    await press(page, 'Deny')
    expect(errors).toEqual([])
    await context.close()
  },
)

test.each([
  { width: 1280, colorScheme: 'light' },
  { width: 360, colorScheme: 'dark' },
] as const)(
  'T20: without scripts a person reads what a standing rule covers, creates it and revokes it, at $width px, $colorScheme',
  async ({ width, colorScheme }) => {
    const { page, context } = await signIn({ viewport: { width, height: 800 }, colorScheme })
    const check = async () => {
      expect(await findAxeViolations(page)).toEqual([])
      expect(await findOverflow(page)).toEqual([])
    }
    const title = `Weekly report at ${width}`
    expect(await callTool(title)).toContain('requires approval')
    await page.reload()
    await check()
    await page.getByRole('link', { name: 'Approve, and don’t ask again' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Approve, and don’t ask again' }).waitFor()
    await check()
    expect(await page.locator('#preview').textContent()).toContain(`title is "${title}"`)
    await page.getByLabel('title may be any text that begins with').fill('Weekly report ')
    await page.getByRole('button', { name: 'Preview rule' }).click()
    await page.getByText('title begins with "Weekly report "').waitFor()
    await check()
    if (process.env.SHOTS)
      await page.screenshot({ path: `${process.env.SHOTS}/rule-${width}.png`, fullPage: true })
    await press(page, 'Approve, and don’t ask again')
    expect(await callTool(title)).toContain('/p/')
    expect(await callTool(`Weekly report, next ${width}`)).toContain('requires approval')
    expect(await callTool(`Weekly report of ${width}`)).toContain('/p/')
    await page.goto(`${hub.url}/policy`)
    const rule = page.locator('#rules article').first()
    expect(await rule.textContent()).toContain('used 1')
    await check()
    await clickThrough(page, rule.getByRole('button', { name: 'Revoke' }))
    expect(await callTool(`Weekly report after ${width}`)).toContain('requires approval')
    await page.goto(`${hub.url}/approvals`)
    while ((await page.getByRole('button', { name: 'Deny' }).count()) > 0) await press(page, 'Deny')
    await context.close()
  },
)
