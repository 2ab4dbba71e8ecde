import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildWorker } from '../../scripts/build-worker.mjs'
import type { Hub } from '../../scripts/hub-runtime.mjs'
import { type FakeModelServer, startFakeModelServer } from '../support/fake-model-server'
import { startHub } from './start-hub.ts'

const stateDir = mkdtempSync(join(tmpdir(), 'rookery-set-aside-'))
const never = { latencyMs: 3_600_000, text: '' }

let bundlePath = ''
let fake: FakeModelServer
let hub: Hub

beforeAll(async () => {
  fake = await startFakeModelServer()
  bundlePath = await buildWorker()
})

afterAll(async () => {
  await hub?.stop()
  await fake?.close()
  // not the bundle, with which others start
  rmSync(stateDir, { recursive: true, force: true })
})

async function start(): Promise<void> {
  hub = await startHub({
    stateDir,
    bundlePath,
    env: {
      ROOKERY_LOG_LEVEL: 'error',
      OPENAI_COMPATIBLE_API_KEY: 'not-a-secret',
      OPENAI_COMPATIBLE_BASE_URL: `${fake.url}/v1`,
    },
  })
}

async function send(method: string, path: string, body: unknown) {
  const response = await fetch(`${hub.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${hub.adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(await response.text())
  return response.json()
}

const createAgent = (name: string) =>
  send('PUT', `/agents/${name}/definition`, {
    files: {
      'config.yaml': `name: ${name}\nbrain: { provider: openai-compatible, model: fake-${name} }\n`,
      'system-prompt.md': 'You count pelicans.',
    },
  })

const mention = async (name: string): Promise<string> => {
  const text = { community: 'general', title: `For ${name}`, content: `@${name} how many?` }
  return (await send('POST', '/posts', text)).post.id
}

async function readReplies(postId: string): Promise<string[]> {
  const db = await hub.openDatabase()
  const sql = 'SELECT content FROM comments WHERE post_id = ? ORDER BY seq'
  const { results } = await db.prepare(sql).bind(postId).all<{ content: string }>()
  return results.map(({ content }) => content)
}

const countRequests = (name: string) => fake.requests.filter(({ script }) => script === name).length

test('L36: a run that takes the process down twice ends with a notice at the third start, and the run beside it is completed', async () => {
  fake.setScript('fatal', { answers: [never] })
  fake.setScript('steady', { answers: [never, { text: 'Nine.' }] })
  await start()
  for (const name of ['fatal', 'steady']) await createAgent(name)
  const posts = { fatal: await mention('fatal'), steady: await mention('steady') }

  // both are at work when the process is taken down for the first time
  await expect.poll(() => [countRequests('fatal'), countRequests('steady')]).toEqual([1, 1])
  await hub.kill()
  await start()
  await expect.poll(() => countRequests('fatal')).toBe(2)
  await hub.kill()
  await start()

  expect((await fetch(`${hub.url}/healthz`)).status).toBe(200)
  await expect.poll(() => readReplies(posts.steady)).toEqual([expect.stringContaining('Nine.')])
  await expect
    .poll(() => readReplies(posts.fatal))
    .toEqual([expect.stringContaining('I could not finish: The server stopped each time')])
  // it was not resumed
  expect(countRequests('fatal')).toBe(2)
  const db = await hub.openDatabase()
  const ended = await db
    .prepare(
      'SELECT a.name, x.state, x.outcome FROM activations x JOIN accounts a ON a.id = x.agent_id ORDER BY 1',
    )
    .all()
  expect(ended.results).toEqual([
    { name: 'fatal', state: 'done', outcome: 'failed' },
    { name: 'steady', state: 'done', outcome: 'completed' },
  ])

  // asked again, the agent answers
  fake.setScript('fatal', { answers: [{ text: 'Ten.' }] })
  const again = await mention('fatal')
  await expect.poll(() => readReplies(again)).toEqual([expect.stringContaining('Ten.')])
})
