import { fileURLToPath } from 'node:url'
import { bundle, readCpuMs, readRssKb, withWorker } from './miniflare.mjs'

/**
 * Rows one activation of two model turns and one tool call writes before its commit: woken, loaded,
 * answered, tool returned, answered.
 */
const journalRows = 5
const warmAgents = 64
const coldAgents = 1000
/** As many in one request: in a longer one the platform takes objects from memory that were idle. */
const perRequest = 4000
/** V8 goes on optimizing, and taking back, until about then (`--trace-opt --trace-deopt`). */
const warmUp = 40_000
const names = {
  AGENTS: 'activation.cpu_ms',
  FULL: 'activation.full.cpu_ms',
  REMEMBERING: 'activation.memory.cpu_ms',
}
const rooms = {
  AGENTS: 'BenchAgent',
  FULL: 'FullBenchAgent',
  REMEMBERING: 'RememberingBenchAgent',
}

/**
 * The agents' room with its journal, the hub's door from memory, 16 at a time.
 * `activation.cpu_ms`; `activation.full.cpu_ms` with streaming, hooks and trace;
 * `activation.memory.cpu_ms` with a memory of earlier tasks as well: over 64 agents, median of five
 * rounds after a warm-up, whose beginning is `activation.first.cpu_ms`: what the first 4,000 cost,
 * with the compiling. `cold`: the first activation ever of 1,000 agents. Each in a process of its own,
 * so that none pays for compiling and collecting what another needed.
 * @param {number} scale
 */
export async function measureActivation(scale) {
  const code = await bundle(fileURLToPath(new URL('./activation-worker.ts', import.meta.url)))
  const perRound = Math.round(perRequest * scale)
  // first: ext4 goes round inodes of files that were just deleted, which makes new ones dear
  const cold = await withWorker(code, rooms, measureCold)
  const rows = []
  for (const [room, name] of Object.entries(names)) {
    const { first, warm } = await withWorker(code, rooms, (url, pid) =>
      measureWarm(url, pid, room, perRound),
    )
    rows.push({ name, value: warm, unit: 'ms' })
    if (room === 'AGENTS') rows.push({ name: 'activation.first.cpu_ms', value: first, unit: 'ms' })
  }
  return [...rows, ...cold]
}

/**
 * @param {URL} url
 * @param {number} pid
 * @param {string} room
 * @param {number} perRound
 */
async function measureWarm(url, pid, room, perRound) {
  const measure = async (/** @type {number} */ n) => {
    const before = readCpuMs(pid)
    await run(url, { room, n, agents: warmAgents })
    return (readCpuMs(pid) - before) / n
  }
  const first = await measure(perRequest)
  for (let done = perRequest; done < warmUp; done += perRequest) await measure(perRequest)
  const costs = []
  for (let round = 0; round < 5; round++) costs.push(await measure(perRound))
  await run(url, { room, n: 0, agents: warmAgents, verify: 1 })
  return { first: Number(first.toFixed(3)), warm: median(costs) }
}

/**
 * Objects that are made, their tables and their first activation; memory is that of the process.
 * `cold`: in a process that has done one activation so far, so the agents pay for its compiling too;
 * `cold.next`: as many agents again.
 * @param {URL} url
 * @param {number} pid
 */
async function measureCold(url, pid) {
  await run(url, { n: 1, agents: 1, conc: 1, base: 'first' })
  const rows = []
  for (const name of ['cold', 'cold.next']) {
    const [cpu, kb] = [readCpuMs(pid), readRssKb(pid)]
    await run(url, { n: coldAgents, agents: coldAgents, base: name })
    const cost = (readCpuMs(pid) - cpu) / coldAgents
    const weight = (readRssKb(pid) - kb) / coldAgents
    await run(url, { n: 0, agents: coldAgents, base: name, verify: 1 })
    rows.push({ name: `${name}.cpu_ms`, value: Number(cost.toFixed(3)), unit: 'ms' })
    rows.push({ name: `${name}.kb`, value: Math.round(weight), unit: 'KB' })
  }
  return rows
}

/**
 * @param {URL} url
 * @param {Record<string, string | number>} query
 */
async function run(url, query) {
  const given = Object.entries({ conc: 16, ...query }).map(([name, value]) => [name, String(value)])
  const response = await fetch(`${url}?${new URLSearchParams(given)}`)
  const text = await response.text()
  if (!response.ok) throw new Error(text.slice(0, 500))
  const { n, rows, stored = [] } = JSON.parse(text)
  // the row of the commit is not always written at once
  if (rows < n * journalRows) {
    throw new Error(`${n} activations wrote ${rows} journal rows, not ${n * journalRows} or more`)
  }
  const wrong = stored.filter((/** @type {number} */ count) => count !== journalRows)
  if (wrong.length > 0) {
    throw new Error(`${wrong.length} agents have ${wrong[0]} rows stored instead of ${journalRows}`)
  }
}

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return Number((sorted[sorted.length >> 1] ?? Number.NaN).toFixed(3))
}
