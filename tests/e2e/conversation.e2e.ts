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
  callApi,
  clickThrough,
  findLayoutProblems,
  findOverflow,
  launchBrowser,
  openSignedIn,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

/** A whole conversation with an agent, in a browser. Everything but the model is real. */
let hub: RunningHub
let browser: Browser
let model: FakeModelServer

const write = (title: string) => ({
  name: 'hub_create_post',
  arguments: { community: 'general', title, content: 'As asked.' },
})

/** Goes on while the person writes. */
const searching = createUnended({
  calls: [{ name: 'hub_search', arguments: { query: 'pelicans' } }],
})

/** The model's answers, in the order of its calls. */
const answers: FakeAnswer[] = [
  { text: 'Twelve pelicans were counted.' },
  { text: 'In spring there were nine.' },
  searching.answer,
  { calls: [write('Pelicans of summer'), write('Pelicans of spring')] },
  { text: 'Both are posted.' },
  { calls: [write('Weekly count 1')] },
  { text: 'The first count is posted.' },
  { calls: [write('Weekly count 2')] },
  { text: 'The second count is posted.' },
  createUnended({ text: 'A long story of pelicans. '.repeat(40) }).answer,
]

/** Those of an agent that a member creates. */
const answersOfRobin: FakeAnswer[] = [
  {
    calls: [
      {
        name: 'memory_remember_fact',
        arguments: { text: 'Pelicans nest in May.', source: 'rita' },
      },
    ],
  },
  { text: 'Noted: pelicans nest in May.' },
]

beforeAll(async () => {
  model = await startFakeModelServer()
  hub = await startHubForBrowser({
    OPENAI_COMPATIBLE_API_KEY: 'test-key',
    ROOKERY_ALLOW_PRIVATE_SERVICES: 'true',
    OPENAI_API_KEY: 'test-key',
    OPENAI_BASE_URL: `${model.url}/s/robin/v1`,
  })
  browser = await launchBrowser()
  model.setScript('robin', { answers: answersOfRobin })
  model.setScript('finch', { answers })
  const url = `${model.url}/s/finch/v1`
  await api('PUT', '/agents/finch/definition', {
    files: {
      'config.yaml': `name: finch\nbrain: { provider: openai-compatible, model: fake, api_base: "${url}" }\ncapabilities: { grants: [hub:read, hub:write] }\n`,
      'system-prompt.md': 'You count birds.',
    },
  })
  await api('PUT', '/agents/finch/grants', {
    allowed: ['hub:read', 'hub:write'],
    require_approval: ['tool:hub_create_post'],
  })
})
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
  await model?.close()
})

const api = (method: string, path: string, body: unknown) =>
  callApi<Record<string, unknown>>(hub, method, path, body)

const signIn = (options: Parameters<typeof openSignedIn>[2] = {}, key?: string) =>
  openSignedIn(browser, hub, options, key)

/** Saves a picture when E2E_PICTURES names a folder. */
async function takePicture(page: Page, name: string): Promise<void> {
  const folder = process.env.E2E_PICTURES
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}

const reply = async (page: Page, text: string) => {
  await page.fill('#reply', text)
  await page.locator('#end').getByRole('button', { name: 'Reply', exact: true }).click()
  await page.locator('article.reply', { hasText: text }).last().waitFor()
}
const answer = (page: Page, text: string) =>
  page.locator('article.reply[data-author="finch"]', { hasText: text }).last().waitFor()

test('C1 C2 C3 C5: a person asks, follows up, steers, approves on a phone, makes a rule, and stops', async () => {
  const { page, errors } = await signIn()
  await page.goto(`${hub.url}/m/general`)
  await page.getByLabel('Title').first().fill('Pelicans')
  await page.locator('textarea[name="content"]').first().fill('@finch how many pelicans?')
  await clickThrough(page, page.getByRole('button', { name: 'Post', exact: true }).first())
  await answer(page, 'Twelve pelicans were counted.')
  const thread = page.url()
  await reply(page, 'And in spring?')
  await answer(page, 'In spring there were nine.')

  await reply(page, 'Please post both counts.')
  await page.locator('#steering', { hasText: 'your reply reaches it now' }).waitFor()
  await reply(page, 'In two posts.')
  searching.end()
  const phone = await signIn({ viewport: { width: 360, height: 780 } })
  await page.getByText('2 calls').first().waitFor()
  await phone.page.goto(thread)
  expect(await phone.page.locator('[data-parked]').textContent()).toMatch(/finch for @/)
  expect(await findOverflow(phone.page)).toEqual([])
  await takePicture(phone.page, 'approvals-360')
  await phone.page.getByRole('button', { name: /Approve all 2/ }).click()
  await answer(page, 'Both are posted.')
  expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('In two posts.')

  await reply(page, 'Now post the count of this week.')
  await page.getByRole('link', { name: 'Approve, and don’t ask again' }).first().click()
  await page.getByLabel('title may be any text that begins with').fill('Weekly count ')
  await page.getByRole('button', { name: 'Preview rule' }).click()
  await page.getByText('title begins with "Weekly count "').waitFor()
  await clickThrough(page, page.getByRole('button', { name: 'Approve, and don’t ask again' }))
  await page.goto(thread)
  await answer(page, 'The first count is posted.')
  await reply(page, 'And the next one.')
  await answer(page, 'The second count is posted.')
  expect(await findLayoutProblems(page, (name) => takePicture(page, `thread-${name}`))).toEqual([])

  expect(await page.getByText('could not:').count()).toBe(0)
  await reply(page, 'Tell me the whole story.')
  await page.locator('[data-activation] [data-words]', { hasText: 'A long story' }).waitFor()
  await reply(page, 'stop')
  await expect.poll(() => page.locator('#working [data-activation]').count()).toBe(0)
  // what was written until then is kept, and says why it ends
  const told = page.locator('article.reply', { hasText: 'A long story' }).last()
  await told.waitFor()
  expect(await told.textContent()).toContain('I was asked to stop.')
  expect(errors).toEqual([])
})

test('story: a member creates an agent, asks it, corrects and deletes a wrong fact, and schedules a task', async () => {
  const { account: agent } = await api('POST', '/accounts', { name: 'rita', kind: 'human' })
  const { page, errors } = await signIn({}, String(Reflect.get(Object(agent), 'api_key')))
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  await page.goto(`${hub.url}/agents`)
  await page.getByRole('link', { name: 'New agent' }).click()
  await page.getByLabel('Name', { exact: true }).fill('robin')
  await press('Continue')
  await press('Edit as files')
  await page
    .getByLabel('config.yaml')
    .fill(
      'name: robin\nbrain: { provider: openai, model: gpt-5-mini }\ncapabilities: { grants: [hub:read, memory:write] }\n',
    )
  await press('Check and preview')
  await press('Create agent')
  await page.waitForURL(`${hub.url}/a/robin`)

  await page.goto(`${hub.url}/m/general`)
  await page.getByLabel('Title').first().fill('Nests')
  await page.locator('textarea[name="content"]').first().fill('@robin pelicans nest in May.')
  await page.getByRole('button', { name: 'Post', exact: true }).first().click()
  await page.locator('article.reply[data-author="robin"]', { hasText: 'Noted' }).waitFor()

  await page.goto(`${hub.url}/a/robin`)
  await page.getByRole('link', { name: 'What robin knows' }).click()
  await page.getByText('Pelicans nest in May.').first().waitFor()
  await page.getByText('Correct', { exact: false }).first().click()
  await page.getByLabel('What is right').fill('Pelicans nest in April.')
  await press('Save')
  await page.getByText('corrected by @rita').waitFor()
  await page.locator('#facts summary', { hasText: 'Delete' }).first().click()
  expect(await findLayoutProblems(page, (name) => takePicture(page, `knows-${name}`))).toEqual([])
  await page.locator('#sessions a').first().click()
  await page.getByText('Noted: pelicans nest in May.').first().waitFor()
  expect(await findLayoutProblems(page, (name) => takePicture(page, `session-${name}`))).toEqual([])
  await page.getByRole('link', { name: 'What robin knows' }).click()
  await page.locator('#facts summary', { hasText: 'Delete' }).first().click()
  await press(/^Delete fact/)
  await page.getByText('No facts.').waitFor()

  await page.goto(`${hub.url}/a/robin`)
  await page.getByRole('link', { name: 'Schedules' }).click()
  await page.getByLabel('When').fill('0 9 * * 1-5')
  await page.getByLabel('Time zone').fill('Europe/Berlin')
  await page.getByLabel('Task').fill('Count the nests and post the number in m/general.')
  await press('Preview')
  await page.getByText('Nothing was spent, called or posted.').waitFor()
  expect(await findLayoutProblems(page, (name) => takePicture(page, `schedule-${name}`))).toEqual(
    [],
  )
  await press('Save schedule')
  await page.getByText('Next runs (Europe/Berlin)').waitFor()
  await press(/^Pause/)
  await page.getByText('It is not due until you resume it.').waitFor()
  await page.locator('[data-schedule] summary', { hasText: 'Edit' }).click()
  await page.getByLabel('When').first().fill('0 10 * * 1-5')
  await press('Preview')
  await page.getByText('It stays paused.').waitFor()
  await press('Save schedule')
  await page.locator('[data-schedule] h2', { hasText: '0 10 * * 1-5' }).waitFor()
  expect(await findLayoutProblems(page, (name) => takePicture(page, `schedules-${name}`))).toEqual(
    [],
  )
  expect(errors).toEqual([])
})
