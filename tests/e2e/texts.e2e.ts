import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  callApi,
  clickThrough,
  findLayoutProblems,
  launchBrowser,
  openSignedIn,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

let hub: RunningHub
let browser: Browser
let context: BrowserContext
let page: Page
let errors: string[]
let path: string

const code = "const a = 'b' // 1 < 2\nif (a) return 42"
const cells = Array.from({ length: 12 }, (_, at) => `column-${at}`)
const word = 'Rindfleischetikettierungsueberwachungsaufgabe'.repeat(4)
const content = [
  `\`\`\`js\n${code}\n\`\`\``,
  `| ${cells.join(' | ')} |\n|${'---|'.repeat(12)}\n| ${cells.join(' | ')} |`,
  '- [ ] ask\n- [x] answer',
  `https://example.com/${word}?a=${word}`,
  word,
].join('\n\n')

beforeAll(async () => {
  hub = await startHubForBrowser()
  browser = await launchBrowser()
  const opened = await openSignedIn(browser, hub)
  ;({ context, page, errors } = opened)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const { post } = await callApi<{ post: { id: string } }>(hub, 'POST', '/posts', {
    community: 'general',
    title: 'Texts',
    content,
  })
  path = `${hub.url}/p/${post.id}`
})
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
})

test('a text with code, a wide table, tasks and long words looks right everywhere', async () => {
  await page.goto(path)
  await page.mouse.move(100, 100)
  await page.locator('.prose pre + div button').waitFor()
  expect(await findLayoutProblems(page)).toEqual([])
  await page.setViewportSize({ width: 390, height: 800 })
  const table = page.getByRole('group', { name: 'Table' })
  const scrolled = await table.evaluate((box) => box.scrollWidth > box.clientWidth)
  expect(scrolled).toBe(true)
  await table.focus()
  await page.keyboard.press('ArrowRight')
  await expect.poll(() => table.evaluate((box) => box.scrollLeft)).toBeGreaterThan(0)
  const tasks = page.locator('.prose').getByRole('checkbox')
  expect(await tasks.evaluateAll((all) => all.map((each) => each.ariaLabel))).toEqual([
    'to do',
    'done',
  ])
  expect(await page.getByRole('checkbox', { name: 'done' }).isChecked()).toBe(true)
  expect(await page.getByRole('checkbox', { name: 'to do' }).isDisabled()).toBe(true)
  const kinds = await page
    .locator('.prose pre span')
    .evaluateAll((spans) => spans.map((each) => [each.textContent, getComputedStyle(each).color]))
  expect(kinds.map(([text]) => text)).toEqual(['const', "'b'", '// 1 < 2', 'if', 'return', '42'])
  expect(new Set(kinds.map(([, color]) => color)).size).toBe(4)
})

test('a button copies code as it was written; without scripts there is none', async () => {
  await page.goto(path)
  await page.mouse.move(200, 200)
  await page.getByRole('button', { name: 'Copy code' }).click()
  await page.getByRole('button', { name: 'Copied code' }).waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`${code}\n`)
  const plain = await browser.newContext({ javaScriptEnabled: false })
  const other = await plain.newPage()
  await other.goto(path)
  expect(await other.locator('.prose pre').count()).toBe(1)
  expect(await other.getByRole('button', { name: /Copy/ }).count()).toBe(0)
  await plain.close()
  // a page without code does not load the script
  const loaded: string[] = []
  page.on('request', (request) => loaded.push(request.url()))
  await page.goto(path)
  await page.mouse.move(100, 100)
  await page.locator('.prose pre + div button').waitFor()
  const script = await page.locator('script[data-code]').getAttribute('data-code')
  expect(loaded).toContain(hub.url + script)
  loaded.length = 0
  await page.goto(`${hub.url}/dm`)
  expect(loaded).not.toContain(hub.url + script)
})

test('a preview opens below the form, follows what is typed, and closes', async () => {
  await page.goto(`${hub.url}/?sort=new`)
  const form = page.locator('form[action="/posts-new"]')
  await form.getByLabel('Text').fill('A **bold** word')
  await form.getByRole('button', { name: 'Preview' }).click()
  const shown = page.locator('#shown')
  await shown.locator('strong', { hasText: 'bold' }).waitFor()
  expect(page.url()).toBe(`${hub.url}/?sort=new`)
  expect(await findLayoutProblems(page)).toEqual([])
  await form.getByLabel('Text').fill(`\`\`\`js\n${code}\n\`\`\``)
  await shown.getByRole('button', { name: 'Copy code' }).waitFor()
  await form.getByRole('button', { name: 'Hide preview' }).click()
  await expect.poll(() => shown.count()).toBe(0)
  // an empty reply has none: the field says that it must be filled
  await page.goto(path)
  await page.getByRole('button', { name: 'Preview' }).click()
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.getAttribute('name')))
    .toBe('content')
  expect(await shown.count()).toBe(0)
  for (const edited of [`${path}/edit`, `${hub.url}/dm?to=scout`]) {
    await page.goto(edited)
    const text = page.locator('[data-preview] textarea')
    await text.fill('A **bold** word')
    await page.getByRole('button', { name: 'Preview' }).click()
    await shown.locator('strong', { hasText: 'bold' }).waitFor()
    expect(page.url()).toBe(edited)
  }
  expect(errors).toEqual([])
})

test('without scripts the preview is a page that keeps the order and sends the reply', async () => {
  const plain = await browser.newContext({
    javaScriptEnabled: false,
    storageState: await context.storageState(),
  })
  const other = await plain.newPage()
  await other.goto(`${path}?sort=new`)
  await other.getByText('Formatting', { exact: true }).click()
  await other.getByText('a row of a table').waitFor()
  await other.getByLabel(/^Reply to/).fill('A **bold** word')
  await clickThrough(other, other.getByRole('button', { name: 'Preview' }))
  expect(await other.locator('#shown strong').textContent()).toBe('bold')
  await clickThrough(other, other.getByRole('button', { name: 'Reply' }))
  expect(other.url()).toContain('sort=new')
  expect(await other.locator('.reply .prose strong').textContent()).toBe('bold')
  await plain.close()
})

test('the versions of a post show the words that an edit changed', async () => {
  await callApi(hub, 'PATCH', new URL(path).pathname.replace('/p/', '/posts/'), {
    content: content.replace('- [ ] ask', '- [x] ask'),
  })
  await page.goto(`${path}/versions`)
  expect(await page.locator('del').allTextContents()).toEqual([' '])
  expect(await page.locator('ins').allTextContents()).toEqual(['x'])
  expect(await findLayoutProblems(page)).toEqual([])
})
