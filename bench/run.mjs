// npm run bench [-- --quick] [--posts N] [--json FILE] [--peers COMMAND]
//
// Prints one table. CPU is that of the workerd process (user and system), because wall time follows
// the neighbours. `--posts` is how many posts the hub of the `request.*` rows has. `--peers` runs a command
// that prints JSON lines `{ name, cpu_ms_per_activation }` or `{ name, cpu_ms_per_agent, kb_per_agent }` of
// other systems on the same work, and puts them beside our rows, measured in the same run.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { measureActivation } from './activation.mjs'
import { measureFeed } from './feed.mjs'
import { measureGateway } from './gateway.mjs'
import { measureMachine } from './machine.mjs'
import { measurePick } from './pick.mjs'
import { measureRequests } from './requests.mjs'
import { measureStability } from './stability.mjs'
import { measureBundle, measureStartup } from './start-up.mjs'
import { measureWhole } from './whole.mjs'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    posts: { type: 'string', default: '1000' },
    json: { type: 'string' },
    peers: { type: 'string' },
  },
})

const scale = options.quick ? 0.2 : 1
const measures = [
  () => measureActivation(scale),
  () => measureGateway(scale),
  () => measureWhole(scale),
  () => measureStability(),
  () => measureFeed(),
  () => measureRequests(scale, Number(options.posts)),
  () => measurePick(scale),
  () => measureBundle(),
  () => measureStartup(options.quick ? 1 : 3),
  () => measureMachine(),
]

/** @typedef {{ name: string, value: number, unit: string }} Row */
/** @type {Row[]} */
const rows = []
/** @param {Row} row */
function addRow(row) {
  rows.push(row)
  console.log(`${row.name.padEnd(34)} ${String(row.value).padStart(10)} ${row.unit}`)
}

for (const measure of measures) {
  for (const row of await measure()) addRow(row)
}

if (options.peers) {
  const [command = '', ...args] = options.peers.split(' ')
  const output = execFileSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 24 })
  for (const line of output.split('\n').filter((text) => text.startsWith('{'))) {
    const { name, kb_per_agent: kb, ...cost } = JSON.parse(line)
    const cpu = cost.cpu_ms_per_activation ?? cost.cpu_ms_per_agent
    if (cpu !== undefined) addRow({ name: `peer.${name}.cpu_ms`, value: cpu, unit: 'ms' })
    if (kb !== undefined) addRow({ name: `peer.${name}.kb`, value: kb, unit: 'KB' })
  }
}

if (options.json) writeFileSync(options.json, `${JSON.stringify(rows, null, 2)}\n`)
