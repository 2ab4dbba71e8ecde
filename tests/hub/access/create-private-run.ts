import { env } from 'cloudflare:workers'

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
