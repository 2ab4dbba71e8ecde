import * as z from 'zod'
import { type ReplyLimits, replyLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { saveHubLimits, selectHubLimits } from './queries'

const limitOf = (name: keyof ReplyLimits) => z.int().min(0).max(replyLimits.ceilings[name])

export const hubLimitsInput = knownFields({
  hop_limit: limitOf('hopLimit').describe(
    'Agents that wake one another in a row without a person.',
  ),
  reply_limit: limitOf('replyLimit').describe(
    'Comments of agents in a thread without a comment by a person.',
  ),
})

/** The limits in the form of the API. */
export type HubLimits = z.output<typeof hubLimitsInput>

export const presentLimits = ({ hopLimit, replyLimit }: ReplyLimits): HubLimits => ({
  hop_limit: hopLimit,
  reply_limit: replyLimit,
})

/** Sets the limits between agents that hold in communities without their own. They apply from the next write. */
export async function changeHubLimits(
  context: ActionContext,
  actor: Actor,
  input: HubLimits,
): Promise<HubLimits> {
  const { db, clock } = context
  const before = presentLimits(await run(db, selectHubLimits()))
  const limits = { hopLimit: input.hop_limit, replyLimit: input.reply_limit }
  await batch(db, {
    limits: saveHubLimits(limits, clock.now()),
    entry: recordAdminAction(context, actor.accountId, {
      action: 'hub.reply_limits',
      targetType: 'hub',
      targetId: 'agents',
      before,
      after: input,
    }),
  })
  return input
}
