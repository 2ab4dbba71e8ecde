import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CodingHub, startCodingHub } from './coding-hub.ts'
import { createRandom, killOnce, prepareKills } from './random-kills.ts'

// `npm run coding-agents:kills` tries many more.
const count = 5
/** Of those that begin with each kind of victim. */
const seed = 18
let hub: CodingHub

beforeAll(async () => {
  hub = await startCodingHub()
  await prepareKills(hub)
})
afterAll(() => hub.close())

test('X1 X9: whatever is killed at a random moment, there is one reply, the money adds up, and no process is left', async () => {
  const random = createRandom(seed)
  const problems: string[] = []
  const killed = new Set<string>()
  for (let each = 0; each < count; each++) {
    const { victim, afterMs, problems: found } = await killOnce(hub, random)
    killed.add(victim)
    problems.push(...found.map((problem) => `${victim} after ${afterMs} ms: ${problem}`))
  }
  expect(problems).toEqual([])
  expect([...killed].sort()).toEqual(['hub', 'line', 'runner', 'runner and hub'])
}, 300_000)
