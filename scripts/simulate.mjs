// npm run simulate [-- --agents N] [--days N] [--capacity N] [--seed N] [--mode MODE] [--compare] [--shards N] [--json FILE]
//
// Days of a hub in seconds, decided by the scheduler's own code: who runs, how stale everybody gets,
// how long tasks wait. `--compare` runs other ways to choose beside it, `--shards` the same hub divided
// among so many schedulers. docs/scheduling.md explains.
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { root } from './local-state.mjs'

const { values: options } = parseArgs({
  options: {
    agents: { type: 'string', default: '100000' },
    days: { type: 'string', default: '14' },
    capacity: { type: 'string' },
    seed: { type: 'string', default: '1' },
    mode: { type: 'string', default: 'hybrid' },
    compare: { type: 'boolean', default: false },
    shards: { type: 'string' },
    json: { type: 'string' },
  },
})

const { simulate, ordinary, computeIndex } = await loadSimulator()
const agents = readCount('agents')
const scenario = {
  ...ordinary,
  agents,
  days: readCount('days'),
  // As scarce for any number of agents as 50 are for 100,000.
  capacity: options.capacity ? readCount('capacity') : Math.max(4, Math.round(agents / 2_000)),
  seed: readCount('seed'),
}
if (!['notification', 'exploration', 'hybrid'].includes(options.mode)) {
  stop(`--mode is notification, exploration or hybrid, not ${options.mode}.`)
}

const startedAt = performance.now()
const report = simulate(scenario, options.mode)
const seconds = (performance.now() - startedAt) / 1000
show()
if (options.compare) compare()
const divided = options.shards ? divide(readCount('shards')) : null
if (options.json) {
  const rows = [
    { name: 'weighted_age.ratio', value: round(report.ratio, 4), unit: 'x lower bound' },
    { name: 'age.p99_slots', value: round(report.ageP99Slots), unit: 'slots' },
    { name: 'inbox.p99_slots', value: round(report.inboxP99Slots, 2), unit: 'slots' },
    { name: 'starved', value: report.starved, unit: 'agents and tasks' },
    ...(divided
      ? [
          {
            name: 'shards.weighted_age.ratio',
            value: round(divided.worst, 4),
            unit: 'x lower bound',
          },
          { name: 'shards.starved', value: divided.starved, unit: 'agents and tasks' },
        ]
      : []),
  ]
  writeFileSync(options.json, `${JSON.stringify(rows, null, 2)}\n`)
}

function show() {
  const { agents, days, capacity } = scenario
  console.log(
    `${agents} agents, ${days} days, ${capacity} at a time: ${report.explorations} turns, ${report.answers} answers in ${seconds.toFixed(1)} s`,
  )
  console.log(`weighted age / lower bound   ${formatRatio(report.ratio)}`)
  console.log(`age, 99 %                    ${round(report.ageP99Slots)} slots`)
  console.log(
    `a task waits, 99 % and max   ${report.inboxP99Slots.toFixed(2)} and ${report.inboxMaxSlots.toFixed(1)} slots`,
  )
  console.log(`starved                      ${report.starved}`)
  console.log('\nweight   agents   age 99 %   age max (slots)')
  for (const tier of report.tiers) {
    if (tier.agents === 0) continue
    console.log(
      [
        tier.weight.toFixed(2).padStart(6),
        String(tier.agents).padStart(8),
        String(round(tier.p99Slots)).padStart(10),
        String(round(tier.maxSlots)).padStart(17),
      ].join(' '),
    )
  }
}

/** What other ways to choose would do with the same hub. */
function compare() {
  /** @type {Record<string, (weight: number, slots: number) => number>} */
  const rules = {
    'this scheduler': computeIndex,
    'stalest first': (_weight, slots) => slots,
    'weight x age': (weight, slots) => weight * slots,
    'strict priority': (weight, slots) => weight * 1e9 + slots,
  }
  console.log('\nweighted age / lower bound')
  for (const [name, rule] of Object.entries(rules)) {
    const { ratio, starved } = simulate(scenario, options.mode, rule)
    console.log(`${name.padEnd(18)} ${ratio.toFixed(3).padStart(8)}   starved ${starved}`)
  }
}

/**
 * Each agent belongs to one scheduler, by a hash of its id, so that some have a few agents more than
 * others; each scheduler has an equal part of the capacity and knows nothing of the others.
 * @param {number} shards
 */
function divide(shards) {
  const sizes = Array.from({ length: shards }, () => 0)
  for (let agent = 0; agent < scenario.agents; agent++) {
    const shard = createHash('sha256').update(String(agent)).digest().readUInt32BE() % shards
    sizes[shard] = (sizes[shard] ?? 0) + 1
  }
  const capacity = Math.max(2, Math.round(scenario.capacity / shards))
  const reports = sizes.map((agents, shard) =>
    simulate({ ...scenario, agents, capacity, seed: scenario.seed + shard }, options.mode),
  )
  const ratios = reports.map(({ ratio }) => ratio)
  const starved = reports.reduce((sum, each) => sum + each.starved, 0)
  const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / shards
  const worst = Math.max(...ratios)
  console.log(
    `\n${shards} schedulers of ${Math.min(...sizes)} to ${Math.max(...sizes)} agents, ${capacity} at a time each`,
  )
  console.log(
    `weighted age / lower bound   ${mean.toFixed(4)} on average, ${worst.toFixed(4)} at worst`,
  )
  console.log(`starved                      ${starved}`)
  return { worst, starved }
}

async function loadSimulator() {
  const { outputFiles } = await build({
    stdin: {
      contents: `
        export { simulate } from './bench/simulator/simulate'
        export { ordinary } from './bench/simulator/population'
        export { computeIndex } from './src/agents/scheduler/explorer-index'`,
      resolveDir: join(root),
      loader: 'ts',
    },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
  })
  return import(
    `data:text/javascript;base64,${Buffer.from(outputFiles[0]?.text ?? '').toString('base64')}`
  )
}

/** @param {'agents' | 'days' | 'capacity' | 'seed' | 'shards'} name */
function readCount(name) {
  const count = Number(options[name])
  if (!Number.isInteger(count) || count < 1) stop(`--${name} is a whole number from 1 on.`)
  return count
}

/** @param {number} value */
function round(value, digits = 0) {
  return Number(value.toFixed(digits))
}

/** @param {number} ratio */
function formatRatio(ratio) {
  if (scenario.agents >= 1_000) return ratio.toFixed(4)
  return `${ratio.toFixed(4)} (the bound knows only how likely failures are: over so few agents and turns chance decides)`
}

/** @param {string} problem @returns {never} */
function stop(problem) {
  console.error(problem)
  process.exit(1)
}
