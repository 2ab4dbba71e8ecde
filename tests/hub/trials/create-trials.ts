import type { LaneResult } from '../../../src/hub/contract/hub'
import type { ActivationId } from '../../../src/shared/ids'
import { createReplays } from '../replays/create-replays'
import { usageOf } from '../runs/create-office'

/** A lane as it is stored, with the case that it is of. */
export interface StoredLane {
  id: ActivationId
  caseId: string
  lane: 'baseline' | 'candidate' | 'judge'
  sample: number
  state: string
}

/** What a lane reports: by default an answer that costs a little. */
export type Play = (
  lane: StoredLane,
) => Partial<LaneResult> & { cost?: number; inputs?: string | null }

/** A hub with scout, its runs and a set of them, in which tests play what the objects of lanes do. */
export async function createTrials() {
  const world = await createReplays()
  const { hub, hubApi, office, mira, scout, renew, finish } = world
  const open = (laneId: ActivationId) => hubApi.openLane(laneId, hub.clock.now())
  const files = { ...world.files, 'system-prompt.md': 'You are the new scout.' }
  // a definition of scout that was active when the runs were made
  await office.run('UPDATE agents SET definition_version = 1 WHERE account_id = ?', scout.id)

  /** A set with cases of runs, each with its checks. */
  const createSet = async (runs: string[], checks: object[] = [], note = '') => {
    const id = hub.clock.newId()
    await office.run(
      'INSERT INTO case_sets (id, agent_id, name, name_key, created_by, created_at) VALUES (?1, ?2, ?1, ?1, ?3, 0)',
      id,
      scout.id,
      mira.id,
    )
    for (const [at, run] of runs.entries()) {
      await office.run(
        'INSERT INTO cases (id, set_id, activation_id, checks, note, created_by, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
        hub.clock.newId(),
        id,
        run,
        JSON.stringify(checks),
        note,
        mira.id,
        at,
      )
    }
    return id
  }

  const runMany = async (count: number) => {
    const runs: { id: ActivationId; post: string }[] = []
    for (let at = 0; at < count; at++) runs.push(await world.runOnce())
    return runs
  }

  const start = (set: string, body: object = {}, key = mira.key) =>
    hub.call(`/sets/${set}/trials`, { key, body: { files, ...body } })

  /** Starts a trial; its id. */
  const startTrial = async (set: string, body: object = {}) => {
    hub.clock.advance(1)
    const { status, body: answer } = await start(set, body)
    if (status !== 202) throw new Error(JSON.stringify(answer))
    await hub.settle()
    return answer.trial.id as string
  }

  const readTrial = async (id: string, key = mira.key) => {
    const { status, body } = await hub.call(`/trials/${id}`, { key })
    if (status !== 200) throw new Error(JSON.stringify(body))
    return body.trial
  }

  /** The lanes of a trial that have not ended, or all. */
  const lanesOf = (trial: string, states = ['queued', 'running']) =>
    office.all<StoredLane>(
      `SELECT l.id, l.lane, l.sample, l.state, k.id AS caseId FROM trial_cases k
       JOIN replay_lanes l ON l.replay_id = k.replay_id
       WHERE k.trial_id = ? AND l.state IN (SELECT value FROM json_each(?)) ORDER BY l.id`,
      trial,
      JSON.stringify(states),
    )

  const sweep = () => world.hubApi.sweep(hub.clock.now())

  /** Runs a lane from its start to its end. */
  const playLane = async (lane: StoredLane, play: Play) => {
    if (!(await open(lane.id))) return
    const { cost = 10, inputs = null, ...result } = play(lane)
    const answered = await renew(lane.id, [], { inputs })
    if (answered.kind === 'refused' && answered.reason === 'lost') {
      await finish(lane.id, [], { outcome: 'failed', answer: 'Lost.' })
      return hub.settle()
    }
    if (answered.kind !== 'renewed') return
    const answer = lane.lane === 'judge' ? '{"says":"same","reason":"Alike."}' : 'We wait.'
    await finish(lane.id, [usageOf(cost, 1)], { answer, ...result })
    await hub.settle()
  }

  /** Plays all lanes of a trial, until none is open. */
  const playTrial = async (trial: string, play: Play = () => ({})) => {
    for (let turn = 0; turn < 1_000; turn++) {
      const lanes = await lanesOf(trial)
      if (lanes.length === 0) {
        await sweep()
        if ((await lanesOf(trial)).length === 0) return
      }
      for (const lane of lanes.slice(0, 4)) await playLane(lane, play)
    }
    throw new Error('the trial does not end')
  }

  return {
    ...world,
    files,
    createSet,
    runMany,
    start,
    startTrial,
    readTrial,
    lanesOf,
    sweep,
    open,
    playLane,
    playTrial,
  }
}

export type Trials = Awaited<ReturnType<typeof createTrials>>
