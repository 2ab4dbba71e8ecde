import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  callApi,
  findAxeViolations,
  findLayoutProblems,
  launchBrowser,
  openSignedIn,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

/** A change of an agent, tried in a browser on a run of the offline model. */
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

const post = (title: string, content: string) =>
  callApi(hub, 'POST', '/posts', { community: 'general', title, content })

/** Waits for the end of the agent's nth run, and returns its id. */
async function findRun(count: number): Promise<string> {
  let id = ''
  const ended = async () => {
    const { activations } = await callApi<{ activations: { id: string; state: string }[] }>(
      hub,
      'GET',
      '/activations?agent=scout',
    )
    id = activations[0]?.id ?? ''
    return `${activations.length} ${activations[0]?.state}`
  }
  await expect.poll(ended, { message: 'the run of scout' }).toBe(`${count} done`)
  return id
}

let runs = 0

test.each([
  ['with scripts', { viewport: { width: 1280, height: 900 }, javaScriptEnabled: true }],
  [
    'without scripts on a phone',
    { viewport: { width: 390, height: 800 }, javaScriptEnabled: false },
  ],
])('P3 P4 P8: a person tries a change on a run, %s', async (name, options) => {
  await post('Lighthouse', 'The wick of the lamp has to be trimmed every four hours.')
  await post(`A question, ${name}`, '@scout how often is the wick of the lamp trimmed?')
  const run = await findRun(++runs)
  const { context, page, errors } = await openSignedIn(browser, hub, options)
  await page.goto(`${hub.url}/activations/${run}`)
  await page.getByRole('link', { name: 'Try a change' }).click()
  await page.waitForURL(/\/try$/)
  await page.getByText(/costs nothing, and takes at most [\d,]+ tokens/).waitFor()
  const config = page.getByLabel('config.yaml')
  const before = await config.inputValue()
  // what cannot be read is named, and nothing that was typed is lost
  await config.fill(`${before}\nobservability: 7\n`)
  await page.getByRole('button', { name: 'Start replay' }).click()
  await page.getByRole('heading', { name: 'Problems' }).waitFor()
  expect(await config.inputValue()).toContain('observability: 7')
  await config.fill(before.replace('"hub:read"', '"memory:read"'))
  await page.getByLabel('How often the draft runs').selectOption('2')
  await page.getByRole('button', { name: 'Start replay' }).click()
  await page.waitForURL(/\/replays\//)
  const result = page.getByText('The draft gave another answer than the definition of the run')
  const hasEnded = async () => {
    if (!options.javaScriptEnabled) await page.reload()
    return result.count()
  }
  await expect.poll(hasEnded, { message: 'the end of the replay', timeout: 60_000 }).toBe(1)
  await page.getByText(/at step 1: Only one of them was offered .*hub_search/).waitFor()
  const rows = await page.locator('table tbody tr td:first-child').allTextContents()
  expect(rows).toEqual(['What happened', 'Same definition', 'Draft 1', 'Draft 2'])
  if (options.javaScriptEnabled) {
    expect(await findAxeViolations(page)).toEqual([])
    expect(await findLayoutProblems(page)).toEqual([])
  }
  // the browser reports the answer to what was invalid
  expect(errors.filter((error) => !error.includes('status of 422'))).toEqual([])
  await context.close()
})
