import { startFakeModelServer } from '../tests/support/fake-model-server.ts'
import { openDatabaseFile } from '../tests/support/open-database-file.ts'
import { median } from './activation.mjs'
import { readD1Cost, withHub } from './hub.mjs'
import { readCpuMs } from './miniflare.mjs'

const agents = 16

/** @typedef {import('node:sqlite').DatabaseSync} DatabaseFile */

/**
 * The whole Worker: a mention by HTTP, LOAD, two model turns over HTTP, one tool call through the
 * gateway, COMMIT. `activation.whole.cpu_ms` is the CPU of workerd from the post to the commit.
 * @param {number} scale
 */
export async function measureWhole(scale) {
  const fake = await startFakeModelServer({
    pick: 'turn',
    answers: [{ calls: [{ name: 'hub_get_feed', arguments: { limit: 1 } }] }, { text: 'done' }],
  })
  const env = { OPENAI_COMPATIBLE_API_KEY: 'none', OPENAI_COMPATIBLE_BASE_URL: `${fake.url}/v1` }
  try {
    return await withHub(env, async (hub, api, stateDir) => {
      const file = openDatabaseFile(stateDir, { readOnly: true })
      for (let index = 0; index < agents; index++) await createAgent(api, `a${index}`)
      const perAgent = Math.max(3, Math.round(20 * scale))
      await askAll(file, api, 2)
      const before = readCpuMs(hub.workerdPid)
      await askAll(file, api, perAgent)
      const cpu = (readCpuMs(hub.workerdPid) - before) / (perAgent * agents)
      const latency = []
      for (let round = 0; round < Math.round(40 * scale); round++)
        latency.push(await timeAnswer(file, api))
      const roundTrips = await countRoundTrips(hub, api, file)
      file.close()
      return [
        { name: 'activation.whole.cpu_ms', value: Number(cpu.toFixed(3)), unit: 'ms' },
        { name: 'activation.d1_round_trips', value: roundTrips, unit: 'round trips' },
        { name: 'mention_to_reply.p50_ms', value: median(latency), unit: 'ms' },
      ]
    })
  } finally {
    await fake.close()
  }
}

/**
 * @param {import('./hub.mjs').Api} api
 * @param {string} name
 */
const createAgent = (api, name) =>
  api('PUT', `/agents/${name}/definition`, {
    files: {
      'config.yaml': `name: ${name}\nbrain: { provider: openai-compatible, model: fake }\ncapabilities: { grants: [hub:read] }\n`,
      'system-prompt.md': 'You answer.',
    },
  })

/**
 * @param {import('./hub.mjs').Api} api
 * @param {string} name
 */
const ask = (api, name) =>
  api('POST', '/posts', { community: 'general', title: 'A question', content: `@${name} well?` })

/**
 * Every agent gets `times` mentions, each in a thread of its own, and works them off one by one.
 * @param {DatabaseFile} file
 * @param {import('./hub.mjs').Api} api
 * @param {number} times
 */
async function askAll(file, api, times) {
  const done = file.prepare("SELECT count(*) AS n FROM activations WHERE state = 'done'")
  const count = () => Number(done.get()?.n)
  const wanted = count() + times * agents
  const work = async (/** @type {string} */ name) => {
    for (let time = 0; time < times; time++) await ask(api, name)
  }
  await Promise.all(Array.from({ length: agents }, (_, index) => work(`a${index}`)))
  while (count() < wanted) await new Promise((resolve) => setTimeout(resolve, 100))
}

/**
 * Asks the file, because asking the hub each millisecond would keep the process busy that is measured.
 * @param {DatabaseFile} file
 * @param {string} postId
 */
async function waitForReply(file, postId) {
  const isDone = file.prepare("SELECT 1 FROM activations WHERE post_id = ? AND state = 'done'")
  for (let attempt = 0; attempt < 60_000; attempt++) {
    if (isDone.get(postId) !== undefined) return
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  throw new Error('no reply')
}

/**
 * @param {DatabaseFile} file
 * @param {import('./hub.mjs').Api} api
 */
async function timeAnswer(file, api) {
  const startedAt = performance.now()
  const { body } = await ask(api, 'a0')
  await waitForReply(file, body.post.id)
  return performance.now() - startedAt
}

/**
 * D1 round trips of one mention with two model turns and one tool call, without the request that
 * posts it, from the counter that the hub's metrics show.
 * @param {import('../scripts/hub-runtime.mjs').Hub} hub
 * @param {import('./hub.mjs').Api} api
 * @param {DatabaseFile} file
 */
async function countRoundTrips(hub, api, file) {
  const before = await readCounter(hub)
  const { body, headers } = await ask(api, 'a1')
  await waitForReply(file, body.post.id)
  await new Promise((resolve) => setTimeout(resolve, 200))
  const { roundTrips } = readD1Cost(headers)
  return (await readCounter(hub)) - before - roundTrips
}

/**
 * Without what reading it costs itself.
 * @param {{ url: string, adminKey: string }} hub
 */
async function readCounter(hub) {
  const response = await fetch(`${hub.url}/metrics`, {
    headers: { authorization: `Bearer ${hub.adminKey}` },
  })
  const found = /^rookery_d1_round_trips_total (\d+)/m.exec(await response.text())
  if (!found) throw new Error('/metrics does not tell rookery_d1_round_trips_total')
  reads += readD1Cost(response.headers).roundTrips
  return Number(found[1]) - reads
}

let reads = 0
