import { trialLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import { foldText } from '../../shared/fold-text'
import { formatCount } from '../../shared/format'
import type { ActivationId, CaseId, CaseSetId } from '../../shared/ids'
import { canEditAgent, definitionErrors } from '../agents/definition-rules'
import type { Actor, CaseCheck } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { findFailedConstraint, toConstraintError } from '../database/constraint-errors'
import {
  type IdempotentResult,
  runActionOnce,
  runOnce,
  runOrReturnStored,
} from '../database/run-once'
import { type Caller, canReplay } from '../replays/actions'
import { deleteLanes } from '../replays/lane-api'
import { deleteReplays } from '../replays/queries'
import { assertNoCredentials } from '../rules/credential-patterns'
import type { PersonAnswer } from '../rules/people-sql'
import { guardActor } from '../viewers/queries'
import { type CaseChange, type CaseInput, formatLine, readLines } from './set-inputs'
import {
  type CaseRun,
  deleteCase as deleteCaseRow,
  deleteSets,
  guardRename,
  guardUnusedSet,
  insertCases,
  insertSet,
  type NewCase,
  renameSet as renameSetRow,
  type StoredCase,
  type StoredSet,
  selectAgent,
  selectBadRating,
  selectCase,
  selectCases,
  selectCasesOf,
  selectLanesOfSets,
  selectRuns,
  selectSet,
  selectSetByName,
  selectSets,
  selectSetUse,
  setConstraint,
  unusedSetSql,
  updateCase,
} from './set-queries'

/** A set with how many cases it has. */
export interface SetRow {
  id: CaseSetId
  agent: PersonAnswer
  agentName: string
  name: string
  cases: number
  /** Whether changes of the agent have to pass a trial on it. */
  isGate: boolean
  createdAt: number
}

/** A case with what a reader may see of its run. */
export interface CaseRow {
  id: CaseId
  activationId: ActivationId
  /** The beginning of what the run was asked, and of what it answered; empty for whoever does not see all of the run. */
  question: string
  answer: string
  isVisible: boolean
  checks: CaseCheck[]
  note: string
  createdAt: number
}

export interface SetView extends SetRow {
  rows: CaseRow[]
}

/** Errors of sets and cases, as users read them. */
export const setErrors = {
  agentNotFound: () => notFound('agent', 'Only agents that run on this hub have sets.'),
  notFound: () => notFound('set'),
  caseNotFound: () => notFound('case'),
  runNotFound: () => notFound('run'),
  hidden: () =>
    new AppError('FORBIDDEN', 'Only people who see the prompts of a run can make a case of it.', {
      hint: 'Ask the owner of the agent, or an admin.',
    }),
  nameTaken: (cause: unknown) =>
    new AppError('CONFLICT', 'The agent already has a set with this name.', {
      hint: 'Add the cases to that one, or choose another name.',
      cause,
    }),
  tooManySets: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `The agent has ${trialLimits.setsPerAgent} sets, the most that an agent can have.`,
      { hint: 'Delete one that is no longer used.', cause },
    ),
  full: () =>
    new AppError(
      'CONFLICT',
      `The set has ${trialLimits.casesPerSet} cases, the most that a set can have.`,
      { hint: 'Delete cases that are no longer used, or use another set.' },
    ),
  isTried: () =>
    new AppError('CONFLICT', 'A trial of this set has not finished.', {
      hint: 'Wait until the trial has finished, or cancel it.',
    }),
  isGate: (agent: string, set: string) =>
    new AppError('CONFLICT', `Changes of @${agent} have to pass a trial on the set ${set}.`, {
      hint: `Take trial out of the config.yaml of ${agent}, or name another set there. Then try again.`,
    }),
  notEnded: () =>
    new AppError('CONFLICT', 'The run has not ended.', {
      hint: 'Wait until the run has ended, then add it.',
    }),
  otherAgent: (agent: string, of: string) =>
    new AppError('CONFLICT', `The run is of @${of}, and the set is of @${agent}.`, {
      hint: `Add it to a set of @${of}.`,
    }),
  program: () =>
    new AppError('CONFLICT', 'The run was made by a coding agent, which cannot be replayed.', {
      hint: 'Choose a run of another agent.',
    }),
  gone: () =>
    new AppError('CONFLICT', 'What the run was asked, or its answer, was deleted or removed.', {
      hint: 'Choose another run.',
    }),
  importTooLarge: () =>
    new AppError('TOO_LARGE', 'The import is too large.', {
      hint: `Import at most ${trialLimits.importBytesMax / 1024} KiB at a time.`,
    }),
  importTooLong: () =>
    new AppError(
      'TOO_LARGE',
      `The import has more than ${formatCount(trialLimits.importLinesMax)} lines.`,
      { hint: `Import at most ${formatCount(trialLimits.casesPerSet)} cases into a set.` },
    ),
  noRuns: () =>
    new AppError('VALIDATION', 'No run is chosen.', { hint: 'Choose one or more runs.' }),
  agentsDiffer: (names: string[]) =>
    new AppError(
      'CONFLICT',
      `The chosen runs are of ${names.map((name) => `@${name}`).join(' and ')}.`,
      { hint: 'A set has runs of one agent. Choose runs of one agent.' },
    ),
}

/** Whether somebody may see the sets and trials of an agent: people who may edit it. */
export const canTry = ({ viewer }: Caller, { ownerId }: Pick<StoredSet, 'ownerId'>): boolean =>
  viewer.kind !== 'agent' && canEditAgent(viewer, ownerId)

/** Returns an agent whose sets somebody may see. @throws NOT_FOUND, FORBIDDEN */
async function findAgent({ db }: ActionContext, caller: Caller, name: string) {
  const agent = await run(db, selectAgent({ name }))
  if (!agent) throw setErrors.agentNotFound()
  if (!canTry(caller, agent)) throw definitionErrors.notOwner()
  return agent
}

/** Returns a set that somebody may see. @throws NOT_FOUND, as for an id that does not exist */
async function findSet({ db }: ActionContext, caller: Caller, id: string): Promise<StoredSet> {
  const set = await run(db, selectSet({ id }))
  if (!set || !canTry(caller, set)) throw setErrors.notFound()
  return set
}

/** The same of a case. @throws NOT_FOUND */
async function findCase({ db }: ActionContext, caller: Caller, id: string): Promise<StoredCase> {
  const found = await run(db, selectCase({ id, reader: caller.reader }))
  if (!found || !canTry(caller, found)) throw setErrors.caseNotFound()
  return found
}

const toSetRow = ({ ownerId: _, agentId: _of, ...row }: StoredSet): SetRow => row

/** Returns what a reader may see of a case. */
function toCaseRow(caller: Caller, of: StoredCase): CaseRow {
  const { id, activationId, createdAt } = of
  const isVisible = canReplay(caller, of)
  const { question, answer, checks, note } = isVisible
    ? of
    : { question: '', answer: '', checks: [], note: '' }
  return { id, activationId, question, answer, isVisible, checks, note, createdAt }
}

/** Returns the sets of an agent, by name. @throws NOT_FOUND, FORBIDDEN for whoever may not edit the agent */
export async function listSets(
  context: ActionContext,
  caller: Caller,
  agent: string,
): Promise<SetRow[]> {
  await findAgent(context, caller, agent)
  return (await run(context.db, selectSets({ agent }))).map(toSetRow)
}

/** Returns a set with its cases, the newest first. @throws NOT_FOUND */
export async function readSet(
  context: ActionContext,
  caller: Caller,
  id: string,
): Promise<SetView> {
  const set = await findSet(context, caller, id)
  const rows = await run(context.db, selectCases({ setId: set.id, reader: caller.reader }))
  return { ...toSetRow(set), rows: rows.map((row) => toCaseRow(caller, row)) }
}

/** Creates a set. @throws NOT_FOUND, FORBIDDEN, CONFLICT for a name that exists, and for one set too many */
export async function createSet(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  agent: string,
  input: { name: string },
): Promise<IdempotentResult<SetRow>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  assertNoCredentials(input, context.settings)
  const once = { accountId, key, action: 'sets.create', input: { agent, ...input } }
  return runOrReturnStored(db, once, async () => {
    const { id: agentId, gate, ...found } = await findAgent(context, caller, agent)
    const { name: agentName, person } = found
    const now = clock.now()
    const id = clock.newId<CaseSetId>(now)
    return runOnce(db, once, {
      now,
      answer: {
        id,
        agent: person,
        agentName,
        name: input.name,
        cases: 0,
        createdAt: now,
        isGate: gate?.setKey === foldText(input.name),
      },
      constraints: {
        'case_sets.created_at': setErrors.tooManySets,
        'case_sets.agent_id': setErrors.nameTaken,
      },
      statements: {
        guard: await guardActor(context, actor, {}),
        set: insertSet({ id, agentId, name: input.name, createdBy: accountId, createdAt: now }),
      },
    })
  })
}

/**
 * Renames a set.
 *
 * @throws NOT_FOUND; CONFLICT for a name that another set of the agent has, and while changes of its agent have to pass a
 * trial on it
 */
export async function renameSet(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  id: string,
  input: { name: string },
): Promise<SetRow> {
  assertNoCredentials(input, context.settings)
  const set = await findSet(context, caller, id)
  try {
    await batch(context.db, {
      guard: await guardActor(context, actor, {}),
      free: guardRename(set.id, input.name),
      set: renameSetRow(set.id, input.name),
    })
  } catch (error) {
    if (findFailedConstraint(error) === setConstraint) {
      const use = await run(context.db, selectSetUse(set.id))
      throw use ? setErrors.isGate(set.agentName, set.name) : setErrors.notFound()
    }
    throw toConstraintError(error, { 'case_sets.agent_id': setErrors.nameTaken }) ?? error
  }
  return { ...toSetRow(set), name: input.name }
}

/**
 * Deletes a set with its cases and trials.
 *
 * @throws NOT_FOUND; CONFLICT while a trial of it has not finished, and while changes of its agent have to pass one
 */
export async function deleteSet(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  id: string,
): Promise<void> {
  const { db } = context
  const set = await findSet(context, caller, id)
  const sets = unusedSetSql(set.id)
  const { use, lanes } = await batch(db, {
    use: selectSetUse(set.id),
    lanes: selectLanesOfSets(sets),
  })
  requireUnused(set, use)
  try {
    await batch(db, {
      guard: await guardActor(context, actor, {}),
      unused: guardUnusedSet(set.id),
      ...deleteSets(sets),
      ...deleteReplays(lanes),
    })
  } catch (error) {
    if (findFailedConstraint(error) !== setConstraint) throw error
    // Another request has put it to use, or deleted it, meanwhile.
    requireUnused(set, await run(db, selectSetUse(set.id)))
    throw error
  }
  context.defer(deleteLanes(context, lanes))
}

/** @throws NOT_FOUND, and CONFLICT with what keeps a set from being deleted */
function requireUnused(
  { agentName, name }: Pick<StoredSet, 'agentName' | 'name'>,
  use: { hasOpenTrial: boolean; isGate: boolean } | undefined,
): void {
  if (!use) throw setErrors.notFound()
  if (use.isGate) throw setErrors.isGate(agentName, name)
  if (use.hasOpenTrial) throw setErrors.isTried()
}

/** Why a run cannot be a case of a set of an agent; null when it can. */
function findRefusal(
  caller: Caller,
  found: CaseRun | undefined,
  agent: { id: string; name: string },
): AppError | null {
  if (!found) return setErrors.runNotFound()
  if (!canReplay(caller, found)) {
    if (!found.isListed) return setErrors.runNotFound()
    return found.isGone ? setErrors.gone() : setErrors.hidden()
  }
  if (found.agentId !== agent.id) return setErrors.otherAgent(agent.name, found.agentName)
  if (found.state !== 'done') return setErrors.notEnded()
  if (found.program !== null) return setErrors.program()
  return found.isGone ? setErrors.gone() : null
}

const toNewCase = (
  { clock }: ActionContext,
  activationId: ActivationId,
  { checks, note }: Pick<CaseInput, 'checks' | 'note'>,
): NewCase => ({ id: clock.newId<CaseId>(clock.now()), activationId, checks, note })

/** Adds cases to a set as far as it has room. Returns the ids of the cases of all these runs that it now has, by run. */
async function addCases(
  context: ActionContext,
  actor: Actor,
  setId: CaseSetId,
  rows: NewCase[],
): Promise<Map<string, CaseId>> {
  const set = { id: setId, createdBy: actor.accountId, now: context.clock.now() }
  const { stored } = await batch(context.db, {
    guard: await guardActor(context, actor, {}),
    inserted: insertCases(set, rows),
    stored: selectCasesOf({
      setId,
      runs: JSON.stringify(rows.map(({ activationId }) => activationId)),
    }),
  })
  return new Map(stored.map(({ id, activationId }) => [activationId, id]))
}

/**
 * Adds a run to a set. One that it has stays as it is.
 *
 * @throws NOT_FOUND; FORBIDDEN for whoever does not see all of the run; CONFLICT for a run that cannot be a case, and when
 *   the set is full
 */
export async function addCase(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  setId: string,
  input: CaseInput,
): Promise<IdempotentResult<CaseRow>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  assertNoCredentials(textsOf(input), context.settings)
  const once = { accountId, key, action: 'cases.create', input: { setId, ...input } }
  return runActionOnce(db, once, clock.now(), async () => {
    const set = await findSet(context, caller, setId)
    const runs = JSON.stringify([input.activation_id])
    const [found] = await run(db, selectRuns({ ids: runs, reader: caller.reader }))
    const refusal = findRefusal(caller, found, { id: set.agentId, name: set.agentName })
    if (refusal || !found) throw refusal ?? setErrors.runNotFound()
    const added = await addCases(context, actor, set.id, [toNewCase(context, found.id, input)])
    const id = added.get(found.id)
    if (id === undefined) throw setErrors.full()
    return toCaseRow(caller, await findCase(context, caller, id))
  })
}

/** Texts of a case that could hold a credential, by field. */
const textsOf = ({ checks = [], note = '' }: CaseChange): Record<string, string> => ({
  checks: JSON.stringify(checks),
  note,
})

/** Changes the checks and the note of a case. @throws NOT_FOUND; FORBIDDEN for whoever does not see all of its run */
export async function editCase(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  id: string,
  change: CaseChange,
): Promise<CaseRow> {
  assertNoCredentials(textsOf(change), context.settings)
  const found = await findCase(context, caller, id)
  if (!canReplay(caller, found)) throw setErrors.hidden()
  const fields = { checks: change.checks ?? found.checks, note: change.note ?? found.note }
  const { isThere } = await batch(context.db, {
    guard: await guardActor(context, actor, {}),
    isThere: updateCase(found.id, fields),
  })
  if (!isThere) throw setErrors.caseNotFound()
  return toCaseRow(caller, { ...found, ...fields })
}

/** Deletes a case and returns its set. Trials keep what they tried. @throws NOT_FOUND */
export async function deleteCase(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  id: string,
): Promise<CaseSetId> {
  const found = await findCase(context, caller, id)
  await batch(context.db, {
    guard: await guardActor(context, actor, {}),
    deleted: deleteCaseRow(found.id),
  })
  return found.setId
}

/** Returns a set as JSON lines: a case each, of the runs of which the caller sees all. @throws NOT_FOUND */
export async function exportSet(
  context: ActionContext,
  caller: Caller,
  id: string,
): Promise<{ name: string; lines: string }> {
  const { name, rows } = await readSet(context, caller, id)
  const visible = rows.filter(({ isVisible }) => isVisible)
  return { name, lines: visible.map(formatLine).join('') }
}

/** What came of a line of an import. */
export interface ImportedLine {
  /** From 1. */
  line: number
  /** `kept`: the set had it. */
  result: 'added' | 'kept' | 'refused'
  caseId: CaseId | null
  /** Why it was refused; empty otherwise. */
  message: string
}

/** Why lines of an import are refused, as sentences. */
const lineProblems = {
  tooMany: () =>
    `An import can name ${formatCount(trialLimits.importRunsMax)} runs that the set does not have.`,
  full: () =>
    `The set has ${formatCount(trialLimits.casesPerSet)} cases, the most that a set can have.`,
} as const

/**
 * Adds the runs of JSON lines, as `exportSet` returns them, to a set, and returns what came of each line. Nothing of a line
 * that is refused is stored, and a run that the set has stays as it is.
 *
 * @throws NOT_FOUND; TOO_LARGE
 */
export async function importCases(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  setId: string,
  text: string,
): Promise<ImportedLine[]> {
  const { db, settings } = context
  const set = await findSet(context, caller, setId)
  if (new TextEncoder().encode(text).length > trialLimits.importBytesMax) {
    throw setErrors.importTooLarge()
  }
  const lines = readLines(text)
  if (lines.length > trialLimits.importLinesMax) throw setErrors.importTooLong()
  const named = new Set(lines.flatMap((each) => ('input' in each ? each.input.activation_id : [])))
  const runs = JSON.stringify([...named])
  const before = await run(db, selectCasesOf({ setId: set.id, runs }))
  const kept = new Map<string, CaseId>(before.map(({ id, activationId }) => [activationId, id]))
  const missing = [...named].filter((id) => !kept.has(id))
  const looked = new Set(missing.slice(0, trialLimits.importRunsMax))
  const ids = JSON.stringify([...looked])
  const found = await run(db, selectRuns({ ids, reader: caller.reader }))
  const byId = new Map<string, CaseRun>(found.map((each) => [each.id, each]))

  const refuse = (input: CaseInput): string | null => {
    if (!looked.has(input.activation_id)) return lineProblems.tooMany()
    const of = byId.get(input.activation_id)
    const agent = { id: set.agentId, name: set.agentName }
    return findRefusal(caller, of, agent)?.message ?? findCredentialProblem(input, settings)
  }
  const chosen = new Map<string, { line: number; row: NewCase }>()
  const results = lines.map((each): ImportedLine | { line: number; run: string } => {
    const { line } = each
    const refused = (message: string): ImportedLine => ({
      line,
      result: 'refused',
      caseId: null,
      message,
    })
    if ('problem' in each) return refused(each.problem)
    const { activation_id: id } = each.input
    const caseId = kept.get(id)
    if (caseId !== undefined) return { line, result: 'kept', caseId, message: '' }
    const problem = refuse(each.input)
    if (problem !== null) return refused(problem)
    const row = toNewCase(context, id as ActivationId, each.input)
    if (!chosen.has(id)) chosen.set(id, { line, row })
    return { line, run: id }
  })
  const added = await addCases(
    context,
    actor,
    set.id,
    [...chosen.values()].map(({ row }) => row),
  )
  return results.map((each) => {
    if (!('run' in each)) return each
    const { line } = each
    const caseId = added.get(each.run)
    if (caseId === undefined)
      return { line, result: 'refused', caseId: null, message: lineProblems.full() }
    const isFirst = chosen.get(each.run)?.line === line
    return { line, result: isFirst ? 'added' : 'kept', caseId, message: '' }
  })
}

/** Returns why a case holds a credential, as a sentence; null when it holds none. */
function findCredentialProblem(
  input: CaseInput,
  settings: ActionContext['settings'],
): string | null {
  try {
    assertNoCredentials(textsOf(input), settings)
    return null
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}

/** What came of a run that was to be added to a set. */
export interface AddedRun {
  activationId: ActivationId
  /** `kept`: the set had it. */
  result: ImportedLine['result']
  /** Why it was refused; empty otherwise. */
  message: string
}

/**
 * Adds those runs of one agent that can be cases to its set with a name, which is created when there is none. Returns the
 * set, what came of each run, and the case of the first one that it has.
 *
 * @param note what would have been right, for the cases that are added
 * @throws VALIDATION without runs; NOT_FOUND, FORBIDDEN; CONFLICT for runs of several agents, and when none can be a case
 */
export async function addRuns(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  { runs, name, note = '' }: { runs: string[]; name: string; note?: string },
): Promise<{ setId: CaseSetId; caseId: CaseId; runs: AddedRun[] }> {
  assertNoCredentials({ note }, context.settings)
  const ids = [...new Set(runs)].slice(0, trialLimits.casesPerSet + 1)
  if (ids.length > trialLimits.casesPerSet) throw setErrors.full()
  const list = JSON.stringify(ids)
  const found = await run(context.db, selectRuns({ ids: list, reader: caller.reader }))
  const [first] = found
  if (ids.length === 0) throw setErrors.noRuns()
  if (!first || found.length < ids.length) throw setErrors.runNotFound()
  const names = [...new Set(found.map(({ agentName }) => agentName))]
  const refusals = found.map((each) =>
    findRefusal(caller, each, { id: each.agentId, name: each.agentName }),
  )
  const unseen = refusals.find((refusal) => refusal?.code === 'NOT_FOUND')
  if (unseen) throw unseen
  if (names.length > 1) throw setErrors.agentsDiffer(names)
  if (refusals[0] && refusals.every((refusal) => refusal !== null)) throw refusals[0]
  if (!canTry(caller, first)) throw definitionErrors.notOwner()

  const setId = await findOrCreateSet(context, actor, caller, first, name)
  const had = await run(context.db, selectCasesOf({ setId, runs: list }))
  const rows = found
    .filter((_, at) => refusals[at] === null)
    .map(({ id }) => toNewCase(context, id, { checks: [], note }))
  const cases = await addCases(context, actor, setId, rows)
  const [caseId] = rows.flatMap(({ activationId }) => cases.get(activationId) ?? [])
  if (caseId === undefined) throw setErrors.full()
  const results = found.map(({ id: activationId }, at): AddedRun => {
    const refusal = refusals[at] ?? (cases.has(activationId) ? null : setErrors.full())
    if (refusal) return { activationId, result: 'refused', message: refusal.message }
    const isKept = had.some((each) => each.activationId === activationId)
    return { activationId, result: isKept ? 'kept' : 'added', message: '' }
  })
  return { setId, caseId, runs: results }
}

/** The set of an agent for runs whose answer was rated as bad. */
const badAnswersName = 'Bad answers'

/**
 * Adds a run to the bad answers of its agent, with what the actor noted when they rated it. Of others no words are copied:
 * they are deleted with their accounts.
 *
 * @throws as `addRuns`
 */
export async function addBadAnswer(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  id: string,
): Promise<Awaited<ReturnType<typeof addRuns>>> {
  const rating = await run(context.db, selectBadRating({ id, accountId: actor.accountId }))
  const note = rating?.note ?? ''
  return addRuns(context, actor, caller, { runs: [id], name: badAnswersName, note })
}

async function findOrCreateSet(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  { agentId, agentName }: Pick<CaseRun, 'agentId' | 'agentName'>,
  name: string,
): Promise<CaseSetId> {
  const select = selectSetByName({ agentId, name })
  const found = await run(context.db, select)
  if (found) return found.id
  const keyless = { ...actor, idempotencyKey: null }
  try {
    return (await createSet(context, keyless, caller, agentName, { name })).answer.id
  } catch (error) {
    // Another request has created it meanwhile.
    const other = await run(context.db, select)
    if (other) return other.id
    throw error
  }
}
