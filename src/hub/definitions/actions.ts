import type {
  DefinitionCheck,
  DefinitionFacts,
  DefinitionFiles,
} from '../../agents/contract/agents'
import { definitionLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { checkName } from '../accounts/check-name'
import { selectStaffNames, updateAccount } from '../accounts/queries'
import { reservedNames } from '../accounts/reserved-names'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import { setDefinitionBudget } from '../budgets/actions'
import { findFailedConstraint } from '../constraint-errors'
import { putExplorationStatements } from '../exploration/definition-queries'
import { armSweep, wakeAgents } from '../inbox/deliver'
import { agentWaitStatements } from '../outages/queries'
import { diffFiles, toDiffDetails } from './diff-files'
import { definitionErrors } from './errors'
import { type Editor, findNewAdminFields, requireCreator, requireEditor } from './may-edit'
import {
  type DefinitionRow,
  guardAgentsOfOwner,
  insertAgentAccount,
  insertDefinition,
  selectDefinition,
  selectNamedAccount,
  selectOutdated,
  selectOwnUse,
  tooManyConstraint,
  tooManySavesConstraint,
  upsertAgent,
} from './queries'

/** Returns the facts of a valid definition; throws INVALID_DEFINITION otherwise. */
function requireValid(check: DefinitionCheck, name: string): DefinitionFacts {
  const problems = check.ok ? [] : check.problems
  if (check.ok && check.facts.name !== name) {
    problems.push({
      path: check.facts.namePath,
      message: `Must be ${name}, but is ${check.facts.name}`,
    })
  }
  if (check.ok && reservedNames.has(name)) {
    problems.push({ path: check.facts.namePath, message: `The name ${name} is reserved` })
  }
  if (check.ok && problems.length === 0) return check.facts
  throw definitionErrors.invalid(name, problems)
}

/** What a definition is saved over. */
interface Current {
  /** Null when the name is free. */
  id: AccountId | null
  ownerId: AccountId | null
  ownerName: string | null
  /** Null when there is no definition. */
  definition: DefinitionRow | null
  /** What the editor has used of a member's limits. */
  use: { agents: number; saves: number }
}

/**
 * Returns the account that the definition belongs to, with its active definition.
 *
 * @throws CONFLICT for a person, and for an external agent that still has keys: the holder of a key
 *   could otherwise act as the agent
 */
async function findAgent(
  { db, clock }: ActionContext,
  name: string,
  editor: Editor,
): Promise<Current> {
  const now = clock.now()
  const { account, definition, use } = await batch(db, {
    account: selectNamedAccount({ name, now }),
    definition: selectDefinition({ name }),
    use: selectOwnUse({ id: editor.id as AccountId, now }),
  })
  if (!use) throw new Error('a statement without a table returned no row')
  if (!account) return { id: null, ownerId: null, ownerName: null, definition: null, use }
  const { id, ownerId, ownerName } = account
  const isAgent = account.kind === 'agent' && !account.isImported
  if (isAgent && (account.isHosted || !account.hasKeys)) {
    return { id, ownerId, ownerName, definition: definition ?? null, use }
  }
  throw isAgent ? definitionErrors.externalAgent(name) : definitionErrors.notAnAgent(name)
}

/** How a definition is saved. */
export interface SaveOptions {
  /** The version that the author started from, 0 for a new agent; absent skips the conflict check. */
  baseVersion?: number | undefined
  /** The earlier version whose files these are. */
  restoredFrom?: number
}

/**
 * Validates a definition and makes it the agent's active version; creates the agent if necessary. The
 * same files again change nothing. A member creates agents that they own, and changes only those.
 *
 * @throws FORBIDDEN for others' agents and for what only admins set, INVALID_DEFINITION with file, line and field; the previous version stays active. CONFLICT
 *   with the differences when the current version is not the one that the author started from
 */
export async function putDefinition(
  context: ActionContext,
  editor: Editor,
  name: string,
  files: DefinitionFiles,
  options: SaveOptions = {},
): Promise<DefinitionRow> {
  const { agents, scheduler } = context
  requireCreator(editor)
  const facts = requireValid(await agents.checkDefinition(files), name)
  const sent = { name, files, facts, options, editor }
  const current = await findAgent(context, name, editor)
  await requireMaySave(context, current, sent)
  await refuseOutdated(context, current, sent)
  await agents.saveDefinition(name, facts.etag, files)
  const token = await armSweep(context)
  const { row, outdated } = await writeDefinition(context, sent, current.id).catch(
    async (error: unknown) => {
      const failed = findFailedConstraint(error)
      if (failed === tooManyConstraint) throw definitionErrors.tooMany()
      if (failed === tooManySavesConstraint) throw definitionErrors.tooManySaves()
      const isTaken = current.id === null && failed === 'accounts.name'
      if (!isTaken && failed !== 'agent_definitions.account_id') throw error
      // Another request registered the name or saved a version in between.
      const changed = await findAgent(context, name, editor)
      await requireMaySave(context, changed, sent)
      await refuseOutdated(context, changed, sent)
      return writeDefinition(context, sent, changed.id)
    },
  )
  // Wake the agent: it can have unclaimed mentions from before this definition.
  context.defer(wakeAgents(context, [{ accountId: row.agentId }], token))
  if (outdated) context.defer(agents.deleteDefinition(name, outdated.etag))
  if (facts.exploration || facts.schedules.length > 0) context.defer(scheduler.sweepNow())
  return row
}

/** A valid definition that is being saved. */
interface Sent {
  name: string
  files: DefinitionFiles
  facts: DefinitionFacts
  options: SaveOptions
  editor: Editor
}

/**
 * Checks that a member saves a definition of their own, within their limits, and changes no field that only admins
 * set. The statements that save check the limits again; here, nothing of what is refused is stored yet.
 *
 * @throws FORBIDDEN, RATE_LIMITED, CONFLICT for one agent too many and for a reserved or confusable name of a new one
 */
async function requireMaySave(
  { db, agents, settings }: ActionContext,
  { id, ownerId, definition, use }: Current,
  { name, facts, editor }: Sent,
): Promise<void> {
  if (editor.role === 'admin') return
  if (id === null) {
    const staff = await run(db, selectStaffNames())
    checkName(name, { hubName: settings.ROOKERY_NAME, staff, byAdmin: false })
    if (use.agents >= definitionLimits.agentsPerMember) throw definitionErrors.tooMany()
  } else requireEditor(editor, ownerId)
  const isNew = definition?.etag !== facts.etag
  if (isNew && use.saves >= definitionLimits.savesPerDay) throw definitionErrors.tooManySaves()
  if (facts.adminFields.length === 0) return
  const files = definition && (await agents.readDefinition(name, definition.etag))
  const before = files && (await agents.checkDefinition(files))
  const changed = findNewAdminFields(before?.ok ? before.facts : null, facts)
  if (changed.length === 0) return
  const details = changed.map(({ path }) => ({ path, message: 'Only an admin can set this' }))
  throw definitionErrors.fieldsByAdmin(name, details)
}

/**
 * @throws CONFLICT when the current version is another one than the author started from, and for somebody else's agent
 *   when the author names none: a folder could have the name of the agent by chance
 */
async function refuseOutdated(
  { agents }: ActionContext,
  { ownerId, ownerName, definition }: Current,
  { name, files, facts, options: { baseVersion, restoredFrom }, editor }: Sent,
): Promise<void> {
  const version = definition?.version ?? 0
  if (baseVersion === version || definition?.etag === facts.etag) return
  const owner = ownerId === editor.id ? null : ownerName
  if (baseVersion === undefined) {
    if (definition === null || owner === null || restoredFrom !== undefined) return
    throw definitionErrors.ofSomebodyElse(name, owner, version)
  }
  const stored = definition && (await agents.readDefinition(name, definition.etag))
  const details = toDiffDetails(stored ? diffFiles(stored, files) : [], version)
  throw definitionErrors.changedSince({ name, owner, base: baseVersion, version }, details)
}

async function writeDefinition(
  context: ActionContext,
  { facts, options, editor }: Sent,
  existingId: AccountId | null,
): Promise<{ row: DefinitionRow; outdated: { etag: string } | undefined }> {
  const { db, clock } = context
  const { name, displayName, description } = facts
  const now = clock.now()
  const id = existingId ?? clock.newId<AccountId>()
  const { definition: row, outdated } = await batch(db, {
    room: existingId && editor.role !== 'admin' ? guardAgentsOfOwner(existingId) : null,
    account: existingId
      ? updateAccount(id, { displayName, description })
      : insertAgentAccount(
          { id, name, displayName, description, createdAt: now },
          editor.role === 'admin' ? null : (editor.id as AccountId),
        ),
    version: insertDefinition({
      accountId: id,
      etag: facts.etag,
      warnings: facts.warnings,
      createdBy: editor.id as AccountId,
      createdAt: now,
      baseVersion: options.baseVersion ?? null,
      savesMax: editor.role === 'admin' ? null : definitionLimits.savesPerDay,
    }),
    entry: recordAdminAction(context, editor.id as AccountId, {
      ...{ action: 'definition.push', targetType: 'account', targetId: id },
      after: {
        etag: facts.etag,
        schedules: facts.schedules.length,
        is_new: existingId === null,
        ...(options.restoredFrom !== undefined && { restored_from: options.restoredFrom }),
      },
    }),
    agent: upsertAgent(id, facts, now),
    exploration: putExplorationStatements(id, facts, now),
    budget: setDefinitionBudget(id, facts.budget.costPerDayMicrousd, now),
    wait: agentWaitStatements(id, now),
    definition: selectDefinition({ name }),
    outdated: selectOutdated({ accountId: id }),
  })
  if (!row) throw new Error(`The definition of ${name} was written but not found`)
  return { row, outdated }
}
