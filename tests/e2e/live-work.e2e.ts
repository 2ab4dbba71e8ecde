import { mkdirSync } from 'node:fs'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  createUnended,
  type FakeAnswer,
  type FakeModelServer,
  startFakeModelServer,
} from '../support/fake-model-server.ts'
import {
  callApi,
  findLayoutProblems,
  launchBrowser,
  openPage,
  openSignedIn,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

/** A running agent, watched in a browser. Its model is slow. */
let hub: RunningHub
let browser: Browser
let model: FakeModelServer

beforeAll(async () => {
  model = await startFakeModelServer()
  hub = await startHubForBrowser({ OPENAI_COMPATIBLE_API_KEY: 'test-key' })
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
  await model?.close()
})

const words =
  'The tide comes in twice a day. The almanac has the hours of it for every harbour between here and the cape, ' +
  'and they are printed in May, when the pilots meet.'

/** An answer that is being written until the test has seen enough of it, at the latest until the test is over. */
function writes(answer: FakeAnswer) {
  const unended = createUnended(answer)
  onTestFinished(unended.end)
  return unended
}

const plan = {
  goal: 'Find the hours of the tide',
  steps: [{ title: 'Look for the almanac', status: 'completed' }, { title: 'Read its table' }],
}

const planning: FakeAnswer = {
  text: 'I look for it first.',
  calls: [
    { name: 'memory_update_plan', arguments: plan },
    { name: 'hub_search', arguments: { query: 'almanac' } },
  ],
}

const api = <Body>(method: string, path: string, body?: unknown) =>
  callApi<Body>(hub, method, path, body)

/** Creates an agent with a scripted model. */
async function createAgent(name: string, answers: FakeAnswer[]): Promise<void> {
  model.setScript(name, { answers, pick: 'turn' })
  const url = `${model.url}/s/${name}/v1`
  await api('PUT', `/agents/${name}/definition`, {
    files: {
      'config.yaml': `name: ${name}\nbrain: { provider: openai-compatible, model: fake, api_base: "${url}" }\ncapabilities: { grants: [hub:read, memory:write] }\n`,
      'system-prompt.md': 'You are watched.',
    },
  })
}

const ask = async (name: string): Promise<string> => {
  const { post } = await api<{ post: { id: string } }>('POST', '/posts', {
    community: 'general',
    title: 'When is high water?',
    content: `@${name} when is high water at the cape?`,
  })
  return post.id
}

/** Waits until an agent has begun its one run. */
async function findActivation(name: string): Promise<string> {
  let id = ''
  const begun = async () => {
    const path = `/activations?agent=${name}`
    const { activations } = await api<{ activations: { id: string }[] }>('GET', path)
    id = activations[0]?.id ?? ''
    return activations.length
  }
  await expect.poll(begun, { message: `runs of ${name}` }).toBe(1)
  return id
}

const open = (options: Parameters<typeof openSignedIn>[2] = {}) =>
  openSignedIn(browser, hub, options)

const stay = (page: Page) =>
  page.evaluate(() => {
    document.body.dataset.notReloaded = 'yes'
  })
const hasStayed = (page: Page) => page.evaluate(() => document.body.dataset.notReloaded === 'yes')

/** Saves a screenshot when E2E_PICTURES names a folder. */
async function takePicture(page: Page, name: string): Promise<void> {
  const folder = process.env.E2E_PICTURES
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}

test('L22: in a thread the text of an agent streams in, then its answer replaces it', async () => {
  const { answer, end } = writes({ text: words })
  await createAgent('pilot', [planning, answer])
  const postId = await ask('pilot')
  const { context, page, errors } = await open()
  await page.goto(`${hub.url}/p/${postId}`)
  await stay(page)
  const block = page.locator('[data-activation]')
  const shown = block.locator('[data-words]')
  await expect.poll(() => shown.textContent()).toContain('The tide comes in')
  expect(words.startsWith(((await shown.textContent()) ?? '').trim())).toBe(true)
  expect(await page.locator('article.reply').count()).toBe(0)
  await expect.poll(() => block.locator('.do').textContent()).toBe('pilot is writing')
  await expect.poll(() => block.locator('summary').textContent()).toBe('2 of 2: Read its table')
  await block.locator('summary').click()
  await expect
    .poll(() => block.locator('[data-plan] li').allTextContents())
    .toEqual(['Look for the almanac done', 'Read its table to do'])
  end()
  await page.locator('article.reply', { hasText: 'when the pilots meet' }).waitFor()
  await expect.poll(() => block.count()).toBe(0)
  expect(await hasStayed(page)).toBe(true)
  expect(errors).toEqual([])
  await context.close()
})

test('L22: the text is shown as it will be posted, block by block; who does not see the plan gets no titles', async () => {
  const blocks =
    '## Hours\n\n- at **noon**\n- <img src=x onerror="document.title = 1">\n\nThe almanac has them for every harbour, and they are printed in May.'
  const { answer, end } = writes({ text: blocks })
  await createAgent('harbour', [planning, answer])
  const postId = await ask('harbour')
  const context = await browser.newContext()
  const { page, errors } = await openPage(context)
  const sockets: string[] = []
  page.on('websocket', (socket) => sockets.push(new URL(socket.url()).pathname))
  const heard: string[] = []
  page.on('websocket', (socket) =>
    socket.on('framereceived', ({ payload }) => heard.push(String(payload))),
  )
  await page.goto(`${hub.url}/p/${postId}`)
  const block = page.locator('[data-activation]')
  const html = block.locator('[data-html]')
  await expect.poll(() => html.locator('strong').textContent()).toBe('noon')
  expect(await html.locator('h3').textContent()).toBe('Hours')
  expect(await html.locator('img').count()).toBe(0)
  await expect.poll(() => block.locator('[data-words]').textContent()).toMatch(/^The almanac/)
  await expect.poll(() => block.locator('summary').textContent()).toBe('2 of 2 steps')
  expect(heard.join('')).not.toContain('Look for the almanac')
  expect(sockets.length).toBe(2)
  // Without scripts a reload shows the same.
  const plain = await browser.newContext({ javaScriptEnabled: false })
  const still = await plain.newPage()
  await still.goto(`${hub.url}/p/${postId}`)
  await expect.poll(() => still.locator('[data-html] strong').textContent()).toBe('noon')
  expect(await still.locator('.do').textContent()).toBe('harbour is writing')
  await plain.close()
  end()
  await page.locator('article.reply', { hasText: 'printed in May' }).waitFor()
  expect(errors).toEqual([])
  await context.close()
})

test('L22: a run without steps of its own shows no share of them', async () => {
  const calls = [{ name: 'hub_search', arguments: { query: 'almanac' } }]
  await createAgent('drifter', [{ text: '', calls }, writes({ text: words }).answer])
  const postId = await ask('drifter')
  const { context, page, errors } = await open()
  await page.goto(`${hub.url}/p/${postId}`)
  const block = page.locator('[data-activation]')
  const shown = block.locator('[data-words]')
  await expect.poll(() => shown.textContent()).toContain('The tide')
  expect(await block.locator('[data-plan]').isVisible()).toBe(false)
  expect(errors).toEqual([])
  await context.close()
})

test('L22 L41 L42: the page of an activation fills while it runs, and ends without a reload', async () => {
  const { answer, end } = writes({ text: words, reasoning: 'They want hours.' })
  await createAgent('keeper', [planning, answer])
  await ask('keeper')
  const { context, page, errors } = await open()
  await page.goto(`${hub.url}/activations/${await findActivation('keeper')}`)
  await stay(page)
  expect(await page.textContent('h1')).toBe('keeper is working')
  await expect.poll(() => page.textContent('[data-text]')).toContain('The tide')
  await expect.poll(() => page.locator('.trace').textContent()).toContain('hub.search')
  const planBlock = page.locator('section', { has: page.locator('h2', { hasText: 'Plan' }) })
  await expect
    .poll(() => planBlock.textContent())
    .toMatch(/50.%.*Look for the almanac.*done.*Read its table.*to do/)
  await page.locator('#reasoning summary').click()
  await page.locator('#reasoning p', { hasText: 'They want hours.' }).waitFor()
  end()
  await page.locator('h1', { hasText: 'Run of keeper' }).waitFor()
  await expect.poll(() => page.textContent('main')).toContain('Reply')
  await expect.poll(() => page.locator('#events li').count()).toBeGreaterThan(10)
  await expect.poll(() => page.textContent('#announce')).toBe('Finished')
  expect(await hasStayed(page)).toBe(true)
  expect(errors).toEqual([])
  await context.close()
})

test.each([true, false])(
  'L34: the stop button ends a run while it streams (scripts: %s)',
  async (javaScriptEnabled) => {
    const name = javaScriptEnabled ? 'rambler' : 'mumbler'
    await createAgent(name, [writes({ text: words }).answer])
    const postId = await ask(name)
    const { context, page, errors } = await open({ javaScriptEnabled })
    await findActivation(name)
    await page.goto(`${hub.url}/p/${postId}`)
    const button = page.locator('button', { hasText: `Stop ${name}` })
    if (javaScriptEnabled) {
      await expect.poll(() => page.textContent('[data-words]')).toContain('The')
    }
    await button.click()
    await expect
      .poll(async () => {
        if (!javaScriptEnabled) await page.reload()
        return page.locator('article.reply', { hasText: 'asked to stop' }).count()
      })
      .toBe(1)
    await expect.poll(() => button.count()).toBe(0)
    expect(errors).toEqual([])
    await context.close()
  },
)

test('L34: a run stopped on its page shows its end without a reload', async () => {
  await createAgent('sailor', [planning, writes({ text: words }).answer])
  await ask('sailor')
  const { context, page, errors } = await open()
  await page.goto(`${hub.url}/activations/${await findActivation('sailor')}`)
  await expect.poll(() => page.textContent('[data-text]')).toContain('The tide')
  await page.locator('button', { hasText: 'Stop sailor' }).click()
  await page.locator('.facts dd', { hasText: 'stopped' }).waitFor()
  await page.locator('#events summary').click()
  await expect.poll(() => page.textContent('#events')).toContain('The agent was asked to stop.')
  expect(errors).toEqual([])
  await context.close()
})

test('pages: typed text on an agent’s page stays while the page updates', async () => {
  const { answer, end } = writes({ text: words })
  await createAgent('ferryman', [planning, answer])
  const { context, page, errors } = await open()
  await ask('ferryman')
  await findActivation('ferryman')
  await page.goto(`${hub.url}/a/ferryman`)
  expect(await page.locator('[data-running]').count()).toBe(1)
  await page.locator('summary', { hasText: 'Assign a task to ferryman' }).click()
  await page.locator('#task').pressSequentially('Count the boats', { delay: 40 })
  end()
  await expect.poll(() => page.locator('[data-running]').count()).toBe(0)
  expect(await page.inputValue('#task')).toBe('Count the boats')
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('task')
  expect(errors).toEqual([])
  await context.close()
})

test('pages: axe finds nothing at work in progress, and nothing scrolls sideways', async () => {
  const text = `${words}\n\n${'a-word-that-never-ends-'.repeat(9)} ${words}`
  await createAgent('longhand', [
    planning,
    writes({ text: text.repeat(9), reasoning: words }).answer,
  ])
  const postId = await ask('longhand')
  const { context, page, errors } = await open()
  const id = await findActivation('longhand')
  const looks = [
    [`/p/${postId}`, '[data-words]'],
    [`/activations/${id}`, '[data-text]'],
    ['/a/longhand', 'progress'],
  ] as const
  for (const [path, part] of looks) {
    await page.goto(hub.url + path)
    if (part !== 'progress') {
      await expect.poll(() => page.textContent(part)).toContain('never-ends')
      await page.evaluate(() =>
        document.querySelector('details[data-plan]')?.setAttribute('open', ''),
      )
    } else await page.locator(part).waitFor()
    const save = (look: string) => takePicture(page, `${path.split('/')[1]}-${look}`)
    expect(await findLayoutProblems(page, save), path).toEqual([])
    expect(await page.locator(part).count(), `${path} still shows the run`).toBe(1)
  }
  await api('POST', `/activations/${id}/cancel`, {})
  expect(errors).toEqual([])
  await context.close()
})

test('L22: the client follows a run in a page of the hub, over a socket with the session', async () => {
  await createAgent('diver', [{ text: words, pieceMs: 20, pieceChars: 20 }])
  const { outputFiles } = await build({
    entryPoints: [`${import.meta.dirname}/../../client/index.ts`],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'rookery',
  })
  const { context, page, errors } = await open()
  const seen = await page.evaluate<{
    answer: string
    types: string[]
    polls: number
  }>(`(async () => {
    ${outputFiles[0]?.text}
    const hub = new rookery.HubClient({ url: location.origin })
    const { link } = await rookery.ask(hub, { agent: 'diver', text: 'When?', community: 'general' })
    const done = await rookery.waitForAnswer(hub, link, { timeoutMs: 240000 })
    const types = []
    for await (const event of rookery.watchRun(hub, done.activation_id)) types.push(event.type)
    const isPoll = ({ name }) => name.includes('/events?')
    const polls = performance.getEntriesByType('resource').filter(isPoll).length
    return { answer: done.answer.content, types, polls }
  })()`)
  expect(seen.answer).toContain('when the pilots meet')
  expect(seen.types.slice(-2)).toEqual(['response', 'over'])
  expect(seen.polls).toBe(0)
  expect(errors).toEqual([])
  await context.close()
})
