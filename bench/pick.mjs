import { fileURLToPath } from 'node:url'
import { median } from './activation.mjs'
import { bundle, readCpuMs, readRssKb, withWorker } from './miniflare.mjs'

const sizes = { '1k': 1_000, '100k': 100_000, '1m': 1_000_000 }
const perBatch = 20_000
const intervalMs = 900_000

/**
 * `pick.cpu_ms.*`: one decision (pick, start, finish, with SQLite) of a scheduler that knows so many
 * agents; median of five rounds. And what an agent takes of its storage and memory.
 * @param {number} scale
 */
export async function measurePick(scale) {
  const code = await bundle(fileURLToPath(new URL('./pick-worker.ts', import.meta.url)))
  const rows = []
  for (const [name, agents] of Object.entries(sizes)) {
    if (scale < 1 && agents > 100_000) continue
    rows.push(...(await measureSize(code, name, agents, Math.round(1_000 * scale))))
  }
  return rows
}

/**
 * @param {string} code
 * @param {string} name
 * @param {number} agents
 * @param {number} perRound
 */
function measureSize(code, name, agents, perRound) {
  return withWorker(code, { SCHEDULER: 'BenchScheduler' }, async (url, pid) => {
    const ask = (path) => read(new URL(path, url))
    const rssBefore = readRssKb(pid)
    let bytes = 0
    for (let from = 0; from < agents; from += perBatch) {
      bytes = await ask(`/fill?name=${name}&from=${from}&n=${Math.min(perBatch, agents - from)}`)
    }
    await ask(`/settle?name=${name}`)
    // So that an agent's interval has passed when its turn comes again.
    const step = Math.ceil((1.2 * intervalMs) / agents)
    let done = 0
    const decide = async (count) => {
      const after = done * step
      const decided = await ask(`/decide?name=${name}&n=${count}&after=${after}&step=${step}`)
      if (decided < count) throw new Error(`only ${decided} of ${count} decisions`)
      done += count
    }
    await decide(500)
    const rounds = []
    for (let round = 0; round < 5; round++) {
      const before = readCpuMs(pid)
      await decide(perRound)
      rounds.push((readCpuMs(pid) - before) / perRound)
    }
    const row = [{ name: `pick.cpu_ms.${name}`, value: median(rounds), unit: 'ms' }]
    if (name !== '1m') return row
    return [
      ...row,
      { name: 'pick.bytes_per_agent', value: Math.round(bytes / agents), unit: 'bytes of SQLite' },
      {
        name: 'pick.memory_mb.1m',
        value: Math.round((readRssKb(pid) - rssBefore) / 1024),
        unit: 'MB of the process',
      },
    ]
  })
}

/** @param {URL} url */
async function read(url) {
  const response = await fetch(url)
  const text = await response.text()
  if (!response.ok) throw new Error(text.slice(0, 500))
  return JSON.parse(text)
}
