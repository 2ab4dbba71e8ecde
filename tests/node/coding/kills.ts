// `npm run coding-agents:kills -- --count 300 --seed 1`: kills runner, hub and connections at random moments.
import { parseArgs } from 'node:util'
import { startCodingHub } from './coding-hub.ts'
import { createRandom, killOnce, planKill, prepareKills } from './random-kills.ts'

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
let isStopping = false
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    isStopping = true
  })
}
const random = createRandom(Number(values.seed))
const hub = await startCodingHub()
const kinds = new Map<string, number>()
let played = 0
let failed = 0
let more = 0
try {
  await prepareKills(hub)
  for (let count = 1; count <= Number(values.count) && !isStopping; count++) {
    const { victim, afterMs, attempts, problems } = await killOnce(hub, planKill(count - 1, random))
    played = count
    kinds.set(victim, (kinds.get(victim) ?? 0) + 1)
    if (problems.length > 0) failed++
    if (attempts.some((attempt) => attempt > 1)) more++
    const result = problems.length === 0 ? 'ok' : problems.join('; ')
    console.log(
      `${count}: ${victim} after ${afterMs} ms, attempts ${attempts.join(' ')}: ${result}`,
    )
  }
} catch (error) {
  // A signal from the keyboard ends the hub too.
  if (!isStopping) throw error
} finally {
  await hub.close()
}
console.log([...kinds].map(([kind, times]) => `${kind}: ${times}`).join(', '))
console.log(
  `${played} kills with seed ${values.seed}: ${more} led to a new attempt, ${failed} failed.`,
)
process.exitCode = failed === 0 ? 0 : 1
