import { afterAll, beforeAll, expect, test } from 'vitest'
import { sample } from '../../support/sample.ts'
import { type CodingHub, startCodingHub } from './coding-hub.ts'
import { createRandom, killOnce, planKill, prepareKills } from './random-kills.ts'

// `npm run coding-agents:kills` tries many more.
const seed = 18
let hub: CodingHub

beforeAll(async () => {
  hub = await startCodingHub()
  await prepareKills(hub)
})
afterAll(() => hub.close())

test('X1 X9: whatever is killed at a random moment, there is one reply, the money adds up, and no process is left', async () => {
  const random = createRandom(seed)
  const planned = [0, 1, 2, 3, 4].map((at) => planKill(at, random))
  const kinds = planned.map(({ victim }) => victim)
  expect(kinds).toEqual(['runner', 'hub', 'line', 'runner and hub', 'runner for good'])
  const problems: string[] = []
  // The last one waits a minute.
  for (const plan of sample(planned.slice(0, -1), 2)) {
    const { victim, afterMs, problems: found } = await killOnce(hub, plan)
    problems.push(...found.map((problem) => `${victim} after ${afterMs} ms: ${problem}`))
  }
  expect(problems).toEqual([])
})
