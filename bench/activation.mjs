import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { bundle, memoryDir, readCpuMs, readRssKb, withWorker } from './miniflare.mjs'

/**
 * Rows one activation of two model turns and one tool call writes before its commit: woken, loaded,
 * answered, tool returned, answered.
 */
const journalRows = 5
const bareRows = 2
const warmAgents = 64
const coldAgents = 1000
/** In one request: in one of over ten seconds the platform takes objects from memory that were idle. */
const perRequest = 1000
const perRoundMax = 4000
/**
 * V8 goes on optimizing, and taking back, until about then (`--trace-opt --trace-deopt`). After the first
 * 4,000 that no longer shows beside the noise of a busy machine, so `--quick` stops there.
 */
const warmUps = { quick: 4_000, full: 40_000 }
const names = {
  AGENTS: 'activation.cpu_ms',
  FULL: 'activation.full.cpu_ms',
  REMEMBERING: 'activation.memory.cpu_ms',
  BARE: 'bare.cpu_ms',
}
const rooms = {
  AGENTS: 'BenchAgent',
  FULL: 'FullBenchAgent',
  REMEMBERING: 'RememberingBenchAgent',
  BARE: 'BareObject',
}

/**
 * Agents with their journals and the hub's API from memory, 16 at a time.
 * `activation.cpu_ms`; `activation.full.cpu_ms` with streaming, hooks and trace;
 * `activation.memory.cpu_ms` with a memory of earlier tasks as well: over 64 agents, median of five
 * rounds after a warm-up, whose beginning is `activation.first.cpu_ms`: what the first 4,000 cost,
 * with the compiling; `bare.cpu_ms`: an object that writes two rows instead. `cold`: the first activation ever of 1,000 agents. Each in a process of its own,
 * so that none pays for compiling and collecting what another needed.
 * @param {number} scale
 */
export async function measureActivation(scale) {
  const code = await bundle(fileURLToPath(new URL('./activation-worker.ts', import.meta.url)))
  const perRound = Math.round(perRoundMax * scale)
  const warmUp = scale < 1 ? warmUps.quick : warmUps.full
  const cold = await measureCold(code, scale < 1 ? 1 : 3)
  const rows = []
  for (const [room, name] of Object.entries(names)) {
    const { first, warm } = await withWorker(code, rooms, (url, pid) =>
      measureWarm(url, pid, room, { warmUp, perRound }),
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
 * @param {{ warmUp: number, perRound: number }} counts activations
 */
async function measureWarm(url, pid, room, { warmUp, perRound }) {
  const measure = async (/** @type {number} */ n) => {
    const before = readCpuMs(pid)
    for (let left = n; left > 0; left -= perRequest) {
      await run(url, { room, n: Math.min(left, perRequest), agents: warmAgents })
    }
    return (readCpuMs(pid) - before) / n
  }
  const first = await measure(perRoundMax)
  await measure(warmUp - perRoundMax)
  const costs = []
  for (let round = 0; round < 5; round++) costs.push(await measure(perRound))
  // a bare object keeps the rows of all rounds
  if (room !== 'BARE') await run(url, { room, n: 0, agents: warmAgents, verify: 1 })
  return { first: Number(first.toFixed(3)), warm: median(costs) }
}

/**
 * Objects that are made, their tables and their first activation; memory is that of the process, which
 * has done one activation so far, so the agents pay for its compiling too. `cold.next`: as many agents
 * again; `bare.cold`: objects that write two rows instead.
 *
 * A new agent is three new files, and what those cost is up to the file system: ext4 passes over the
 * inodes of files that were deleted in the last minutes (`recently_deleted` in fs/ext4/ialloc.c), which
 * can be more than all else. So the rows are of a file system in memory, with those on the disk beside
 * them, which come first, before the bench itself deletes files.
 * @param {string} code
 * @param {number} rounds
 */
async function measureCold(code, rounds) {
  const measure = (/** @type {string} */ room, /** @type {string} */ parent) =>
    withWorker(code, rooms, (url, pid) => makeAgents(url, pid, room), parent)
  const disk = await measure('AGENTS', tmpdir())
  const bareDisk = await measure('BARE', tmpdir())
  const [agents, bare] = [[], []]
  for (let round = 0; round < rounds; round++) {
    agents.push(await measure('AGENTS', memoryDir))
    bare.push(await measure('BARE', memoryDir))
  }
  const middle = (/** @type {Batch[][]} */ all, /** @type {number} */ batch) => ({
    cpuMs: median(all.map((batches) => batches[batch]?.cpuMs ?? Number.NaN)),
    kb: median(all.map((batches) => batches[batch]?.kb ?? Number.NaN)),
  })
  return [
    ...toRows('cold', middle(agents, 0)),
    ...toRows('cold.next', middle(agents, 1)),
    ...toRows('bare.cold', middle(bare, 0)),
    ...toRows('cold.disk', disk[0]),
    ...toRows('bare.cold.disk', bareDisk[0]),
  ]
}

/** @typedef {{ cpuMs: number, kb: number }} Batch each of its agents, on average */

/**
 * Two batches of a thousand, one after the other.
 * @param {URL} url
 * @param {number} pid
 * @param {string} room
 */
async function makeAgents(url, pid, room) {
  await run(url, { room, n: 1, agents: 1, conc: 1, base: 'first' })
  const batches = []
  for (const base of ['one', 'two']) {
    const [cpu, kb] = [readCpuMs(pid), readRssKb(pid)]
    await run(url, { room, n: coldAgents, agents: coldAgents, base })
    batches.push({
      cpuMs: (readCpuMs(pid) - cpu) / coldAgents,
      kb: (readRssKb(pid) - kb) / coldAgents,
    })
    await run(url, { room, n: 0, agents: coldAgents, base, verify: 1 })
  }
  return batches
}

/**
 * @param {string} name
 * @param {Batch} batch
 */
const toRows = (name, { cpuMs, kb }) => [
  { name: `${name}.cpu_ms`, value: Number(cpuMs.toFixed(3)), unit: 'ms' },
  { name: `${name}.kb`, value: Number(kb.toFixed(1)), unit: 'KB' },
]

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
  const rowsEach = query.room === 'BARE' ? bareRows : journalRows
  // the row of the commit is not always written at once
  if (rows < n * rowsEach) {
    throw new Error(`${n} activations wrote ${rows} rows, not ${n * rowsEach} or more`)
  }
  const wrong = stored.filter((/** @type {number} */ count) => count !== rowsEach)
  if (wrong.length > 0) {
    throw new Error(`${wrong.length} agents have ${wrong[0]} rows stored instead of ${rowsEach}`)
  }
}

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return Number((sorted[sorted.length >> 1] ?? Number.NaN).toFixed(3))
}
