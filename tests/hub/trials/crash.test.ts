import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import type { Usage } from '../../../src/hub/contract/hub'
import { advanceTrial } from '../../../src/hub/trials/advance-actions'
import type { ActivationId, TrialId } from '../../../src/shared/ids'
import { sampleSize } from '../../support/sample'
import { factsOf } from '../replays/create-replays'
import { usageOf } from '../runs/create-office'
import { createTrials, type StoredLane, type Trials } from './create-trials'

let world: Trials
let runs: ActivationId[]

beforeAll(async () => {
  world = await createTrials()
  runs = (await world.runMany(30)).map(({ id }) => id)
  world.hub.seen.check = () => ({ ok: true, facts: factsOf() })
  world.hub.seen.readJudge = () => ({
    model: 'near/judge',
    costMaxMicrousd: 50,
    isPriced: true,
    tokensMax: 500,
  })
})

/** What happens between two answers of the hub; `lost`: the hub did it, and its answer did not arrive. */
const event = fc.constantFrom(
  ...(['go', 'go', 'go', 'go', 'lost', 'lost', 'dead', 'again', 'sweep', 'twice'] as const),
)
type Event = typeof event extends fc.Arbitrary<infer Value> ? Value : never

/** A lane as its object knows it: what survives a crash. */
interface Known {
  usage: Usage[]
}

/** Lets an object go on with a lane from where it knows to be. */
async function goOn(lane: StoredLane, known: Known, happens: Event): Promise<void> {
  const { open, renew, finish, hub } = world
  if (!(await open(lane.id))) return
  const inputs = lane.lane === 'baseline' ? 'the same' : null
  if (known.usage.length === 0) {
    const answer = await renew(lane.id, [], { inputs })
    // it has the result of an earlier one, of which its object may not hear
    if (answer.kind === 'refused' && happens !== 'lost') await finish(lane.id)
    if (answer.kind !== 'renewed') return
    // it stops after its call, before anybody knows of it
    if (happens === 'dead') return
    known.usage.push(usageOf(lane.lane === 'judge' ? 5 : 10, 1))
    if (happens === 'lost') return void (await renew(lane.id, known.usage, { inputs }))
  }
  const answer =
    lane.lane === 'judge'
      ? JSON.stringify({ says: lane.sample % 2 ? 'second' : 'first', reason: 'Clearer.' })
      : `From the ${lane.lane}.`
  await finish(lane.id, known.usage, { answer })
  // whoever did not hear of it, or of which two objects run, reports it again
  if (happens === 'again') await finish(lane.id, known.usage, { answer })
  if (happens !== 'go') return
  await hub.settle()
}

/** Lets a trial begin, go on and stop at any place, until it has ended. */
async function play(trial: TrialId, events: Event[]): Promise<void> {
  const { hub, lanesOf, sweep } = world
  const known = new Map<string, Known>()
  const next = () => events[turn % events.length] ?? 'go'
  let turn = 0
  for (; turn < 2_000; turn++) {
    const happens = next()
    const lanes = await lanesOf(trial)
    expect(new Set(lanes.map(({ caseId }) => caseId)).size).toBeLessThanOrEqual(4)
    if (lanes.length === 0 || happens === 'sweep') await sweep()
    if (happens === 'twice') {
      await Promise.all([1, 2, 3].map(() => advanceTrial(hub.context(), trial)))
    }
    const row = await world.office.first<{ at: number | null }>(
      'SELECT finished_at AS at FROM trials WHERE id = ?',
      trial,
    )
    if (row?.at) return
    for (const lane of lanes.slice(turn % 3, (turn % 3) + 4)) {
      const own = known.get(lane.id) ?? { usage: [] }
      known.set(lane.id, own)
      await goOn(lane, own, happens)
    }
  }
  throw new Error('the trial does not end')
}

test('P3 P11: whatever stops in between, a trial of 30 cases pays nothing twice and loses nothing, nor does a second one', async () => {
  const { office, createSet, startTrial, readTrial, differences, lanesOf, hub } = world
  const check = async (events: Event[]): Promise<void> => {
    await office.run('DELETE FROM trial_cases')
    await office.run('DELETE FROM trials')
    await office.run('DELETE FROM replay_lanes')
    const set = await createSet(runs)
    const id = (await startTrial(set)) as TrialId
    await play(id, events)
    await hub.settle()
    const trial = await readTrial(id)
    expect(trial).toMatchObject({ status: 'done', better: 30, open: 0, skipped: 0 })
    const lanes = await lanesOf(id, ['done'])
    // one of each kind for each case, and two comparisons
    expect(lanes).toHaveLength(30 * 4)
    const charged = await office.all<{ id: string; calls: number; microusd: number }>(
      `SELECT activation_id AS id, count(*) AS calls, sum(cost_microusd) AS microusd FROM usage_events
       WHERE activation_id IN (SELECT value FROM json_each(?)) GROUP BY activation_id`,
      JSON.stringify(lanes.map((lane) => lane.id)),
    )
    expect(charged).toHaveLength(lanes.length)
    expect(charged.every(({ calls }) => calls === 1)).toBe(true)
    const sum = charged.reduce((total, { microusd }) => total + microusd, 0)
    expect(sum).toBe(30 * (10 + 10 + 5 + 5))
    expect(trial.cost_microusd).toBe(sum)
    expect(trial.promise.cost_max_microusd).toBeGreaterThanOrEqual(sum)
    expect(await differences()).toEqual([])
    const second = (await startTrial(await createSet(runs.slice(0, 8)))) as TrialId
    await play(second, events)
    await hub.settle()
    // of which the baselines were paid by the first
    expect(await readTrial(second)).toMatchObject({
      status: 'done',
      better: 8,
      open: 0,
      skipped: 0,
      reused: 8,
      cost_microusd: 8 * (10 + 5 + 5),
    })
    expect(await differences()).toEqual([])
    expect(hub.seen.logged.filter((line) => line.includes('trial'))).toEqual([])
  }
  await fc.assert(fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 40 }), check), {
    numRuns: sampleSize(1, 12),
  })
})
