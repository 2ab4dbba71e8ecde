import type { DefinitionFacts, DefinitionFiles } from '../../agents/contract/agents'
import { batch, run } from '../../shared/db/batch'
import { AppError } from '../../shared/errors'
import type { AccountId, TrialId } from '../../shared/ids'
import type { Actor, Sender, TrialGate } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import type { Caller } from '../replays/actions'
import { listSets } from '../trials/set-actions'
import { cancelTrial, startTrial } from '../trials/trial-actions'
import { accountReader } from '../viewers/reader'
import { definitionErrors, type Editor } from './definition-rules'
import { type HeldDefinition, putHeld, selectHeld } from './held-queries'

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
  const { db, clock, agents } = context
  const { agentId, name, files, facts, baseVersion, allowGrants, gate } = change
  const earlier = await run(db, selectHeld({ name }))
  if (earlier && earlier.etag !== facts.etag && !isOver(saver, earlier)) {
    throw definitionErrors.otherHeld(name, earlier.savedBy.name)
  }
  const waiting = earlier?.problem === null && earlier.baseVersion === baseVersion ? earlier : null
  if (waiting && allowGrants.every((grant) => waiting.allowGrants.includes(grant))) return waiting
  await agents.saveDefinition(name, facts.etag, files)
  const started = waiting
    ? { trialId: waiting.trialId, problem: null }
    : await startTrialOf(context, saver, change)
  const savedBy = saver.id as AccountId
  const { held } = await batch(db, {
    put: putHeld({
      agentId,
      etag: facts.etag,
      baseVersion,
      allowGrants: [...new Set([...(waiting?.allowGrants ?? []), ...allowGrants])],
      savedBy,
      savedAt: clock.now(),
      gate,
      ...started,
    }),
    entry: recordAdminAction(context, savedBy, {
      action: 'definition.hold',
      targetType: 'account',
      targetId: agentId,
      after: { etag: facts.etag, trial_id: started.trialId, problem: started.problem },
    }),
    held: selectHeld({ name }),
  })
  if (!held) throw new Error(`The definition of ${name} was held but not found`)
  if (earlier && !waiting) context.defer(dropHeld(context, saver, earlier, facts.etag))
  return held
}

const isOver = (saver: Saver, { savedBy, problem, trialId }: HeldDefinition): boolean =>
  problem !== null && trialId !== null && savedBy.id === saver.id

const toActor = (saver: Saver): Actor => ({
  accountId: saver.id as AccountId,
  name: saver.name,
  kind: saver.kind,
  keyId: saver.keyId,
  activationId: null,
  idempotencyKey: null,
  postId: null,
})

const toCaller = ({ id, kind, role }: Saver): Caller => ({
  viewer: { id, kind, role },
  reader: accountReader(id as AccountId),
})

/** Starts the trial of a change, or says why none can start. */
async function startTrialOf(
  context: ActionContext,
  saver: Saver,
  { name, files, gate }: Change,
): Promise<{ trialId: TrialId | null; problem: string | null }> {
  const caller = toCaller(saver)
  try {
    const sets = await listSets(context, caller, name)
    const set = sets.find((each) => each.name === gate.set)
    if (!set) {
      const problem = `${name} has no set ${gate.set}. Create the set and save again, or ask an admin to apply the change.`
      return { trialId: null, problem }
    }
    const input = { files, repeats: gate.repeats }
    const { answer } = await startTrial(context, toActor(saver), caller, set.id, input)
    return { trialId: answer.id, problem: null }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { trialId: null, problem: `Its trial could not start. ${error.message}` }
  }
}

/** Ends the trial of what was held, and deletes its files unless a version or what is held now has them. Never throws. */
export async function dropHeld(
  context: ActionContext,
  saver: Saver,
  { name, etag, trialId, hasOwnFiles }: HeldDefinition,
  etagNow: string | null,
): Promise<void> {
  try {
    if (hasOwnFiles && etag !== etagNow) await context.agents.deleteDefinition(name, etag)
    if (trialId) await cancelTrial(context, toActor(saver), toCaller(saver), trialId)
  } catch (error) {
    // The trial has ended, or is one that the saver does not see.
    if (!(error instanceof AppError)) {
      context.log.error('failed to drop a held definition', { agent: name, error })
    }
  }
}
