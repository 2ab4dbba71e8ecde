import * as z from 'zod'
import { limits } from '../../config'
import { notFound } from '../../errors'
import type { InboxItemId } from '../../ids'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract'
import { type Done, findReplay, runOnce } from '../idempotency/run-once'
import { armSweep, wakeAll } from '../inbox/deliver'
import { refuseCredentials } from '../posts/credential-shapes'
import { insertTask, selectTaskedAgent, type TaskedAgent } from './queries'

export const taskInput = z.object({
  task: z.string().trim().min(1).max(limits.task.contentCharsMax),
  model: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .optional()
    .describe("provider/model, for this run only; the definition's when absent"),
  priority: z
    .enum(['normal', 'critical'])
    .optional()
    .describe(
      "critical: it may use what budgets keep for such tasks; the definition's when absent",
    ),
})

export interface GivenTask {
  id: InboxItemId
  agent: string
  model: string | null
  createdAt: number
}

/**
 * Gives an agent a task by hand. It works on it like on a mention, and its answer comes to the inbox
 * of who gave it (L2).
 *
 * @throws NOT_FOUND for an agent that does not run here, VALIDATION for a model that cannot be called
 */
export async function giveTask(
  context: ActionContext,
  actor: Actor,
  name: string,
  input: z.output<typeof taskInput>,
): Promise<Done<GivenTask>> {
  const { db, clock, settings, agents } = context
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'tasks.give', input: { name, ...input } }
  const before = await findReplay<GivenTask>(db, once)
  if (before) return before
  refuseCredentials({ task: input.task }, settings.ROOKERY_KEY_PREFIX)
  const agent = await selectTaskedAgent(db, name).first<TaskedAgent>()
  if (!agent) throw notFound('agent', 'Only agents that run on this hub can be given a task.')
  const model = input.model === undefined ? null : await agents.checkModel(agent, input.model)
  const answer = {
    id: clock.newId<InboxItemId>(),
    ...{ agent: agent.name, model, createdAt: clock.now() },
  }
  const { id, createdAt: at } = answer
  const token = await armSweep(context)
  const done = await runOnce(db, once, {
    ...{ now: at, answer },
    statements: [
      insertTask(db, {
        ...{ id, agentId: agent.id, from: accountId, task: input.task, model, at },
        priority: input.priority ?? null,
      }),
    ],
  })
  context.defer(wakeAll(context, [{ accountId: agent.id }], token))
  return done
}
