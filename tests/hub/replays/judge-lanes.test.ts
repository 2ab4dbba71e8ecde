import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { JudgeOrder } from '../../../src/hub/contract/hub'
import { readJudgement } from '../../../src/hub/trials/verdicts'
import type { ActivationId } from '../../../src/shared/ids'
import { usageOf } from '../runs/create-office'
import { createReplays, type Replays } from './create-replays'

let world: Replays
let run: { id: ActivationId; post: string }
/** Lanes of the judge, by sample. */
let judges: ActivationId[]
let lanes: { baseline: ActivationId; candidate: ActivationId }

beforeAll(async () => {
  world = await createReplays()
})

/** A case of a trial whose definitions have both answered, with two lanes of a judge. */
beforeEach(async () => {
  const { office, mira, scout, hub, replay, lanesOf, open, finish } = world
  hub.seen.listReads = () => ({ posts: [], comments: [] })
  await office.run('DELETE FROM trial_cases')
  // so that others may run
  await office.run(`UPDATE replay_lanes SET state = 'done'`)
  run = await world.runOnce()
  const { body } = await replay(run.id, { files: world.files })
  const replayId = body.replay.id
  const [baseline, candidate] = (await lanesOf(replayId)).map(({ id }) => id)
  lanes = { baseline: baseline as ActivationId, candidate: candidate as ActivationId }
  await open(lanes.baseline)
  await finish(lanes.baseline, [], { answer: 'As @scout I say March. near/a said so, and Near A.' })
  await open(lanes.candidate)
  await finish(lanes.candidate, [], { answer: 'SCOUT: in April.' })
  await office.run(`UPDATE replay_lanes SET models = '["near/model-a"]' WHERE id = ?`, baseline)
  await office.run(
    `INSERT OR IGNORE INTO case_sets (id, agent_id, name, name_key, created_by, created_at) VALUES ('set', ?, 'Set', 'set', ?, 0)`,
    scout.id,
    mira.id,
  )
  await office.run(
    `INSERT OR IGNORE INTO trials (id, set_id, agent_id, requested_by, draft, baseline_version, repeats, judge, limits,
       cost_max_microusd, runs_month, created_at) VALUES ('trial', 'set', ?, ?, '{}', 1, 1, 'near/judge', '{}', 0, 0, 0)`,
    scout.id,
    mira.id,
  )
  await office.run(
    `INSERT INTO trial_cases (id, trial_id, activation_id, position, checks, note, replay_id, state)
     VALUES ('case', 'trial', ?, 1, '[]', 'It was April.', ?, 'judging')`,
    run.id,
    replayId,
  )
  judges = [1, 2].map(() => office.newId<ActivationId>())
  for (const [at, id] of judges.entries()) {
    await office.run(
      `INSERT INTO replay_lanes (id, replay_id, activation_id, lane, sample, state, agent_id, requesters, grants,
        duration_ms_max, tokens_max, cost_max_microusd)
       VALUES (?, ?, ?, 'judge', ?, 'queued', ?, json_array(?), '[]', 600000, 1000, 500)`,
      id,
      replayId,
      run.id,
      at + 1,
      scout.id,
      mira.id,
    )
  }
})

const order = async (sample: 1 | 2): Promise<JudgeOrder> => {
  const { hubApi, hub } = world
  const opened = await hubApi.openLane(judges[sample - 1] as ActivationId, hub.clock.now())
  if (opened?.lane !== 'judge') throw new Error('no lane of a judge')
  return opened
}

test('P6: a judge is shown the answers in both orders, with the note and the model of the trial', async () => {
  const [one, other] = [await order(1), await order(2)]
  expect(one).toMatchObject({
    model: 'near/judge',
    note: 'It was April.',
    problem: null,
    costMaxMicrousd: 500,
  })
  expect(one.first).toContain('March')
  expect(one.second).toContain('April')
  expect([other.first, other.second]).toEqual([one.second, one.first])
})

test('P6: the answers do not name the agent or its models', async () => {
  const { office } = world
  await office.run(
    `UPDATE replay_lanes SET answer = 'I am @Scout on near/model-a, Model A by name; scouting.' WHERE id = ?`,
    lanes.candidate,
  )
  const { second } = await order(1)
  expect(second).toBe('I am the agent on the model, the model by name; scouting.')
})

test('P6: what a judge said is stored once, masked and charged, without a record', async () => {
  const { office, renew, finish, hub, hubApi } = world
  const lane = judges[0] as ActivationId
  await order(1)
  const renewed = await renew(lane, [], { model: 'near/judge' })
  expect(renewed).toMatchObject({ kind: 'renewed', reservation: { microusd: 100 } })
  const key = `sk-ant-api03-${'a1B2'.repeat(12)}`
  const answer = JSON.stringify({ says: 'second', reason: `It repeats ${key}.` })
  for (const says of [answer, '{"says":"first","reason":""}']) {
    await finish(lane, [{ ...usageOf(30, 3), model: 'near/judge' }], { answer: says, record: '' })
  }
  const stored = await office.first<{ answer: string; state: string; cost: number }>(
    'SELECT answer, state, cost_microusd AS cost FROM replay_lanes WHERE id = ?',
    lane,
  )
  expect(stored).toMatchObject({ state: 'done', cost: 30 })
  const judgement = readJudgement(stored?.answer ?? '')
  expect(judgement.says).toBe('second')
  expect(judgement.reason).not.toContain(key)
  const records = await office.all('SELECT 1 FROM activation_traces WHERE activation_id = ?', lane)
  expect(records).toEqual([])
  expect(await hubApi.openLane(lane, hub.clock.now())).toBeNull()
})

test('P6: no model compares the answers of a run with an account that its requester connected', async () => {
  await world.office.run('UPDATE activations SET uses_own_account = 1 WHERE id = ?', run.id)
  expect((await order(1)).problem).toContain('account that its requester connected')
})

test('P6: nothing is compared when one lane did not end', async () => {
  await world.office.run(`UPDATE replay_lanes SET state = 'failed' WHERE id = ?`, lanes.candidate)
  expect((await order(2)).problem).toContain('did not end')
})

test('P1: a lane that opens after a text of its run was deleted says so', async () => {
  const { hub, mira, replay, lanesOf, open } = world
  const { body } = await replay(run.id)
  const [lane] = await lanesOf(body.replay.id)
  expect((await order(1)).problem).toBeNull()
  expect((await open(lane?.id as ActivationId))?.problem).toBeNull()
  const { status } = await hub.call(`/posts/${run.post}`, { key: mira.key, method: 'DELETE' })
  expect(status).toBe(200)
  expect((await order(1)).problem).toContain('deleted')
  expect((await open(lane?.id as ActivationId))?.problem).toContain('deleted')
})

test('P1: so does one of whose tools read a text that is gone or cannot be read now', async () => {
  const { hub, ada, mira } = world
  await hub.call('/communities', { key: ada.key, body: { name: 'vault', visibility: 'private' } })
  const write = async (key: string, community: string) => {
    const post = { community, title: 'Read by a tool', content: 'Herons.' }
    return (await hub.call('/posts', { key, body: post })).body.post.id as string
  }
  const open = await write(mira.key, 'general')
  const secret = await write(ada.key, 'vault')
  hub.seen.listReads = () => ({ posts: [open], comments: [] })
  expect((await order(1)).problem).toBeNull()
  hub.seen.listReads = () => ({ posts: [open, secret], comments: [] })
  expect((await order(1)).problem).toContain('cannot be read')
})
