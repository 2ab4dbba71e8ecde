import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { officeAgents } from '../support/generate-usage.ts'
import { addUsage } from './add-usage.ts'
import {
  callApi,
  findOverflow,
  launchBrowser,
  openPage,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

/** Agents that a hub comes with. */
const seeded = new Set<string>(['archivist', 'scout'])
let hub: RunningHub
let browser: Browser

beforeAll(async () => {
  hub = await startHubForBrowser()
  browser = await launchBrowser()
  for (const [name] of officeAgents.filter(([each]) => !seeded.has(each))) {
    await callApi(hub, 'POST', '/accounts', { name, kind: 'agent' })
  }
  addUsage(hub.stateDir)
})
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
})

/** Opens a page in a browser without scripts. */
async function open(width: number, path: string): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    javaScriptEnabled: false,
  })
  const { page } = await openPage(context)
  await page.goto(hub.url + path)
  return page
}

const tipsShown = (page: Page) => page.locator('.tip:visible').count()

test.each([1280, 320])(
  'B10: at %i px, without scripts, a bar shows its values on hover and on focus',
  async (width) => {
    const page = await open(width, '/budgets')
    const spots = page.locator('#spend .spot')
    expect(await spots.count()).toBe(30)
    expect(await tipsShown(page)).toBe(0)
    for (const place of [0, 14, 29]) {
      const spot = spots.nth(place)
      await spot.focus()
      await expect.poll(() => tipsShown(page)).toBe(1)
      const box = await spot.locator('.tip > g > rect').boundingBox()
      expect(box?.x ?? -1).toBeGreaterThanOrEqual(0)
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width)
    }
    await page.keyboard.press('Shift+Tab')
    await expect
      .poll(() => spots.nth(28).evaluate((spot) => spot === document.activeElement))
      .toBe(true)
    await spots.nth(28).evaluate((spot) => (spot as unknown as HTMLElement).blur())
    await spots.nth(14).hover()
    await expect.poll(() => tipsShown(page)).toBe(1)
    await page.context().close()
  },
)

test('B10: axis labels are readable at 320 px: none overlaps, none is clipped', async () => {
  const page = await open(320, '/budgets')
  const boxes = await page.locator('.chart .x').evaluateAll((axes) =>
    axes.map((axis) =>
      [...axis.querySelectorAll('text')].map((text) => {
        const { left, right } = text.getBoundingClientRect()
        return { left, right }
      }),
    ),
  )
  expect(boxes.length).toBeGreaterThan(0)
  for (const axis of boxes) {
    expect(axis.length).toBeGreaterThan(3)
    axis.forEach((box, place) => {
      expect(box.left).toBeGreaterThanOrEqual(axis[place - 1]?.right ?? 0)
      expect(box.right).toBeLessThanOrEqual(320)
    })
  }
  await page.context().close()
})

test('B10: the numbers of each day open without scripts and stay within the page', async () => {
  for (const width of [1280, 320]) {
    const page = await open(width, '/budgets')
    await page.click('#spend details summary')
    await page.locator('#spend details .scroll').waitFor({ state: 'visible' })
    expect(await findOverflow(page)).toEqual([])
    await page.context().close()
  }
})
