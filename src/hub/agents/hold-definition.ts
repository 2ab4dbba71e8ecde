import type { DefinitionFacts, DefinitionFiles } from '../../agents/contract/agents'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError } from '../../shared/errors'
import type { AccountId, TrialId } from '../../shared/ids'
import type { Actor, Sender, TrialGate } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { findFailedConstraint } from '../database/constraint-errors'
import { toAccountCaller } from '../replays/actions'
import { listSets } from '../trials/set-actions'
import { cancelTrial, startTrial } from '../trials/trial-actions'
import { definitionErrors, type Editor } from './definition-rules'
import {
  addHeldGrants,
  type HeldDefinition,
  insertHeld,
  otherHeldConstraint,
  replaceHeld,
  selectHasFiles,
  selectHeld,
} from './held-queries'

/** Who saves a definition, with the key or session of the request. */
export type Saver = Editor & Sender

/** A valid definition of an agent whose changes have to pass a trial. */
interface Change {
  agentId: AccountId
  name: string
  files: DefinitionFiles
  facts: DefinitionFacts
  /** The active version. */
  baseVersion: number
  /** The earlier version whose files it has; null for others. */
  restoredFrom: number | null
  allowGrants: string[]
  gate: TrialGate
}

/**
 * Keeps a definition aside and starts the trial that decides whether it becomes the active version. When no trial can
 * start it is kept with the reason, for an admin to decide. The same files again start no second trial, unless the first
 * one has failed.
 *
 * @throws CONFLICT while another change of the agent is kept: nothing that was saved is lost. Whoever saved one that has not
 *   passed replaces it, and its trial keeps its files
 */
export async function holdDefinition(
  context: ActionContext,
  saver: Saver,
  change: Change,
): Promise<HeldDefinition> {
  const { db, agents } = context
  const { name, files, facts } = change
  const earlier = await run(db, selectHeld({ name }))
  const same = earlier && findSame(earlier, change)
  if (same) return addGrants(context, saver, same, change)
  if (earlier && earlier.etag !== facts.etag && !isOver(saver, earlier)) {
    throw definitionErrors.otherHeld(name, earlier.savedBy.name)
  }
  await agents.saveDefinition(name, facts.etag, files)
  try {
    await hold(context, saver, change, earlier)
  } catch (error) {
    if (findFailedConstraint(error) !== otherHeldConstraint) throw error
    // Another request has saved a change meanwhile, perhaps the same.
    return holdDefinition(context, saver, change)
  }
  if (earlier) context.defer(dropHeld(context, saver, earlier))
  const held = await run(db, selectHeld({ name }))
  if (!held) throw new Error(`The definition of ${name} was held but not found`)
  return held
}

/** Returns what waits, when it is the same change and its trial decides. */
const findSame = (held: HeldDefinition, { facts, baseVersion }: Change): HeldDefinition | null =>
  held.etag === facts.etag && held.problem === null && held.baseVersion === baseVersion
    ? held
    : null

const isOver = (saver: Saver, { savedBy, problem, trialId }: HeldDefinition): boolean =>
  problem !== null && trialId !== null && savedBy.id === saver.id

/** Lets more grants wait with a change, which whoever allows them then saves. */
async function addGrants(
  { db }: ActionContext,
  saver: Saver,
  held: HeldDefinition,
  { allowGrants }: Change,
): Promise<HeldDefinition> {
  const all = [...new Set([...held.allowGrants, ...allowGrants])]
  if (all.length === held.allowGrants.length) return held
  const savedBy = saver.id as AccountId
  const { after } = await batch(db, {
    added: addHeldGrants(held.id, { allowGrants: all, savedBy }),
    after: selectHeld({ name: held.name }),
  })
  return after ?? held
}

/** Writes what waits with its trial, in place of what waited before. Fails when another change waits by then. */
async function hold(
  context: ActionContext,
  saver: Saver,
  change: Change,
  earlier: HeldDefinition | undefined,
): Promise<void> {
  const { clock } = context
  const { agentId, facts, baseVersion, restoredFrom, allowGrants, gate } = change
  const now = clock.now()
  const savedBy = saver.id as AccountId
  const statements = (trialId: TrialId | null, problem: string | null): Statement<unknown>[] => [
    ...(earlier ? [replaceHeld(earlier, { by: savedBy, now })] : []),
    insertHeld({
      id: clock.newId(now),
      agentId,
      etag: facts.etag,
      baseVersion,
      restoredFrom,
      allowGrants,
      savedBy,
      savedAt: now,
      gate,
      trialId,
      problem,
    }),
    recordAdminAction(context, savedBy, {
      action: 'definition.hold',
      targetType: 'account',
      targetId: agentId,
      after: { etag: facts.etag, trial_id: trialId, problem },
    }),
  ]
  const problem = await startTrialOf(context, saver, change, (id) => statements(id, null))
  if (problem !== null) await batch(context.db, { held: statements(null, problem) })
}

const toActor = (saver: Saver): Actor => ({
  accountId: saver.id as AccountId,
  name: saver.name,
  kind: saver.kind,
  keyId: saver.keyId,
  activationId: null,
  idempotencyKey: null,
  postId: null,
})

/** Starts the trial of a change with what is written alongside, or says why none can start. */
async function startTrialOf(
  context: ActionContext,
  saver: Saver,
  { name, files, gate }: Change,
  alongside: (id: TrialId) => Statement<unknown>[],
): Promise<string | null> {
  const caller = toAccountCaller(saver)
  try {
    const sets = await listSets(context, caller, name)
    const set = sets.find(({ isGate }) => isGate)
    if (!set) {
      return `${name} has no set ${gate.set}. Create the set and save again, or ask an admin to apply the change.`
    }
    const input = { files, repeats: gate.repeats }
    await startTrial(context, toActor(saver), caller, set.id, input, alongside)
    return null
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return `Its trial could not start. ${error.message}`
  }
}

/** Ends the trial of what no longer waits, and deletes its files unless a version or what waits now has them. Never throws. */
export async function dropHeld(
  context: ActionContext,
  saver: Saver,
  { agentId, name, etag, trialId }: HeldDefinition,
): Promise<void> {
  const { db, agents, log } = context
  try {
    const files = await run(db, selectHasFiles(agentId, etag))
    if (!files?.isUsed) await agents.deleteDefinition(name, etag)
    if (trialId) await cancelTrial(context, toActor(saver), toAccountCaller(saver), trialId)
  } catch (error) {
    // The trial has ended, or is one that the saver does not see.
    if (!(error instanceof AppError)) {
      log.error('failed to drop a held definition', { agent: name, error })
    }
  }
}
