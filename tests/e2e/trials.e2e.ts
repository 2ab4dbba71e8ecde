import { mkdirSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  callApi,
  clickThrough,
  findLayoutProblems,
  launchBrowser,
  openSignedIn,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

/** A change of an agent that is tried on a run with a bad answer, in the browser, with the offline model. */
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

const api = <Body>(method: string, path: string, body?: unknown) =>
  callApi<Body>(hub, method, path, body)

/** Asks scout, and returns the id of the run that answered. */
async function ask(question: string): Promise<string> {
  const { post } = await api<{ post: { id: string } }>('POST', '/posts', {
    community: 'general',
    title: question,
    content: `@scout ${question}`,
  })
  return vi.waitFor(
    async () => {
      const { comments } = await api<{ comments: { activation_id: string | null }[] }>(
        'GET',
        `/posts/${post.id}/comments`,
      )
      const id = comments[0]?.activation_id
      if (!id) throw new Error('no answer of scout')
      return id
    },
    { timeout: 120_000, interval: 300 },
  )
}

/** Creates a set with a run whose answer lacks what it should have. */
async function createSet(name: string): Promise<void> {
  const run = await ask(`What was decided about ${name}?`)
  const { set } = await api<{ set: { id: string } }>('POST', '/agents/scout/sets', { name })
  await api(`POST`, `/sets/${set.id}/cases`, {
    activation_id: run,
    checks: [{ type: 'contains', value: 'a word that no answer has' }],
    note: 'Nothing was decided.',
  })
}

/** Saves a picture when E2E_PICTURES names a folder. */
async function takePicture(page: Page, name: string): Promise<void> {
  const folder = process.env.E2E_PICTURES
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: `${folder}/trial-${name}.png`, fullPage: true })
}

/** Waits for the end of the trial; a page without scripts is loaded again. */
const waitForEnd = (page: Page, hasScripts: boolean) =>
  expect
    .poll(
      async () => {
        if (!hasScripts) await page.reload()
        return page.locator('[data-running]').count()
      },
      { interval: 500 },
    )
    .toBe(0)

test.each([
  { hasScripts: true, set: 'herons' },
  { hasScripts: false, set: 'pelicans' },
])(
  'P5 P6: scripts $hasScripts: a draft is tried on a set, compared blind and saved',
  async ({ hasScripts, set }) => {
    await createSet(set)
    const { context, page, errors } = await openSignedIn(browser, hub, {
      javaScriptEnabled: hasScripts,
    })
    const look = async (name: string) => {
      if (hasScripts) {
        expect(
          await findLayoutProblems(page, (each) => takePicture(page, `${name}-${each}`)),
        ).toEqual([])
      }
    }
    await page.goto(`${hub.url}/a/scout/edit?view=files`)
    const prompt = page.locator('[name="system-prompt.md"]')
    const draft = `You are scout. You know ${set}.`
    await prompt.fill(draft)
    // With a search, and without one, it answers otherwise: equal answers are not compared.
    const config = page.locator('[name="config.yaml"]')
    const before = await config.inputValue()
    const [from, to] = before.includes('"hub:read"')
      ? ['"hub:read"', '"memory:read"']
      : ['"memory:read"', '"hub:read"']
    await config.fill(before.replace(from, to))
    await page.selectOption('[name=set]', { label: `${set}, 1\u00a0case` })
    await page.selectOption('[name=repeats]', '2')
    await clickThrough(page, page.locator('button[value=try]'))
    expect(await prompt.inputValue()).toBe(draft)
    expect(await page.locator('main').textContent()).toMatch(/runs 1.case 2 times.*costs nothing/)
    await look('promise')

    await clickThrough(page, page.locator('button[value=start_trial]'))
    expect(page.url()).toContain('/trials/')
    const trial = page.url()
    await waitForEnd(page, hasScripts)
    expect(await page.locator('.facts').textContent()).toMatch(/^Better0Worse0Same1/)
    const cases = await page.locator('#cases').textContent()
    expect(cases).toContain(`What was decided about ${set}?`)
    expect(cases).toContain('does not contain')
    await look('result')

    await clickThrough(page, page.locator('#cases a', { hasText: 'Compare' }))
    expect(await page.content()).not.toMatch(/baseline|candidate|draft/i)
    await look('compare')
    const choose = async () => {
      if (hasScripts) await page.keyboard.press('0')
      else await page.getByRole('button', { name: 'No difference' }).click()
    }
    await Promise.all([page.waitForURL(trial), choose()])
    expect(await page.locator('#cases tbody').textContent()).toMatch(/same\s*people/)

    await clickThrough(page, page.getByRole('link', { name: 'Open the draft' }))
    await clickThrough(page, page.locator('button[value=save]').first())
    const { files } = await api<{ files: Record<string, string> }>(
      'GET',
      '/agents/scout/definition',
    )
    expect(files['system-prompt.md']).toBe(draft)
    expect(errors).toEqual([])
    await context.close()
  },
)
