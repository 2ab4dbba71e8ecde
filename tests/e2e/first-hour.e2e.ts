import { mkdirSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createUnended,
  type FakeAnswer,
  type FakeModelServer,
  startFakeModelServer,
} from '../support/fake-model-server.ts'
import {
  clickThrough,
  findLayoutProblems,
  launchBrowser,
  openPage,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

/** The first hour with a new hub, in the browser alone. The provider of models is a fake. */
let hub: RunningHub
let browser: Browser
let model: FakeModelServer

const key = 'key-of-the-browser-0123'
const name = 'fake-large'

const firstStep = createUnended({
  text: 'First I write down what is known of herons. '.repeat(3),
  calls: [
    {
      name: 'memory_remember_fact',
      arguments: { text: 'Herons nest in May.', source: 'mira' },
    },
    {
      name: 'hub_create_post',
      arguments: { community: 'general', title: 'Count of herons', content: 'Seven herons.' },
    },
  ],
})

/** The model's answers: to the tests of the key and of the model, then in the two steps of the run. */
const answers: FakeAnswer[] = [
  { text: 'OK' },
  { text: 'OK' },
  firstStep.answer,
  { text: 'Seven herons were counted.' },
]

beforeAll(async () => {
  model = await startFakeModelServer()
  model.setScript('page', { answers })
  hub = await startHubForBrowser({ ROOKERY_ALLOW_PRIVATE_SERVICES: 'true' })
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
  await model?.close()
})

/** Saves a picture when E2E_PICTURES names a folder. */
async function takePicture(page: Page, picture: string): Promise<void> {
  const folder = process.env.E2E_PICTURES
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: `${folder}/${picture}.png`, fullPage: true })
}

const expectLayout = async (page: Page, picture: string) => {
  expect(await findLayoutProblems(page, (look) => takePicture(page, `${picture}-${look}`))).toEqual(
    [],
  )
  await page.setViewportSize({ width: 1280, height: 800 })
}

/** Clicks a button that sends a form, and waits for the page that it leads to. */
async function press(page: Page, button: string | RegExp): Promise<void> {
  expect(await clickThrough(page, page.getByRole('button', { name: button }).first())).toBe(200)
}

/** Sets up a provider with a key, tests one of its models, and sets that model's price. */
async function setUpModel(page: Page): Promise<void> {
  await page.goto(`${hub.url}/models`)
  const block = page.locator('#openai-compatible')
  await page.locator('summary', { hasText: 'OpenAI-compatible server' }).click()
  await block.locator('[name=base_url]').fill(`${model.url}/s/page/v1`)
  await clickThrough(page, block.locator('form[action="/models"] button'))
  await block.getByText('Set key').click()
  await block.locator('[name=value]').fill(key)
  await clickThrough(page, block.locator('form[action="/models/key"] button'))
  await block.getByText('The key works').waitFor()
  await block.locator('summary', { hasText: 'Test' }).click()
  await block.getByLabel('Model', { exact: true }).fill(name)
  await clickThrough(page, block.getByRole('button', { name: 'Test model' }))
  await block.getByText(`openai-compatible/${name} answered.`).waitFor()
  await page.getByText('Set a price').click()
  await page.locator('#price-provider').selectOption('openai-compatible')
  await page.locator('#price-model').fill(name)
  await page.getByLabel('Input', { exact: true }).fill('2')
  await page.getByLabel('Cached input').fill('0.2')
  await page.getByLabel('Output').fill('10')
  await press(page, 'Save price')
  await page.getByRole('rowheader', { name: `openai-compatible/${name}` }).waitFor()
  expect(await page.content()).not.toContain(key)
  await page.getByText('Set a price').click()
  await expectLayout(page, 'models')
}

/** Invites a person and opens the invitation in a browser of her own. */
async function invite(page: Page): Promise<{ page: Page; errors: string[] }> {
  await page.goto(`${hub.url}/admin/people`)
  await page.getByLabel('Note, for admins only').fill('Mira from the harbour')
  await press(page, 'Create link')
  const guest = await openPage(await browser.newContext())
  await guest.page.goto(await page.getByLabel('Invitation link').inputValue())
  await guest.page.getByLabel('Name', { exact: true }).fill('mira')
  await press(guest.page, 'Create account')
  return guest
}

/** Creates an agent whose posts require approval. */
async function createAgent(page: Page): Promise<void> {
  await page.goto(`${hub.url}/agents`)
  await clickThrough(page, page.getByRole('link', { name: 'New agent' }))
  await page.getByLabel('Name', { exact: true }).fill('heron')
  await press(page, 'Continue')
  await press(page, 'Edit as files')
  await page
    .getByLabel('config.yaml')
    .fill(
      `name: heron\nbrain: { provider: openai-compatible, model: ${name} }\ncapabilities: { grants: [hub:read, hub:write, memory:write] }\n`,
    )
  await press(page, 'Check and preview')
  const allow = page.locator('[name=allow]')
  if ((await allow.count()) > 0) await allow.check()
  await press(page, 'Create agent')
  await page.goto(`${hub.url}/policy/heron`)
  await page.locator('#require_approval').fill('tool:hub_create_post')
  await press(page, 'Preview changes')
  await press(page, 'Save')
}

/** Asks, watches the agent write until an admin approves its post, and rates the answer. */
async function askAndRate(page: Page, approve: () => Promise<void>): Promise<void> {
  await page.goto(hub.url)
  await page.fill('#new', 'Were herons counted?')
  await page.fill('#content', '@heron were herons counted?')
  await clickThrough(page, page.locator('main button[type=submit]').first())
  await page.locator('[data-activation] [data-words]', { hasText: 'what is known' }).waitFor()
  firstStep.end()
  await page.locator('[data-parked]').waitFor()
  await approve()
  const answer = page.locator('article.reply[data-author=heron]')
  await answer.waitFor()
  expect(await answer.textContent()).toContain('Seven herons were counted.')
  expect(await answer.locator('.prov').textContent()).toMatch(
    new RegExp(`openai-compatible/${name}.*\\$0\\.\\d`, 's'),
  )
  await answer.locator('summary', { hasText: 'Rate' }).click()
  await answer.getByLabel('Note').fill('This was wrong because one was a stork.')
  await answer.getByRole('button', { name: 'Bad answer' }).click()
  await answer.getByText('You rated: bad').waitFor()
}

/** Changes the prompt of the agent and returns to the version before. */
async function changePrompt(page: Page): Promise<void> {
  await page.goto(`${hub.url}/a/heron/edit`)
  const before = await page.getByLabel('What it does', { exact: true }).inputValue()
  await page.getByLabel('What it does', { exact: true }).fill('You never count storks.')
  await press(page, 'Check and preview')
  await press(page, 'Save')
  await page.goto(`${hub.url}/a/heron/versions?show=2#changes`)
  await page.locator('#changes').getByText('You never count storks.').waitFor()
  await press(page, 'Restore version 1')
  await page.goto(`${hub.url}/a/heron/edit`)
  expect(await page.getByLabel('What it does', { exact: true }).inputValue()).toBe(before)
}

test('story: from the printed link to the bill without a terminal', async () => {
  const owner = await openPage(await browser.newContext())
  const { page } = owner
  await page.goto(hub.signInLink)
  await press(page, 'Continue as admin')
  const mira = await invite(page)
  await setUpModel(page)
  await createAgent(page)
  await askAndRate(mira.page, async () => {
    await page.goto(`${hub.url}/approvals`)
    await press(page, 'Approve once')
  })
  expect(model.requests.at(-1)?.headers.authorization).toBe(`Bearer ${key}`)
  await changePrompt(page)

  await page.goto(`${hub.url}/a/heron/knows`)
  await page.getByText('Herons nest in May.').first().waitFor()
  await page.locator('#facts summary', { hasText: 'Delete' }).first().click()
  await press(page, /^Delete fact/)
  await page.getByText('No facts.').waitFor()

  await page.goto(`${hub.url}/budgets`)
  const bill = page.getByRole('row', { name: /heron/ }).first()
  expect(await bill.textContent()).toMatch(/\$0\.\d*[1-9]/)
  expect([...owner.errors, ...mira.errors]).toEqual([])
})
