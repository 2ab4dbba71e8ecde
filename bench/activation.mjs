import { fileURLToPath } from 'node:url'
import { bundle, readCpuMs, withWorker } from './miniflare.mjs'

/**
 * Rows one activation of two model turns and one tool call writes before its commit: woken, loaded,
 * answered, tool returned, answered.
 */
const journalRows = 5

/**
 * `activation.cpu_ms`: the agents' room with its journal, the hub's door from memory; 16 at a time
 * over 64 agents, median of five rounds after a warm-up.
 * @param {number} scale
 */
export async function measureActivation(scale) {
  const code = await bundle(fileURLToPath(new URL('./activation-worker.ts', import.meta.url)))
  return withWorker(code, { AGENTS: 'BenchAgent' }, async (url, pid) => {
    const perRound = Math.round(4000 * scale)
    await run(url, 400)
    const rounds = []
    for (let round = 0; round < 5; round++) {
      const before = readCpuMs(pid)
      await run(url, perRound)
      rounds.push((readCpuMs(pid) - before) / perRound)
    }
    return [{ name: 'activation.cpu_ms', value: median(rounds), unit: 'ms' }]
  })
}

/**
 * @param {URL} url
 * @param {number} n
 */
async function run(url, n) {
  const response = await fetch(`${url}?n=${n}&agents=64&conc=16`)
  const text = await response.text()
  if (!response.ok) throw new Error(text.slice(0, 500))
  const { rows } = JSON.parse(text)
  if (rows !== n * journalRows) {
    throw new Error(`${n} activations wrote ${rows} journal rows instead of ${n * journalRows}`)
  }
}

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return Number((sorted[sorted.length >> 1] ?? Number.NaN).toFixed(3))
}
