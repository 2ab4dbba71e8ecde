import * as z from 'zod'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { decideGate } from '../trials/gate'
import { summarizeTrialOf } from '../trials/trial-actions'
import { applyDefinition } from './definition-actions'
import type { DefinitionRow } from './definition-queries'
import { requireEditor } from './definition-rules'
import { deleteHeld, type HeldDefinition, selectHeld, setHeldProblem } from './held-queries'
import { dropHeld, type Saver } from './hold-definition'

/** Errors of definitions that wait for a trial, as users read them. */
const heldErrors = {
  notFound: () => notFound('saved change', 'No change of this agent waits for a trial.'),
  changed: () =>
    new AppError('CONFLICT', 'Another change waits now.', {
      hint: 'Look at what it changes, then decide.',
    }),
  byAdmin: () =>
    new AppError('FORBIDDEN', 'Only an admin can apply a change that has not passed its trial.', {
      hint: 'Discard the change, or ask an admin to apply it.',
    }),
}

const heldEtag = z.string().min(1).max(100).describe('Hash of the files of the change.')

/** Which change is discarded. */
export const discardInput = z.object({ etag: heldEtag })

/** Why an admin applies a definition that has not passed its trial. */
export const applyInput = knownFields({
  etag: heldEtag,
  reason: z.string().trim().min(1).max(500).describe('Why, for the admin log.'),
})

async function findHeld(
  { db }: Pick<ActionContext, 'db'>,
  editor: Saver,
  name: string,
  etag: string,
): Promise<HeldDefinition> {
  const held = await run(db, selectHeld({ name }))
  if (!held) throw heldErrors.notFound()
  requireEditor(editor, held.ownerId)
  if (held.etag !== etag) throw heldErrors.changed()
  return held
}

/** Discards what waits for a trial, cancels that, and returns the hash of its files. @throws NOT_FOUND, FORBIDDEN, CONFLICT for another change */
export async function discardHeld(
  context: ActionContext,
  editor: Saver,
  name: string,
  { etag }: z.output<typeof discardInput>,
): Promise<string> {
  const held = await findHeld(context, editor, name, etag)
  await batch(context.db, {
    deleted: deleteHeld(held.agentId, held.etag),
    entry: recordAdminAction(context, editor.id as AccountId, {
      action: 'definition.discard',
      targetType: 'account',
      targetId: held.agentId,
      after: { etag: held.etag, trial_id: held.trialId },
    }),
  })
  await dropHeld(context, editor, held, null)
  return held.etag
}

/**
 * Makes a held definition the active version whatever its trial shows.
 *
 * @throws NOT_FOUND; FORBIDDEN for others than admins; CONFLICT for another change; as saving it would
 */
export async function applyHeld(
  context: ActionContext,
  admin: Saver,
  name: string,
  { etag, reason }: z.output<typeof applyInput>,
): Promise<DefinitionRow> {
  const held = await findHeld(context, admin, name, etag)
  if (admin.role !== 'admin') throw heldErrors.byAdmin()
  const row = await apply(context, admin, held)
  await run(
    context.db,
    recordAdminAction(context, admin.id as AccountId, {
      action: 'definition.apply_untried',
      targetType: 'account',
      targetId: held.agentId,
      after: { etag: held.etag, trial_id: held.trialId, reason },
    }),
  )
  context.defer(dropHeld(context, admin, held, held.etag))
  return row
}

/** Makes a held definition the active version. Idempotent: the same files again change nothing. */
async function apply(
  context: ActionContext,
  saver: Saver,
  { agentId, name, etag, baseVersion, allowGrants }: HeldDefinition,
): Promise<DefinitionRow> {
  const files = await context.agents.readDefinition(name, etag)
  if (!files) throw heldErrors.notFound()
  const row = await applyDefinition(context, saver, name, files, { baseVersion, allowGrants })
  await run(context.db, deleteHeld(agentId, etag))
  return row
}

/** Applies held definitions that have passed, and says of others why they did not. Those that wait for people wait. */
export async function settleHeld(context: ActionContext, rows: HeldDefinition[]): Promise<void> {
  for (const held of rows) {
    try {
      const problem = await settle(context, held)
      if (problem !== null) {
        await run(context.db, setHeldProblem(held.agentId, held.etag, problem))
      }
    } catch (error) {
      // The next sweep tries again.
      context.log.error('failed to decide on a held definition', { agent: held.name, error })
    }
  }
}

/** Applies a held definition if it may be; returns why it may not, null when it was applied or waits. */
async function settle(context: ActionContext, held: HeldDefinition): Promise<string | null> {
  const trial = held.trialId && (await summarizeTrialOf(context, held.trialId))
  if (!trial) return 'Its trial was deleted.'
  const decision = decideGate(held.gate, trial.status, trial.summary)
  if (decision.kind === 'wait') return null
  if (decision.kind === 'fail') return decision.reason
  const { savedBy, role } = held
  try {
    await apply(context, { ...savedBy, id: savedBy.id as AccountId, role, keyId: null }, held)
    return null
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return `It passed its trial and could not be applied. ${error.message}`
  }
}
