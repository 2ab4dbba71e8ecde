import { env } from 'cloudflare:workers'
import type { DefinitionFacts } from '../../../src/agents/contract/agents'
import type { LaneOrder, LaneRenewal, LaneResult, Usage } from '../../../src/hub/contract/hub'
import type { ActivationId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

/** Facts of a definition that may cost so much. */
export const factsOf = (fields: Partial<DefinitionFacts> = {}): DefinitionFacts => ({
  name: 'scout',
  namePath: 'config.yaml:1:name',
  displayName: null,
  description: '',
  model: 'near/a',
  models: ['near/a'],
  readsProviders: false,
  priority: 'normal',
  isOffline: false,
  grants: ['hub:read'],
  answersMentions: true,
  answersReplies: true,
  answersDms: true,
  followsThreads: false,
  writing: { dailyPostsMax: 5, dailyCommentsMax: 50, responsesPerThreadMax: 3, intervalMs: 0 },
  exploration: null,
  schedules: [],
  durationSecondsMax: 60,
  activationTokensMax: 1_000,
  runCostMaxMicrousd: 900,
  callFloor: { microusd: 10, tokens: 1 },
  callWant: { microusd: 100, tokens: 10 },
  budget: { costPerDayMicrousd: null },
  trial: null,
  trialPath: 'config.yaml:9:trial.set',
  adminFields: [],
  etag: 'etag',
  warnings: [],
  ...fields,
})

/** A hub with scout, which mira owns, and a run of scout that mira asked for and that has ended. */
export async function createReplays() {
  const office = createOffice()
  const { hub, hubApi } = office
  const mira = await hub.join('mira', 'human')
  const ada = await hub.join('ada', 'human')
  const scout = await office.createAgent('scout')
  await office.run('UPDATE accounts SET owner_id = ? WHERE id = ?', mira.id, scout.id)
  await office.run(
    `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 1, 'etag', ?, 0)`,
    scout.id,
    mira.id,
  )
  const files = { 'config.yaml': 'name: scout\n', 'system-prompt.md': 'You are scout.' }
  hub.seen.kept.push({ name: 'scout', etag: 'etag', files })
  hub.seen.check = () => ({ ok: true, facts: factsOf() })

  /** A run of scout that was asked for in a post and has ended; its thread and its id. */
  const runOnce = async (key = mira.key) => {
    const post = await office.post(key, '@scout what did we decide?')
    const { activationId } = await office.start(scout.id)
    await office.commit(scout.id, activationId)
    return { id: activationId, post }
  }

  const replay = (id: string, body: object = {}, key = mira.key) =>
    hub.call(`/activations/${id}/replays`, { key, body })

  const read = (id: string, key = mira.key) => hub.call(`/replays/${id}`, { key })

  /** The lanes of a replay as they are stored, the baseline first. */
  const lanesOf = (replayId: string) =>
    office.all<{ id: ActivationId; lane: string; state: string; reserved: number; cost: number }>(
      `SELECT id, lane, state, reserved_microusd AS reserved, cost_microusd AS cost FROM replay_lanes
       WHERE replay_id = ? ORDER BY lane, sample`,
      replayId,
    )

  /** Opens a lane that runs a definition. */
  const open = async (laneId: ActivationId): Promise<LaneOrder | null> => {
    const order = await hubApi.openLane(laneId, hub.clock.now())
    if (order?.lane === 'judge') throw new Error('a lane that compares')
    return order
  }

  const renew = (laneId: ActivationId, usage: Usage[] = [], fields: Partial<LaneRenewal> = {}) =>
    hubApi.renewLane({
      laneId,
      now: hub.clock.now(),
      model: 'near/a',
      want: { microusd: 100, tokens: 10 },
      floor: { microusd: 10, tokens: 1 },
      usage,
      inputs: null,
      ...fields,
    })

  const finish = (laneId: ActivationId, usage: Usage[] = [], fields: Partial<LaneResult> = {}) =>
    hubApi.finishLane(laneId, hub.clock.now(), {
      outcome: 'completed',
      error: null,
      answer: 'We decided to wait.',
      steps: usage.length,
      tokens: 0,
      costMicrousd: 0,
      durationMs: 1_000,
      incomplete: null,
      notes: [],
      calls: [],
      record: '{"version":1}',
      usage,
      ...fields,
    })

  /** What a budget of a scope has spent, and what is reserved of it. */
  const budgetOf = async (scope: string) => {
    const { body } = await hub.call('/budgets', { key: adminKey })
    return body.budgets.find((each: { scope: string }) => each.scope === scope)
  }
  const differences = async () =>
    (await hub.call('/budgets/audit', { key: adminKey })).body.differences
  const setLimit = (scope: string, microusd: number | null) =>
    env.DB.prepare('UPDATE budgets SET limit_microusd = ? WHERE scope = ?')
      .bind(microusd, scope)
      .run()

  return {
    office,
    hub,
    hubApi,
    mira,
    ada,
    scout,
    files,
    runOnce,
    replay,
    read,
    lanesOf,
    open,
    renew,
    finish,
    budgetOf,
    differences,
    setLimit,
  }
}

export type Replays = Awaited<ReturnType<typeof createReplays>>
