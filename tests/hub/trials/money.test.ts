import { beforeAll, expect, test } from 'vitest'
import { adminKey } from '../create-test-hub'
import { factsOf } from '../replays/create-replays'
import { createTrials, type Play, type Trials } from './create-trials'

let world: Trials
let runs: string[]

beforeAll(async () => {
  world = await createTrials()
  runs = (await world.runMany(3)).map(({ id }) => id)
})

const judge = { model: 'near/judge', costMaxMicrousd: 40, isPriced: true, tokensMax: 500 }

test('P8: a trial never costs more than its promise, and its budgets are charged exactly that', async () => {
  const { hub, createSet, startTrial, playTrial, readTrial, budgetOf, differences } = world
  hub.seen.check = () => ({ ok: true, facts: factsOf({ runCostMaxMicrousd: 60 }) })
  hub.seen.readJudge = () => judge
  const before = (await budgetOf('replay')).spent_microusd
  const id = await startTrial(await createSet(runs), { repeats: 2 })
  // all that a lane reserves, which its promise bounds
  const greedy: Play = (lane) => ({
    cost: lane.lane === 'judge' ? 40 : 100,
    answer: lane.lane === 'judge' ? '{"says":"first","reason":""}' : lane.lane,
  })
  await playTrial(id, greedy)
  const trial = await readTrial(id)
  // both definitions, twice each of three, and four comparisons of each
  expect(trial.promise.cost_max_microusd).toBe(3 * (4 * 160 + 4 * 40))
  expect(trial.cost_microusd).toBe(3 * (4 * 100 + 4 * 40))
  expect((await budgetOf('replay')).spent_microusd).toBe(before + trial.cost_microusd)
  expect((await budgetOf('replay')).reserved_microusd).toBe(0)
  expect(trial.cost_month_microusd).toEqual({ baseline: 300, candidate: 300 })
  expect(await differences()).toEqual([])
})

test('P8: what a lane may cost is what was promised, although prices have changed since', async () => {
  const { hub, createSet, startTrial, lanesOf, playLane, office } = world
  hub.seen.check = () => ({ ok: true, facts: factsOf({ runCostMaxMicrousd: 60 }) })
  const more = (await world.runMany(3)).map(({ id }) => id)
  const id = await startTrial(await createSet([...runs, ...more]))
  hub.seen.check = () => ({ ok: true, facts: factsOf({ runCostMaxMicrousd: 9_000 }) })
  for (const lane of await lanesOf(id)) await playLane(lane, () => ({}))
  const most = await office.first<{ most: number; count: number }>(
    `SELECT max(cost_max_microusd) AS most, count(*) AS count FROM replay_lanes
     WHERE replay_id IN (SELECT replay_id FROM trial_cases WHERE trial_id = ?)`,
    id,
  )
  expect(most?.count).toBeGreaterThan(8)
  expect(most?.most).toBe(160)
  await hub.call(`/trials/${id}/cancel`, { key: adminKey, method: 'POST' })
})

test('P8: without money the cases end as what nobody can tell, and the trial ends', async () => {
  const { hub, createSet, startTrial, lanesOf, open, renew, finish, readTrial, setLimit } = world
  hub.seen.check = () => ({ ok: true, facts: factsOf() })
  hub.seen.readJudge = () => null
  const id = await startTrial(await createSet(runs))
  await setLimit('replay', 0)
  for (let turn = 0; turn < 6; turn++) {
    const [lane] = await lanesOf(id)
    if (!lane) break
    await open(lane.id)
    expect((await renew(lane.id)).kind).toBe('refused')
    await finish(lane.id, [], { answer: '', incomplete: 'Its budget is used up.' })
    await hub.settle()
  }
  await setLimit('replay', 2_000_000)
  expect(await readTrial(id)).toMatchObject({
    status: 'done',
    cannot_tell: 3,
    cost_microusd: 0,
    claim: 'cannot_tell',
  })
})
