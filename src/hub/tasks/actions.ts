import * as z from 'zod'
import { limits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import type { InboxItemId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { findStoredResult, type IdempotentResult, runOnce } from '../idempotency/run-once'
import { armSweep, wakeAgents } from '../inbox/deliver'
import { assertNoCredentials } from '../posts/credential-patterns'
import { taskErrors } from './errors'
import { insertTask, selectTaskAgent } from './queries'

export const taskInput = knownFields({
  task: shownText.max(limits.task.contentCharsMax),
  model: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .optional()
    .describe("Model as provider/model, for this run only. Defaults to the definition's model."),
  priority: z
    .enum(['normal', 'critical'])
    .optional()
    .describe(
      "critical tasks can use the part of a budget reserved for them. Defaults to the definition's priority.",
    ),
})

/** A task as the API returns it. */
export interface AssignedTask {
  id: InboxItemId
  agent: string
  model: string | null
  createdAt: number
}

/**
 * Assigns a task to an agent by hand. The agent handles it like a mention, and replies to the inbox of
 * the requester.
 *
 * @throws NOT_FOUND for an agent that does not run on this hub, VALIDATION for an unusable model
 */
export async function assignTask(
  context: ActionContext,
  actor: Actor,
  name: string,
  input: z.output<typeof taskInput>,
): Promise<IdempotentResult<AssignedTask>> {
  const { db, clock, settings, agents } = context
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'tasks.assign', input: { name, ...input } }
  const earlier = await findStoredResult<AssignedTask>(db, once)
  if (earlier) return earlier
  assertNoCredentials({ task: input.task }, settings)
  const agent = await run(db, selectTaskAgent(name))
  if (!agent) throw taskErrors.agentNotFound()
  const model = input.model === undefined ? null : await agents.checkModel(agent, input.model)
  const answer = {
    id: clock.newId<InboxItemId>(),
    agent: agent.name,
    model,
    createdAt: clock.now(),
  }
  const { id, createdAt: at } = answer
  const token = await armSweep(context)
  const done = await runOnce(db, once, {
    now: at,
    answer,
    statements: {
      task: insertTask({
        id,
        agentId: agent.id,
        requesterId: accountId,
        task: input.task,
        model,
        at,
        priority: input.priority ?? null,
      }),
      entry: recordAdminAction(context, accountId, {
        action: 'task.assign',
        targetType: 'account',
        targetId: agent.id,
        after: { task: id, model, priority: input.priority ?? null },
      }),
    },
  })
  context.defer(wakeAgents(context, [{ accountId: agent.id }], token))
  return done
}
