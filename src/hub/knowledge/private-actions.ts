import * as z from 'zod'
import type { PrivateChange } from '../../agents/contract/agents'
import { workspaceLimits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract/hub'
import { selectHostedAgent } from '../system/queries'
import { knowledgeErrors } from './errors'

/** A fact by its id, or a file by its path. */
export const privateItem = z.discriminatedUnion('kind', [
  knownFields({ kind: z.literal('fact'), id: z.coerce.number().int().min(1) }),
  knownFields({
    kind: z.literal('file'),
    path: z.string().min(1).max(workspaceLimits.pathCharsMax),
  }),
])

export const privateChange = z.enum(['share', 'unshare', 'delete'])

export type PrivateItemInput = z.output<typeof privateItem>

/**
 * Shares, makes private again or deletes what an agent keeps for the actor alone. The agent keeps who shared
 * it and when, with the item. Doing it again changes nothing.
 *
 * @throws FORBIDDEN for anything but a person, NOT_FOUND for what the agent does not keep for the actor,
 *   CONFLICT when another item is in the way
 */
export async function changePrivateItem(
  { db, agents, log }: ActionContext,
  actor: Actor,
  agentName: string,
  item: PrivateItemInput,
  change: PrivateChange,
): Promise<void> {
  if (actor.kind !== 'human' || actor.activationId !== null) throw knowledgeErrors.peopleOnly()
  const agent = await run(db, selectHostedAgent(agentName))
  if (!agent) throw knowledgeErrors.agentNotFound()
  const { accountId } = actor
  const outcome = await agents.privateMemory.change(agent.accountId, accountId, item, change)
  if (outcome === 'missing') throw knowledgeErrors.notFound(item.kind)
  if (outcome === 'taken') throw knowledgeErrors.taken(item.kind)
  log.info('private memory changed', {
    agent: agent.accountId,
    account: accountId,
    kind: item.kind,
    change,
  })
}
