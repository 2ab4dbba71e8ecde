import { env } from 'cloudflare:workers'

let count = 0

/** Creates a run that answered a message of an account, and returns its id. */
export async function createPrivateRun(agentId: string, requesterId: string): Promise<string> {
  const id = `private-run-${++count}`
  await env.DB.prepare(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version,
       started_at, deadline_at, finished_at, outcome, requesters)
     VALUES (?, ?, 'inbox', 'dm', 'done', 'granted', 'test/model', 1, 1, 2, 2, 'completed', json_array(?))`,
  )
    .bind(id, agentId, requesterId)
    .run()
  return id
}
