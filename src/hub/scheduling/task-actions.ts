import * as z from 'zod'
import { limits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import { notFound } from '../../shared/errors'
import type { InboxItemId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { findStoredResult, type IdempotentResult, runOnce } from '../database/run-once'
import { armSweep, wakeAgents } from '../inbox/wake'
import { assertNoCredentials } from '../rules/credential-patterns'
import { presentPerson } from '../rules/people'
import type { PersonAnswer } from '../rules/people-sql'
import { insertTask, selectTaskAgent } from './task-queries'

/** Errors of tasks, as users read them. */
const taskErrors = {
  agentNotFound: () => notFound('agent', 'Only agents that run on this hub can be given a task.'),
}

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
  agent: PersonAnswer
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
    agent: presentPerson(agent),
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
