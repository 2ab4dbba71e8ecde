import { eq } from 'drizzle-orm'
import { one, orm, type Statement, write } from '../../shared/db/statement'
import type { AccountId, InboxItemId } from '../../shared/ids'
import type { Person } from '../contract/hub'
import { accounts } from '../schema/accounts'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'

/** An agent that runs on this hub, with its current definition. */
interface TaskAgent extends Person {
  displayName: string | null
  etag: string
}

/** Selects an agent of this hub by name. */
export const selectTaskAgent = (name: string): Statement<TaskAgent | undefined> =>
  one(
    orm
      .select({
        id: accounts.id,
        name: accounts.name,
        kind: accounts.kind,
        displayName: accounts.displayName,
        etag: agents.definitionEtag,
      })
      .from(accounts)
      .innerJoin(agents, eq(agents.accountId, accounts.id))
      .where(eq(accounts.name, name)),
  )

/** A task to insert; `at` is in milliseconds since the Unix epoch. */
interface NewTask {
  id: InboxItemId
  agentId: AccountId
  requesterId: AccountId
  task: string
  /** Null: the definition's model. */
  model: string | null
  /** Null: the definition's priority. */
  priority: 'normal' | 'critical' | null
  /** What the requester asks, where the task is data of another service; absent: the task itself. */
  request?: string
  at: number
}

/** Inserts a task as an inbox item, which is claimed, answered and consumed like a mention. */
export const insertTask = (given: NewTask) => {
  const { id, agentId, requesterId, task, model, priority, request, at } = given
  return write(
    orm.insert(inboxItems).values({
      id,
      accountId: agentId,
      type: 'task',
      fromAccountId: requesterId,
      content: task,
      createdAt: at,
      isTask: true,
      task: 'manual',
      model,
      priority,
      ...(request !== undefined && { request, isUntrusted: true }),
    }),
  )
}
