import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import type { RenewResult, Usage } from '../../../src/hub/contract/hub'
import type { ActivationId } from '../../../src/shared/ids'
import { sampleSize } from '../../support/sample'
import { usageOf } from '../runs/create-office'
import { createReplays, factsOf, type Replays } from './create-replays'

let world: Replays

beforeAll(async () => {
  world = await createReplays()
})

/** What a lane does in a step: renews and calls, sends an old request again, or ends. */
const step = fc.record({
  lane: fc.nat(3),
  act: fc.constantFrom('call', 'call', 'call', 'crash', 'repeat', 'finish', 'run', 'cancel'),
  share: fc.constantFrom(0, 0.3, 1),
})
const plan = fc.record({
  steps: fc.array(step, { minLength: 4, maxLength: 24 }),
  hub: fc.integer({ min: 0, max: 900 }),
  replay: fc.integer({ min: 0, max: 900 }),
  costMax: fc.integer({ min: 0, max: 300 }),
})

/** A lane as its object knows it: what survives a crash. */
interface Lane {
  id: ActivationId
  usage: Usage[]
  requests: Usage[][]
  isOver: boolean
}

/** Makes the next call of a lane, if it may. Without its report the machine stopped after the call. */
async function call(lane: Lane, share: number, isReported: boolean): Promise<void> {
  const asked = [...lane.usage]
  lane.requests.push(asked)
  const answer: RenewResult = await world.renew(lane.id, asked)
  if (answer.kind === 'refused' && answer.reason === 'lost') lane.isOver = true
  if (answer.kind !== 'renewed') return
  const { microusd, tokens } = answer.reservation
  expect(microusd).toBeGreaterThanOrEqual(10)
  const number = lane.usage.length + 1
  const spent = usageOf(
    Math.round(share * Math.min(microusd, 100)),
    Math.round(share * Math.min(tokens, 10)),
    number,
  )
  lane.usage.push({ ...spent, model: 'near/a' })
  if (isReported) await world.renew(lane.id, lane.usage)
}

const limitsOf = (values: { hub: number; replay: number }) =>
  Promise.all([world.setLimit('hub', values.hub), world.setLimit('replay', values.replay)])

/** No budget that pays has more spent and reserved than its limit. */
async function checkBudgets(values: { hub: number; replay: number }): Promise<void> {
  for (const scope of ['hub', 'replay'] as const) {
    const budget = await world.budgetOf(scope)
    const sum = budget.spent_microusd + budget.reserved_microusd
    expect(sum, `spent and reserved of ${scope}`).toBeLessThanOrEqual(values[scope])
  }
}

type Plan = typeof plan extends fc.Arbitrary<infer Value> ? Value : never
type Act = Plan['steps'][number]['act']

/** Starts a replay with four lanes, all of which run. */
async function startLanes(activationId: ActivationId, costMax: number) {
  const { office, hub, replay, lanesOf, open } = world
  await office.run('DELETE FROM replay_lanes')
  await office.clear()
  hub.seen.check = () => ({ ok: true, facts: factsOf({ runCostMaxMicrousd: costMax }) })
  const { body } = await replay(activationId, { repeats: 3 })
  const rows = await lanesOf(body.replay.id)
  for (const { id } of rows) expect(await open(id)).not.toBeNull()
  const lanes: Lane[] = rows.map(({ id }) => ({ id, usage: [], requests: [], isOver: false }))
  return { replayId: body.replay.id as string, lanes }
}

/** Runs the agent once, if its budgets allow it. */
async function runAgent(share: number): Promise<void> {
  const { office, scout, mira } = world
  await office.post(mira.key, '@scout what now?')
  const activationId = office.newId<ActivationId>()
  const loaded = await office.load(scout.id, activationId)
  if (loaded.kind !== 'loaded') return
  const most = loaded.admission === 'granted' ? loaded.reservation.microusd : 0
  const usage = most > 0 ? [usageOf(Math.round(share * Math.min(most, 100)), 1)] : []
  await office.commit(scout.id, activationId, { usage })
}

/** What each step does to a lane. */
const acts: Record<Act, (lane: Lane, share: number, replayId: string) => Promise<unknown>> = {
  call: async (lane, share) => lane.isOver || call(lane, share, true),
  crash: async (lane, share) => lane.isOver || call(lane, share, false),
  repeat: async (lane, share) => {
    const old = lane.requests[Math.floor(share * (lane.requests.length - 1))]
    if (old) await world.renew(lane.id, old)
  },
  finish: async (lane) => {
    await world.finish(lane.id, lane.usage)
    lane.isOver = true
  },
  run: (_, share) => runAgent(share),
  cancel: (_lane, _share, replayId) =>
    world.hub.call(`/replays/${replayId}/cancel`, { key: world.mira.key, method: 'POST' }),
}

/** Each call that a lane reported was charged once, none is reserved, and the promise holds. */
async function checkLanes(replayId: string, lanes: Lane[], costMax: number): Promise<number> {
  const rows = await world.lanesOf(replayId)
  expect(rows.map(({ reserved }) => reserved)).toEqual([0, 0, 0, 0])
  let charged = 0
  for (const { id, cost } of rows) {
    const usage = lanes.find((lane) => lane.id === id)?.usage ?? []
    const events = await world.office.all<{ call: number; microusd: number }>(
      'SELECT call, cost_microusd AS microusd FROM usage_events WHERE activation_id = ? ORDER BY call',
      id,
    )
    // a lane that was cancelled has ended before its last call was reported
    expect(events).toEqual(
      usage
        .slice(0, events.length)
        .map((each) => ({ call: each.call, microusd: each.costMicrousd })),
    )
    expect(events.length).toBeGreaterThanOrEqual(usage.length - 1)
    expect(cost).toBe(events.reduce((sum, { microusd }) => sum + microusd, 0))
    // the most that a run may cost, and one call more
    expect(cost).toBeLessThanOrEqual(costMax + 100)
    charged += events.length
  }
  return charged
}

test('P8: whatever lanes and runs do, no budget is overspent and each call is charged once', async () => {
  const observed = await world.runOnce()
  let charged = 0
  const play = async ({ steps, costMax, ...limits }: Plan): Promise<void> => {
    const { replayId, lanes } = await startLanes(observed.id, costMax)
    await limitsOf(limits)
    for (const { lane: at, act, share } of steps) {
      await acts[act](lanes[at] as Lane, share, replayId)
      await checkBudgets(limits)
    }
    for (const lane of [...lanes, ...lanes]) await world.finish(lane.id, lane.usage)
    await checkBudgets(limits)
    charged += await checkLanes(replayId, lanes, costMax)
    expect(await world.differences()).toEqual([])
  }
  await fc.assert(fc.asyncProperty(plan, play), { numRuns: sampleSize(6, 60) })
  expect(charged).toBeGreaterThan(0)
})

test('P8: whoever asked pays the whole, and the owner of the agent, from budgets of their own', async () => {
  const { hub, office, runOnce, replay, lanesOf, open, renew, finish, scout, mira } = world
  await office.run('DELETE FROM replay_lanes')
  await office.clear()
  hub.seen.check = () => ({ ok: true, facts: factsOf() })
  const observed = await runOnce(world.ada.key)
  const { body } = await replay(observed.id)
  const lane = (await lanesOf(body.replay.id))[0]?.id as ActivationId
  await open(lane)
  await renew(lane)
  await finish(lane, [usageOf(30, 3)])
  const stored = await office.first<{ requesters: string; payers: string }>(
    'SELECT requesters, payers FROM replay_lanes WHERE id = ?',
    lane,
  )
  expect(JSON.parse(stored?.requesters ?? '')).toEqual([mira.id])
  expect(Object.keys(JSON.parse(stored?.payers ?? ''))).toEqual([mira.id])
  const event = await office.first<{ task: string; agent: string }>(
    'SELECT task, account_id AS agent FROM usage_events WHERE activation_id = ?',
    lane,
  )
  expect(event).toEqual({ task: 'replay', agent: scout.id })
})
