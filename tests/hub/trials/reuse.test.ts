import { beforeAll, beforeEach, expect, test } from 'vitest'
import { replayLimits } from '../../../src/shared/config'
import type { ActivationId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { factsOf } from '../replays/create-replays'
import { createTrials, type Play, type StoredLane, type Trials } from './create-trials'

let world: Trials
/** Of this test alone. */
let runs: { id: ActivationId; post: string }[]

beforeAll(async () => {
  world = await createTrials()
})

beforeEach(async () => {
  const { hub } = world
  hub.seen.check = () => ({ ok: true, facts: factsOf() })
  hub.seen.listReads = () => ({ posts: [], comments: [] })
  hub.seen.readJudge = () => null
  runs = await world.runMany(2)
})

const idsOfRuns = () => runs.map(({ id }) => id)

/** Tries a draft: the active definition says something else each time that it runs. */
let said = 0
const playing =
  (fields: (lane: StoredLane) => ReturnType<Play> = () => ({})): Play =>
  (lane) => ({
    ...(lane.lane === 'baseline' && { inputs: 'the same', cost: 30, durationMs: 3_000 }),
    answer: `${lane.lane} ${++said}`,
    ...fields(lane),
  })

async function tryOut(set: string, play: Play = playing(), body: object = {}): Promise<string> {
  const id = await world.startTrial(set, body)
  await world.playTrial(id, play)
  return id
}

interface Result {
  id: string
  reused: string | null
  answer: string
  cost: number
  trace: string | null
}

/** The baselines of a trial, by case and sample. */
const baselinesOf = (trial: string) =>
  world.office.all<Result>(
    `SELECT l.id, l.reused_from AS reused, l.answer, l.cost_microusd AS cost, t.trace FROM trial_cases k
     JOIN replay_lanes l ON l.replay_id = k.replay_id AND l.lane = 'baseline'
     LEFT JOIN activation_traces t ON t.activation_id = l.id
     WHERE k.trial_id = ? AND l.state = 'done' ORDER BY k.position, l.sample`,
    trial,
  )

test('P3: a second draft has the baselines of the first, which are paid once', async () => {
  const { createSet, readTrial, read, mira, budgetOf, differences, scout, office } = world
  const set = await createSet(idsOfRuns())
  const one = await tryOut(set)
  const before = (await budgetOf('replay')).spent_microusd
  const other = await tryOut(set)
  const [first, second] = [await readTrial(one), await readTrial(other)]
  const { length } = await office.all('SELECT id FROM activations WHERE agent_id = ?', scout.id)
  const expected = {
    cost_month_microusd: { baseline: 30 * length, candidate: 10 * length },
    duration_ms: { baseline: { p50: 3_000, p95: 3_000 }, candidate: { p50: 1_000, p95: 1_000 } },
  }
  expect(first).toMatchObject({ ...expected, cost_microusd: 2 * 40, reused: 0, status: 'done' })
  expect(second).toMatchObject({ ...expected, cost_microusd: 2 * 10, reused: 2, status: 'done' })
  expect((await budgetOf('replay')).spent_microusd).toBe(before + 2 * 10)
  expect(await differences()).toEqual([])
  expect(second.cases.map(({ baseline }: { baseline: object }) => baseline)).toEqual(
    first.cases.map(({ baseline }: { baseline: object }) => baseline),
  )
  const [own, reused] = await Promise.all(
    [first, second].map(async ({ cases }) => (await read(cases[0].replay_id)).body.replay),
  )
  const laneOf = ({ lanes }: typeof own, lane: string) =>
    lanes.find((each: { lane: string }) => each.lane === lane)
  expect(laneOf(reused, 'baseline')).toEqual({
    ...laneOf(own, 'baseline'),
    is_reused: true,
    earlier_replay_id: own.id,
  })
  expect(reused).toMatchObject({ status: 'done', cost_microusd: 10, is_complete: true })
  expect(laneOf(reused, 'candidate')).toMatchObject({ is_reused: false, earlier_replay_id: null })
  expect(mira.id).not.toBe(scout.id)
})

test('P3 P9: samples of a trial are different lanes: with two to reuse, a third runs', async () => {
  const { createSet } = world
  const set = await createSet(idsOfRuns())
  const two = await baselinesOf(await tryOut(set, playing(), { repeats: 2 }))
  const three = await baselinesOf(await tryOut(set, playing(), { repeats: 3 }))
  const firstCase = three.slice(0, 3)
  expect(firstCase.filter(({ reused }) => reused !== null)).toHaveLength(2)
  expect(new Set(firstCase.map(({ answer }) => answer)).size).toBe(3)
  const ids = two.map(({ id }) => id)
  expect(three.flatMap(({ reused }) => reused ?? []).sort()).toEqual(ids.sort())
  // of those three that ran themselves
  const again = await baselinesOf(await tryOut(set, playing(), { repeats: 3 }))
  expect(again.every(({ reused }) => reused !== null)).toBe(true)
  expect(new Set(again.map(({ reused }) => reused)).size).toBe(6)
})

test('P3 P6: a judge compares the answer that is reused', async () => {
  const { hub, createSet, startTrial, lanesOf, open, playLane, playTrial } = world
  const set = await createSet(idsOfRuns().slice(0, 1))
  await tryOut(set)
  const model = { model: 'near/judge', costMaxMicrousd: 50, isPriced: true, tokensMax: 500 }
  hub.seen.readJudge = () => model
  const id = await startTrial(set)
  for (const lane of await lanesOf(id)) await playLane(lane, playing())
  const lane = (await lanesOf(id)).find(({ sample }) => sample === 1)
  const order = await open(lane?.id as ActivationId)
  const [baseline] = await baselinesOf(id)
  expect(order).toMatchObject({ lane: 'judge', first: baseline?.answer, problem: null })
  expect(baseline?.reused).not.toBeNull()
  await playTrial(id)
})

const ofBaseline =
  (fields: ReturnType<Play>): Play =>
  (lane) =>
    playing(({ lane: name }) => (name === 'baseline' ? fields : {}))(lane)

test.each<[string, ReturnType<Play>, ReturnType<Play>]>([
  ['what decides it has changed', {}, { inputs: 'other' }],
  ['it was incomplete', { incomplete: 'A tool was not recorded.' }, {}],
  ['it failed', { outcome: 'failed' }, {}],
  ['it was cancelled', { outcome: 'cancelled' }, {}],
  ['a budget ended it', { outcome: 'budget_exhausted' }, {}],
  ['nobody knows what decided it', { inputs: null }, {}],
])('P3: a baseline runs itself when of the earlier one %s', async (_, earlier, later) => {
  const set = await world.createSet(idsOfRuns())
  await tryOut(set, ofBaseline(earlier))
  const ran = await baselinesOf(await tryOut(set, ofBaseline(later)))
  expect(ran.map(({ reused }) => reused)).toEqual([null, null])
})

test('P3: of another run, version, requester or week none is reused', async () => {
  const { hub, office, createSet, start, playTrial, files, scout, mira } = world
  const [one, two] = runs
  await tryOut(await createSet([one?.id ?? '']))
  const isReused = async (trial: string) =>
    (await baselinesOf(trial)).map(({ reused }) => reused !== null)
  expect(await isReused(await tryOut(await createSet([two?.id ?? ''])))).toEqual([false])
  // a run and its version, in another set
  const set = await createSet(idsOfRuns())
  hub.clock.advance(1)
  const { body } = await start(set, {}, adminKey)
  await hub.settle()
  await playTrial(body.trial.id, playing())
  expect(await isReused(body.trial.id)).toEqual([false, false])
  await office.run(
    `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 2, 'etag2', ?, 0)`,
    scout.id,
    mira.id,
  )
  hub.seen.kept.push({ name: 'scout', etag: 'etag2', files })
  await office.run('UPDATE agents SET definition_version = 2 WHERE account_id = ?', scout.id)
  expect(await isReused(await tryOut(set))).toEqual([false, false])
  await office.run('UPDATE agents SET definition_version = 1 WHERE account_id = ?', scout.id)
  expect(await isReused(await tryOut(set))).toEqual([true, true])
  hub.clock.advance(replayLimits.reuseMs)
  expect(await isReused(await tryOut(set))).toEqual([false, false])
})

test('P2 P3: none is reused that read what its requester cannot read now', async () => {
  const { hub, office, createSet, mira, ada } = world
  const found = await office.post(ada.key, 'What the search found.')
  const set = await createSet(idsOfRuns())
  const record = '{"version":1,"found":true}'
  await tryOut(set, ofBaseline({ record }))
  hub.seen.listReads = (stored) => ({
    posts: stored === record ? [found] : [],
    comments: [],
  })
  const reusedIn = async () => (await baselinesOf(await tryOut(set))).map(({ reused }) => reused)
  expect((await reusedIn()).every((id) => id !== null)).toBe(true)
  expect((await hub.call(`/posts/${found}`, { key: ada.key, method: 'DELETE' })).status).toBe(200)
  expect(await reusedIn()).toEqual([null, null])
  expect(mira.id).not.toBe(ada.id)
})

test('P3: a lane whose rights change while it runs is of no use to others', async () => {
  const { createSet, startTrial, lanesOf, open, renew, finish, hub } = world
  const set = await createSet(idsOfRuns().slice(0, 1))
  const id = await startTrial(set)
  const lane = (await lanesOf(id)).find(({ lane }) => lane === 'baseline')?.id as ActivationId
  await open(lane)
  expect((await renew(lane, [], { inputs: 'then' })).kind).toBe('renewed')
  // an object that stopped, and opened its lane again
  expect((await renew(lane, [], { inputs: 'now' })).kind).toBe('renewed')
  await finish(lane)
  await hub.settle()
  await world.playTrial(id, ofBaseline({ inputs: 'then' }))
  const next = await baselinesOf(await tryOut(set, ofBaseline({ inputs: 'then' })))
  expect(next.map(({ reused }) => reused)).toEqual([null])
})

test('P1 P3: a lane that has begun does not take the result of another', async () => {
  const { createSet, startTrial, lanesOf, open, renew } = world
  const set = await createSet(idsOfRuns().slice(0, 1))
  await tryOut(set, ofBaseline({ inputs: 'later' }))
  const id = await startTrial(set)
  const lane = (await lanesOf(id)).find(({ lane }) => lane === 'baseline')?.id as ActivationId
  await open(lane)
  await renew(lane, [], { inputs: 'first' })
  expect((await renew(lane, [], { inputs: 'later' })).kind).toBe('renewed')
  await world.playTrial(id, playing())
})

test('P1 P3: a result outlives the set where it was made, and goes with the words that it has', async () => {
  const { hub, createSet, office, read, mira } = world
  const zoe = await hub.join('zoe', 'human')
  const set = await createSet(idsOfRuns())
  const other = await createSet(idsOfRuns())
  const record = '{"version":1,"by":"@zoe"}'
  await tryOut(set, ofBaseline({ record }))
  const id = await tryOut(other)
  const before = await baselinesOf(id)
  expect(before.every(({ reused, trace }) => reused !== null && trace === record)).toBe(true)
  const gone = await hub.call(`/sets/${set}`, { key: mira.key, method: 'DELETE' })
  expect(gone.status).toBeLessThan(300)
  expect(await baselinesOf(id)).toEqual(before)
  const [replay] = (await world.readTrial(id)).cases.map(
    (each: { replay_id: string }) => each.replay_id,
  )
  const { lanes } = (await read(replay)).body.replay
  expect(lanes[1]).toMatchObject({ is_reused: true, earlier_replay_id: null })
  // what was deleted is no source
  const fresh = await createSet(idsOfRuns())
  expect((await baselinesOf(await tryOut(fresh))).map(({ reused }) => reused)).toEqual([null, null])
  const deleted = await hub.call('/accounts/zoe?words=remove', { key: adminKey, method: 'DELETE' })
  expect(deleted.status).toBe(200)
  expect(await baselinesOf(id)).toEqual([])
  expect(
    await office.all('SELECT answer FROM replay_lanes WHERE answer = ?', before[0]?.answer ?? ''),
  ).toEqual([])
  expect(zoe.id).not.toBe(mira.id)
})
