import { env } from 'cloudflare:workers'
import type { ActivationId } from '../../../src/shared/ids'
import {
  answered,
  ended,
  loaded,
  requested,
  returned,
  toStoredLog,
  woken,
} from '../../support/run-log'

let count = 0

/** Creates a run that answered a message of an account, and returns its id. */
export const createPrivateRun = (agentId: string, requesterId: string): Promise<string> =>
  createRun('dm', agentId, requesterId)

/** Creates a run that answered a mention by an account, and returns its id. */
export const createPublicRun = (agentId: string, requesterId: string): Promise<string> =>
  createRun('mention', agentId, requesterId)

async function createRun(task: string, agentId: string, requesterId: string): Promise<string> {
  const id = `ended-run-${++count}`
  await env.DB.prepare(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version,
       started_at, deadline_at, finished_at, outcome, requesters)
     VALUES (?, ?, 'inbox', ?, 'done', 'granted', 'test/model', 1, 1, 2, 2, 'completed', json_array(?))`,
  )
    .bind(id, agentId, task, requesterId)
    .run()
  return id
}

/** Creates a replay of such a run that waits to start, and returns its id. */
export async function createReplay(agentId: string, requesterId: string): Promise<string> {
  const run = await createPublicRun(agentId, requesterId)
  const id = `replay-${run}`
  await env.DB.batch([
    env.DB.prepare(
      'INSERT INTO replays (id, activation_id, requested_by, created_at) VALUES (?, ?, ?, 1)',
    ).bind(id, run, requesterId),
    env.DB.prepare(
      `INSERT INTO replay_lanes (id, replay_id, activation_id, lane, sample, state, agent_id, requesters, grants,
         duration_ms_max, tokens_max, cost_max_microusd)
       VALUES (?1, ?2, ?3, 'baseline', 1, 'queued', ?4, json_array(?5), '[]', 1000, 1000, 1000)`,
    ).bind(`lane-${run}`, id, run, agentId, requesterId),
  ])
  return id
}

/** Creates a set of runs of an agent, and returns its id. */
export async function createSet(agentId: string, creatorId: string): Promise<string> {
  const id = `set-${++count}`
  await env.DB.prepare(
    'INSERT INTO case_sets (id, agent_id, name, name_key, created_by, created_at) VALUES (?1, ?2, ?1, ?1, ?3, 1)',
  )
    .bind(id, agentId, creatorId)
    .run()
  return id
}

/** Returns the name of a set that can be created: an agent has so many at most. */
export async function makeRoomForSet(): Promise<string> {
  const free = 'id NOT IN (SELECT set_id FROM trials)'
  await env.DB.batch([
    env.DB.prepare(`DELETE FROM cases WHERE set_id IN (SELECT id FROM case_sets WHERE ${free})`),
    env.DB.prepare(`DELETE FROM case_sets WHERE ${free}`),
  ])
  return `Set ${++count}`
}

/** Creates a case of a run of the agent in a set, and returns its id. */
export async function createCase(
  setId: string,
  agentId: string,
  creatorId: string,
): Promise<string> {
  const run = await createPublicRun(agentId, creatorId)
  const id = `case-${run}`
  await env.DB.prepare(
    'INSERT INTO cases (id, set_id, activation_id, created_by, created_at) VALUES (?, ?, ?, ?, 1)',
  )
    .bind(id, setId, run, creatorId)
    .run()
  return id
}

interface OwnRun {
  agentId: string
  requesterId: string
  postId: string
  now: number
}

/** Creates a run in a thread that used the account of its requester, with the text in its trace and its audit. */
export async function createOwnAccountRun(
  { agentId, requesterId, postId, now }: OwnRun,
  text: string,
): Promise<string> {
  const id = await createPublicRun(agentId, requesterId)
  const log = [
    woken(id as ActivationId),
    loaded({ prompt: [{ role: 'user', text }] }),
    answered({ text, calls: [requested('c2', 'desk_look', text)] }),
    returned('c2', { arguments: text, text }),
    ended(),
  ]
  await env.DB.batch([
    env.DB.prepare(
      `UPDATE activations SET uses_own_account = 1, started_at = ?2, post_id = ?3,
         community_id = (SELECT community_id FROM posts WHERE id = ?3) WHERE id = ?1`,
    ).bind(id, now, postId),
    env.DB.prepare('INSERT INTO activation_traces (activation_id, trace) VALUES (?, ?)').bind(
      id,
      toStoredLog(log),
    ),
    env.DB.prepare(
      `INSERT INTO audit_log (id, account_id, activation_id, call_id, tool, "grant", arguments_hash, decision,
         outcome, duration_ms, result_bytes, created_at)
       VALUES ('own-call', ?, ?, 'c2', 'desk_look', 'desk:read', 'hash', 'allowed', 'ok', 5, 9, ?)`,
    ).bind(agentId, id, now),
  ])
  return id
}
