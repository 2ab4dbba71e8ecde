import * as z from 'zod'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction, recordIfChanged } from '../database/admin-log-queries'
import { findFailedConstraint } from '../database/constraint-errors'
import { decideGate } from '../trials/gate'
import { summarizeTrialOf } from '../trials/trial-actions'
import { applyDefinition } from './definition-actions'
import type { DefinitionRow } from './definition-queries'
import { requireEditor } from './definition-rules'
import {
  applyHeldStatements,
  decidedConstraint,
  discardHeldRow,
  type HeldDefinition,
  selectHeld,
  selectHeldWith,
  setHeldProblem,
} from './held-queries'
import { dropHeld, type Saver } from './hold-definition'

/** Errors of definitions that wait for a trial, as users read them. */
const heldErrors = {
  notFound: () => notFound('saved change', 'No change of this agent waits for a trial.'),
  noFiles: () =>
    new AppError('CONFLICT', 'The files of the change are no longer stored.', {
      hint: 'Discard the change, open the draft of its trial, and save that again.',
    }),
  otherWaits: () =>
    new AppError('CONFLICT', 'Another change waits now.', {
      hint: 'Look at what it changes, then decide.',
    }),
  decided: (held: HeldDefinition) =>
    new AppError('CONFLICT', `The change ${describeOutcome(held)} already.`, {
      hint: 'Its page says when. Save it again to try it again.',
    }),
  byAdmin: () =>
    new AppError('FORBIDDEN', 'Only an admin can apply a change that has not passed its trial.', {
      hint: 'Discard the change, or ask an admin to apply it.',
    }),
}

/** Says what became of a change that no longer waits, behind its name. */
export function describeOutcome({ outcome, version, decidedBy }: HeldDefinition): string {
  const by = decidedBy ? ` by @${decidedBy.name}` : ''
  if (outcome === 'replaced') return `was replaced by another one${by}`
  if (outcome === 'discarded') return `was discarded${by}`
  return `${decidedBy ? 'was applied' : 'passed its trial and was applied'} as version ${version}${by}`
}

const heldEtag = z.string().min(1).max(100).describe('Hash of the files of the change.')

/** Which change is discarded. */
export const discardInput = z.object({ etag: heldEtag })

/** Why an admin applies a definition that has not passed its trial. */
export const applyInput = knownFields({
  etag: heldEtag,
  reason: z.string().trim().min(1).max(500).describe('Why, for the admin log.'),
})

/** @throws NOT_FOUND, FORBIDDEN, CONFLICT for another change, and for one that no longer waits */
async function findHeld(
  { db }: Pick<ActionContext, 'db'>,
  editor: Saver,
  name: string,
  etag: string,
): Promise<HeldDefinition> {
  const { waiting, named } = await batch(db, {
    waiting: selectHeld({ name }),
    named: selectHeldWith({ name, etag }),
  })
  const held = named ?? waiting
  if (!held) throw heldErrors.notFound()
  requireEditor(editor, held.ownerId)
  if (!named) throw heldErrors.otherWaits()
  if (named.outcome !== null) throw heldErrors.decided(named)
  return named
}

/** Returns the error of a change that another request has decided on meanwhile. */
async function findDecided(
  { db }: Pick<ActionContext, 'db'>,
  { name, etag }: HeldDefinition,
): Promise<AppError> {
  const held = await run(db, selectHeldWith({ name, etag }))
  return held ? heldErrors.decided(held) : heldErrors.notFound()
}

/** Discards what waits for a trial, cancels that, and returns the hash of its files. @throws NOT_FOUND, FORBIDDEN, CONFLICT for another change */
export async function discardHeld(
  context: ActionContext,
  editor: Saver,
  name: string,
  { etag }: z.output<typeof discardInput>,
): Promise<string> {
  const held = await findHeld(context, editor, name, etag)
  const by = editor.id as AccountId
  const { isDiscarded } = await batch(context.db, {
    isDiscarded: discardHeldRow(held.id, { by, now: context.clock.now() }),
    entry: recordIfChanged(context, by, {
      action: 'definition.discard',
      targetType: 'account',
      targetId: held.agentId,
      after: { etag: held.etag, trial_id: held.trialId },
    }),
  })
  if (!isDiscarded) throw await findDecided(context, held)
  await dropHeld(context, editor, held)
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
  const by = admin.id as AccountId
  const entry = recordAdminAction(context, by, {
    action: 'definition.apply_untried',
    targetType: 'account',
    targetId: held.agentId,
    after: { etag: held.etag, trial_id: held.trialId, reason },
  })
  const row = await apply(context, admin, held, by, [entry])
  context.defer(dropHeld(context, admin, held))
  return row
}

/**
 * Makes a held definition the active version, in the batch that marks it as applied.
 *
 * @param by who decided; null: its trial
 * @throws CONFLICT when it no longer waits; as saving it would
 */
async function apply(
  context: ActionContext,
  saver: Saver,
  held: HeldDefinition,
  by: AccountId | null,
  entries: Statement<void>[] = [],
): Promise<DefinitionRow> {
  const { name, etag, baseVersion, restoredFrom, allowGrants } = held
  const files = await context.agents.readDefinition(name, etag)
  if (!files) throw heldErrors.noFiles()
  const applied = applyHeldStatements(held, { by, now: context.clock.now() })
  const options = {
    baseVersion,
    allowGrants,
    ...(restoredFrom !== null && { restoredFrom }),
    alongside: [...applied, ...entries],
  }
  try {
    return await applyDefinition(context, saver, name, files, options)
  } catch (error) {
    if (findFailedConstraint(error) !== decidedConstraint) throw error
    throw await findDecided(context, held)
  }
}

/** Applies held definitions that have passed, and says of others why they did not. Those that wait for people wait. */
export async function settleHeld(context: ActionContext, rows: HeldDefinition[]): Promise<void> {
  for (const held of rows) {
    try {
      const problem = await settle(context, held)
      if (problem !== null) {
        await run(context.db, setHeldProblem(held.id, problem))
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
    await apply(context, { ...savedBy, id: savedBy.id as AccountId, role, keyId: null }, held, null)
    return null
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return `It passed its trial and could not be applied. ${error.message}`
  }
}
