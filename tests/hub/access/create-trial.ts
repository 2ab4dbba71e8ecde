import { env } from 'cloudflare:workers'
import { createPublicRun } from './create-private-run'

/**
 * Creates a trial of an agent that has finished, and returns its ids. Nobody has compared its only case. All trials are of
 * one set, as an agent has few.
 */
export async function createTrial(
  agentId: string,
  requesterId: string,
): Promise<{ setId: string; id: string; caseId: string }> {
  const run = await createPublicRun(agentId, requesterId)
  const setId = `tried-${agentId}`
  const [id, caseId, replayId] = [`trial-${run}`, `tried-case-${run}`, `tried-${run}`]
  await env.DB.batch([
    env.DB.prepare(
      'INSERT OR IGNORE INTO case_sets (id, agent_id, name, name_key, created_by, created_at) VALUES (?1, ?2, ?1, ?1, ?3, 1)',
    ).bind(setId, agentId, requesterId),
    env.DB.prepare(
      `INSERT INTO trials (id, set_id, agent_id, requested_by, draft, baseline_version, repeats, limits,
         cost_max_microusd, runs_month, created_at, finished_at) VALUES (?, ?, ?, ?, '{}', 1, 1, ?, 0, 0, 1, 2)`,
    ).bind(id, setId, agentId, requesterId, '{"judge":null,"isPriced":true}'),
    env.DB.prepare(
      'INSERT INTO replays (id, activation_id, requested_by, created_at) VALUES (?, ?, ?, 1)',
    ).bind(replayId, run, requesterId),
    env.DB.prepare(
      `INSERT INTO trial_cases (id, trial_id, activation_id, position, checks, replay_id, state)
       VALUES (?, ?, ?, 0, '[]', ?, 'done')`,
    ).bind(caseId, id, run, replayId),
    ...['baseline', 'candidate'].map((lane) =>
      env.DB.prepare(
        `INSERT INTO replay_lanes (id, replay_id, activation_id, lane, sample, state, agent_id, requesters, grants,
           duration_ms_max, tokens_max, cost_max_microusd, answer)
         VALUES (?1 || ?2, ?1, ?3, ?2, 1, 'done', ?4, json_array(?5), '[]', 1, 1, 1, ?2)`,
      ).bind(replayId, lane, run, agentId, requesterId),
    ),
  ])
  return { setId, id, caseId }
}

/** The same of a trial that runs. */
export async function createOpenTrial(agentId: string, requesterId: string): Promise<string> {
  const { id } = await createTrial(agentId, requesterId)
  await env.DB.prepare('UPDATE trials SET finished_at = NULL WHERE id = ?').bind(id).run()
  return id
}
