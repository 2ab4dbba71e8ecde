import type {
  AdminField,
  DefinitionCheck,
  DefinitionFacts,
  DefinitionFiles,
} from '../../agents/contract/agents'
import { definitionLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { checkName, reservedNames } from '../accounts/names'
import { selectStaffNames, updateAccount } from '../accounts/queries'
import { setDefinitionBudget } from '../budgets/actions'
import type { TrialGate } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { findFailedConstraint } from '../database/constraint-errors'
import { checkPolicy, planPolicy, setPolicy } from '../grants/actions'
import type { Policy } from '../grants/policy'
import { findNotGranted, previewDefined, type ToolChanges } from '../grants/preview'
import {
  type AccountPolicyRow,
  readDefaultPolicy,
  selectPolicies,
  selectToolsVersion,
  toEffectivePolicy,
} from '../grants/queries'
import { armSweep, wakeAgents } from '../inbox/wake'
import { putExplorationStatements } from '../scheduling/exploration-queries'
import { agentWaitStatements } from '../scheduling/outage-queries'
import { guardSet, selectSetByName, setConstraint } from '../trials/set-queries'
import {
  type ActiveDefinition,
  type DefinitionRow,
  guardAgentsOfOwner,
  insertAgentAccount,
  insertDefinition,
  selectActiveDefinition,
  selectActiveDefinitions,
  selectDefinition,
  selectDefinitionsNaming,
  selectNamedAccount,
  selectOutdated,
  selectOwnUse,
  selectVersions,
  tooManyConstraint,
  tooManySavesConstraint,
  updateAgentModels,
  upsertAgent,
} from './definition-queries'
import {
  definitionErrors,
  diffFiles,
  type Editor,
  type FileDiff,
  findNewAdminFields,
  requireCreator,
  requireEditor,
  toDiffDetails,
} from './definition-rules'
import type { HeldDefinition } from './held-queries'
import { holdDefinition, type Saver } from './hold-definition'

/** The active definition after a save. */
export interface SavedDefinition extends DefinitionRow {
  /** What was saved, when it has to pass a trial before it becomes active; null: it is active. */
  held: HeldDefinition | null
}

/** A save with the grants to add to the policy of the agent in the same step. */
type SaveWithGrants = SaveOptions & { allowGrants: string[] }

/**
 * Saves a definition and adds grants to the agent's own policy in the same step; both wait when the agent's changes have to
 * pass a trial.
 *
 * @param allowGrants grants to allow besides those that the policy of the agent allows already
 * @throws as `putDefinition`, FORBIDDEN for grants that a member allows, VALIDATION for grants that a policy
 *   cannot allow
 */
export const saveDefinition = (
  context: ActionContext,
  editor: Saver,
  name: string,
  files: DefinitionFiles,
  options: Omit<SaveWithGrants, 'alongside'>,
): Promise<SavedDefinition> => putWithGrants(context, editor, name, files, options)

/** The same without the trial, with what is written alongside. */
export const applyDefinition = (
  context: ActionContext,
  editor: Saver,
  name: string,
  files: DefinitionFiles,
  options: SaveWithGrants & Required<Pick<SaveOptions, 'alongside'>>,
): Promise<DefinitionRow> => putWithGrants(context, editor, name, files, options)

async function putWithGrants(
  context: ActionContext,
  editor: Saver,
  name: string,
  files: DefinitionFiles,
  options: SaveWithGrants,
): Promise<SavedDefinition> {
  const { allowGrants } = options
  if (allowGrants.length === 0) return putDefinition(context, editor, name, files, options)
  if (editor.role !== 'admin') throw definitionErrors.grantsByAdmin(allowGrants)
  const rows = await run(context.db, selectPolicies({ name }))
  const policy = addGrants(rows, name, allowGrants)
  const stands = rows.find((row) => row.name === name) ?? rows.find(({ id }) => id === '*')
  if (stands) await context.tools.refresh(toEffectivePolicy(stands))
  checkPolicy(policy, stands ?? { own: null, default: null }, context)
  const own = rows.find((row) => row.name === name && row.id !== '*')
  const write = { name, policy, by: editor, isDryRun: false, seenAt: own?.updatedAt ?? 0 }
  if (own) {
    const { statements } = await planPolicy(context, write)
    return putDefinition(context, editor, name, files, { ...options, policy: statements })
  }
  // A new agent has no account yet.
  const saved = await putDefinition(context, editor, name, files, options)
  await setPolicy(context, { ...write, name: saved.name })
  return saved
}

/** Returns the own policy of an account with more grants; without one, that of the default. */
function addGrants(rows: AccountPolicyRow[], name: string, grants: string[]): Policy {
  const row = rows.find((each) => each.name === name && each.id !== '*')
  const base = rows.find(({ id }) => id === '*')
  const own = row?.own ?? {
    denied: [],
    requireApproval: [],
    rateLimits: [],
    allowed: base ? readDefaultPolicy(base).allowed : [],
  }
  return { ...own, allowed: [...new Set([...own.allowed, ...grants])] }
}

/**
 * Makes an earlier version of a definition the active one, as a new version with its files.
 *
 * @throws NOT_FOUND, and as `putDefinition`
 */
export async function restoreDefinition(
  context: ActionContext,
  editor: Saver,
  name: string,
  { version, baseVersion }: { version: number; baseVersion?: number | undefined },
): Promise<SavedDefinition> {
  const { versions, definition } = await batch(context.db, {
    versions: selectVersions({ name }),
    definition: selectDefinition({ name }),
  })
  if (!definition) throw definitionErrors.notFound()
  requireEditor(editor, definition.ownerId)
  const earlier = versions.find((each) => each.version === version)
  if (!earlier) throw definitionErrors.noVersion(name, version)
  const files = await readFiles(context, name, earlier)
  return putDefinition(context, editor, name, files, { baseVersion, restoredFrom: version })
}

/** Returns the files of a version. @throws NOT_FOUND when the bucket does not have all of them */
export async function readFiles(
  { agents }: ActionContext,
  name: string,
  { version, etag }: { version: number; etag: string },
): Promise<DefinitionFiles> {
  const files = await agents.readDefinition(name, etag)
  if (!files) throw definitionErrors.missingFiles(name, version)
  return files
}

/** What saving a definition would change. */
export interface DefinitionPreview {
  /** Null for a new agent, and when the hub can no longer read the current version. */
  before: DefinitionFacts | null
  after: DefinitionFacts
  diffs: FileDiff[]
  /** Requested grants that the current version does not request. */
  requestedMore: string[]
  requestedLess: string[]
  tools: ToolChanges
  /** Tools that the agent can use once an admin allows what is allowable. */
  gainsIfAllowed: string[]
  /** Requested grants that an admin can allow, since the policy does not allow them yet. */
  allowable: string[]
  /** Requested grants that the policy denies. */
  denied: string[]
  /** Fields that a member must not set: those that the current version does not have. */
  adminFields: AdminField[]
}

interface PreviewRequest {
  /** Files of the current version; null for a new agent. */
  current: DefinitionFiles | null
  files: DefinitionFiles
  facts: DefinitionFacts
  /** The default policy, and that of the agent if it exists. */
  policies: AccountPolicyRow[]
}

/** Returns what saving a valid definition would change. */
export async function previewDefinition(
  { agents, tools }: Pick<ActionContext, 'agents' | 'tools'>,
  { current, files, facts, policies }: PreviewRequest,
): Promise<DefinitionPreview> {
  const check = current && (await agents.checkDefinition(current))
  const before = check?.ok ? check.facts : null
  const row = findRow(policies, facts.name)
  if (row) await tools.refresh(toEffectivePolicy(row))
  const own = addGrants(policies, facts.name, facts.grants)
  const requesting = row && { ...row, requested: facts.grants }
  const missing = requesting ? findNotGranted(toEffectivePolicy(requesting), tools) : facts.grants
  const denied = requesting ? findNotGranted(toEffectivePolicy({ ...requesting, own }), tools) : []
  const old = before?.grants ?? []
  const allowable = missing.filter((grant) => !denied.includes(grant))
  const usableNow = current ? agents.listToolsOf(current, tools.names) : []
  const usable = agents.listToolsOf(files, tools.names)
  const changeTo = (then: AccountPolicyRow | null): ToolChanges =>
    row && then
      ? previewDefined({ row, usable: usableNow }, { row: then, usable }, tools)
      : noChanges
  const changes = changeTo(requesting)
  const allowed = requesting && { ...requesting, own: addGrants(policies, facts.name, allowable) }
  return {
    before,
    after: facts,
    denied,
    adminFields: findNewAdminFields(before, facts),
    diffs: diffFiles(current ?? {}, files),
    requestedMore: facts.grants.filter((grant) => !old.includes(grant)),
    requestedLess: old.filter((grant) => !facts.grants.includes(grant)),
    tools: changes,
    gainsIfAllowed: changeTo(allowed).gains.filter((tool) => !changes.gains.includes(tool)),
    allowable,
  }
}

const noChanges: ToolChanges = { gains: [], loses: [], moreApproval: [], lessApproval: [] }

/** Returns the policy of an agent; for a new one the default, with nothing requested yet. */
function findRow(policies: AccountPolicyRow[], name: string): AccountPolicyRow | null {
  const own = policies.find((row) => row.name === name && row.id !== '*')
  if (own) return { ...own, requested: own.requested ?? [] }
  const base = policies.find(({ id }) => id === '*')
  const id = 'new' as AccountId
  return base ? { ...base, id, name, kind: 'agent', own: null, requested: [] } : null
}

/** Agents whose definitions are read and written at a time. */
const agentsAtOnce = 25

/** Reads again which models each agent can use, with what their calls reserve, after a provider was changed. */
export const refreshModels = (context: ActionContext): Promise<void> =>
  checkAgain(context, selectActiveDefinitions({}))

/** Checks the definitions that name a tool server again: what they warn of depends on its tools. */
export const refreshWarnings = (context: ActionContext, server: string): Promise<void> =>
  checkAgain(context, selectDefinitionsNaming({ server }))

/** Checks at most, when tools change during each of them. Whoever changes them checks again, too. */
const checksMax = 5

/** A definition that was saved meanwhile stays as it is: it was checked with what the hub has now. */
async function checkAgain(
  context: ActionContext,
  definitions: Statement<ActiveDefinition[]>,
): Promise<void> {
  for (let check = 0; check < checksMax; check++) {
    const { isCurrent } = await checkOnce(context, definitions)
    if (isCurrent) return
  }
}

/** Answers whether the tools are still those with which the definitions were checked. */
async function checkOnce(
  context: ActionContext,
  definitions: Statement<ActiveDefinition[]>,
): Promise<{ isCurrent: boolean }> {
  const { db, clock, agents, models, tools } = context
  const { rows, connections, toolsVersion } = await batch(db, {
    rows: definitions,
    connections: models.selectConnections(),
    toolsVersion: selectToolsVersion({}),
  })
  if (rows.length === 0) return { isCurrent: true }
  let isCurrent = true
  await tools.refresh({ toolsVersion })
  for (let from = 0; from < rows.length; from += agentsAtOnce) {
    const statements = await Promise.all(
      rows.slice(from, from + agentsAtOnce).map(async ({ agentId, name, version, etag }) => {
        const files = await agents.readDefinition(name, etag)
        const check = files && (await agents.checkDefinition(files, connections))
        if (!check?.ok) return []
        const checked = { now: clock.now(), toolsVersion }
        return updateAgentModels({ agentId, version, etag }, check.facts, checked)
      }),
    )
    const { latest } = await batch(db, {
      statements: statements.flat(),
      latest: selectToolsVersion({}),
    })
    isCurrent &&= latest === toolsVersion
  }
  return { isCurrent }
}

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
interface SaveOptions {
  /** The version that the author started from, 0 for a new agent; absent skips the conflict check. */
  baseVersion?: number | undefined
  /** The earlier version whose files these are. */
  restoredFrom?: number
  /** What is written alongside a change that has passed its trial, or that an admin applies all the same; absent: others. */
  alongside?: Statement<void>[]
  /** Grants that wait with it. */
  allowGrants?: string[]
  /** What adds them to the policy of the agent, with the version. */
  policy?: Statement<void>[]
}

/**
 * Validates a definition and makes it the agent's active version; creates the agent if necessary. The
 * same files again change nothing. A member creates agents that they own, and changes only those.
 *
 * @throws FORBIDDEN for others' agents and for what only admins set, INVALID_DEFINITION with file, line and field; the previous version stays active. CONFLICT
 *   with the differences when the current version is not the one that the author started from
 */
async function putDefinition(
  context: ActionContext,
  editor: Saver,
  name: string,
  files: DefinitionFiles,
  options: SaveOptions = {},
): Promise<SavedDefinition> {
  const { agents, scheduler } = context
  requireCreator(editor)
  const check = await agents.checkDefinition(files)
  const facts = requireValid(check, name)
  const sent = { name, files, facts, options, editor }
  const current = await findAgent(context, name, editor)
  await requireMaySave(context, current, sent)
  await refuseOutdated(context, current, sent)
  await refuseUnknownSet(context, current, sent)
  const { definition } = current
  if (definition?.gate && definition.etag !== facts.etag && !options.alongside) {
    return hold(context, { gate: definition.gate, definition }, sent)
  }
  await agents.saveDefinition(name, facts.etag, files)
  const token = await armSweep(context)
  const { row, outdated, toolsVersion } = await writeDefinition(context, sent, current).catch(
    async (error: unknown) => {
      const failed = findFailedConstraint(error)
      if (failed === setConstraint) throw unknownSet(sent)
      if (failed === tooManyConstraint) throw definitionErrors.tooMany()
      if (failed === tooManySavesConstraint) throw definitionErrors.tooManySaves()
      const isTaken = current.id === null && failed === 'accounts.name'
      if (!isTaken && failed !== 'agent_definitions.account_id') throw error
      // Another request registered the name or saved a version in between.
      const changed = await findAgent(context, name, editor)
      await requireMaySave(context, changed, sent)
      await refuseOutdated(context, changed, sent)
      await refuseUnknownSet(context, changed, sent)
      return writeDefinition(context, sent, changed)
    },
  )
  // Wake the agent: it can have unclaimed mentions from before this definition.
  context.defer(wakeAgents(context, [{ accountId: row.agentId }], token))
  if (outdated) context.defer(agents.deleteDefinition(name, outdated.etag))
  if (facts.exploration || facts.schedules.length > 0) context.defer(scheduler.sweepNow())
  const checkedWith = check.ok ? check.toolsVersion : undefined
  if (checkedWith === undefined || checkedWith === toolsVersion) return { ...row, held: null }
  // Tools changed since the check. Whoever changed them did not find this version to check it.
  await checkAgain(context, selectActiveDefinition({ agentId: row.agentId }))
  return { ...((await run(context.db, selectDefinition({ name }))) ?? row), held: null }
}

/**
 * Returns the set that a definition names for the trial of its changes and that its agent must have; null for none. A new
 * agent has no runs to make a set of yet, what stands already stays, and an earlier version is restored as it was.
 */
function findNewSet({ definition }: Current, { facts, options }: Sent): string | null {
  const set = facts.trial?.set ?? null
  if (definition === null || options.restoredFrom !== undefined) return null
  return set === definition.gate?.set ? null : set
}

/** @throws INVALID_DEFINITION for a trial on a set that the agent does not have: nothing would pass it */
async function refuseUnknownSet(
  { db }: ActionContext,
  current: Current,
  sent: Sent,
): Promise<void> {
  const name = findNewSet(current, sent)
  if (name === null || current.id === null) return
  if (!(await run(db, selectSetByName({ agentId: current.id, name })))) throw unknownSet(sent)
}

const unknownSet = ({ name, facts: { trial, trialPath } }: Sent): AppError =>
  definitionErrors.invalid(name, [
    {
      path: trialPath,
      message: `The agent has no set ${trial?.set}. Create it on the page of its sets, or name another one`,
    },
  ])

async function hold(
  context: ActionContext,
  { gate, definition }: { gate: TrialGate; definition: DefinitionRow },
  { name, files, facts, options, editor }: Sent,
): Promise<SavedDefinition> {
  const held = await holdDefinition(context, editor, {
    agentId: definition.agentId,
    name,
    files,
    facts,
    gate,
    baseVersion: definition.version,
    restoredFrom: options.restoredFrom ?? null,
    allowGrants: options.allowGrants ?? [],
  })
  return { ...definition, held }
}

/** A valid definition that is being saved. */
interface Sent {
  name: string
  files: DefinitionFiles
  facts: DefinitionFacts
  options: SaveOptions
  editor: Saver
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
  sent: Sent,
  current: Current,
): Promise<{
  row: DefinitionRow
  outdated: { etag: string } | undefined
  toolsVersion: number
}> {
  const { db, clock } = context
  const { facts, options, editor } = sent
  const { name, displayName, description } = facts
  const now = clock.now()
  const existingId = current.id
  const id = existingId ?? clock.newId<AccountId>()
  const set = findNewSet(current, sent)
  const {
    definition: row,
    outdated,
    toolsVersion,
  } = await batch(db, {
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
      action: 'definition.push',
      targetType: 'account',
      targetId: id,
      after: {
        etag: facts.etag,
        schedules: facts.schedules.length,
        is_new: existingId === null,
        ...(options.restoredFrom !== undefined && { restored_from: options.restoredFrom }),
      },
    }),
    agent: upsertAgent(id, facts, now),
    exploration: putExplorationStatements(id, facts, editor.id as AccountId, now),
    budget: setDefinitionBudget(id, facts.budget.costPerDayMicrousd, now),
    wait: agentWaitStatements(id, now),
    set: set === null ? null : guardSet(id, set),
    policy: options.policy ?? null,
    alongside: options.alongside ?? null,
    definition: selectDefinition({ name }),
    outdated: selectOutdated({ accountId: id }),
    toolsVersion: selectToolsVersion({}),
  })
  if (!row) throw new Error(`The definition of ${name} was written but not found`)
  return { row, outdated, toolsVersion }
}

/**
 * Gives grants to agents: writes them into their definitions, and allows them in their policies where they are not
 * allowed yet. An agent that cannot be given them does not keep the others from it.
 *
 * @throws CONFLICT with the agents that were not given the grants, and why
 */
export async function giveGrants(
  context: ActionContext,
  admin: Saver,
  names: readonly string[],
  grants: readonly string[],
): Promise<void> {
  const failures: string[] = []
  for (const name of names) {
    try {
      await giveTo(context, admin, name, grants)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      failures.push(`@${name}: ${error.message}`)
    }
  }
  if (failures.length > 0) throw definitionErrors.notGiven(failures)
}

async function giveTo(
  context: ActionContext,
  admin: Saver,
  name: string,
  grants: readonly string[],
): Promise<void> {
  const { db, agents, tools } = context
  const { definition, policies } = await batch(db, {
    definition: selectDefinition({ name }),
    policies: selectPolicies({ name }),
  })
  const row = policies.find((each) => each.name === name && each.id !== '*')
  if (!definition || !row) throw definitionErrors.notFound()
  const files = await readFiles(context, name, definition)
  const form = agents.forms.read(files)
  if (!form) throw definitionErrors.noForm()
  const requested = [...new Set([...form.grants, ...grants])]
  const requesting = { ...row, requested: [...grants] }
  await tools.refresh(toEffectivePolicy(requesting))
  const allowGrants = findNotGranted(toEffectivePolicy(requesting), tools)
  const own = addGrants(policies, name, allowGrants)
  const denied = findNotGranted(toEffectivePolicy({ ...requesting, own }), tools)
  if (denied.length > 0) throw definitionErrors.grantsDenied(denied)
  const changed = agents.forms.write(files, { ...form, grants: requested })
  const options = { baseVersion: definition.version, allowGrants }
  const { held } = await saveDefinition(context, admin, name, changed, options)
  if (held) throw definitionErrors.heldForTrial()
}
