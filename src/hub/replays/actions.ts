import type {
  AgentApi,
  DefinitionCheck,
  DefinitionFacts,
  DefinitionFiles,
  Parting,
} from '../../agents/contract/agents'
import { replayLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError, type ErrorDetail, notFound } from '../../shared/errors'
import { formatPlural } from '../../shared/format'
import type { AccountId, ActivationId, CaseId, ReplayId, TrialId } from '../../shared/ids'
import { canEditAgent, definitionErrors, findNewAdminFields } from '../agents/definition-rules'
import type { Actor, LaneCall, LaneLimits, ReplayLane } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import {
  type IdempotentResult,
  runActionOnce,
  runOnce,
  runOrReturnStored,
} from '../database/run-once'
import { armSweep } from '../inbox/wake'
import { openStoredTrace } from '../operations/archive-view'
import { findTraceAccess, readTrace, type TraceView } from '../rules/traces'
import type { budgetScopes } from '../schema/budgets'
import { guardActor, type Viewer } from '../viewers/queries'
import { accountReader, actorReader, type Reader } from '../viewers/reader'
import type { ReplayInput } from './inputs'
import { closeLane, selectObstaclesFor } from './lane-api'
import {
  cancelQueuedLanes,
  selectNextLanes,
  selectOpenWork,
  selectRunningLanes,
} from './lane-queries'
import {
  insertReplay,
  type LaneRow,
  markCancelled,
  type NewLane,
  type ReplayedRun,
  type ReplayRow,
  type ReplayStatus,
  selectLanes,
  selectPayingBudgets,
  selectReplay,
  selectReplays,
  selectRun,
  selectRunningOf,
  selectRunOfReplay,
  selectTrialOfReplay,
} from './queries'

export { ownAccountReason } from './lane-api'

/** Errors of replays, as users read them. */
export const replayErrors = {
  notFound: () => notFound('replay'),
  runNotFound: () => notFound('run'),
  forbidden: () =>
    new AppError('FORBIDDEN', 'Only people who see the prompts of a run can replay it.', {
      hint: 'Ask the owner of the agent, or an admin.',
    }),
  refused: (problems: ErrorDetail[]) =>
    new AppError('CONFLICT', problems[0]?.message ?? 'This run cannot be replayed.', {
      details: problems,
    }),
  ended: () =>
    new AppError('TOO_LATE', 'This replay has already ended.', {
      hint: 'Open the replay to see its result.',
    }),
}

/** Who replays a run, or looks at a replay, with the reader of the request. */
export interface Caller {
  viewer: Pick<Viewer, 'id' | 'kind' | 'role'>
  reader: Reader
}

/** Returns an account as a caller of its own, without a request. */
export const toAccountCaller = ({ id, kind, role }: Caller['viewer']): Caller => ({
  viewer: { id, kind, role },
  reader: accountReader(id as AccountId),
})

type TraceAccessRun = Parameters<typeof findTraceAccess>[1]

/** Whether somebody sees all of a run and its replays: results are never shown to an agent. */
export function canReplay({ viewer }: Pick<Caller, 'viewer'>, run: TraceAccessRun): boolean {
  if (viewer.kind === 'agent') return false
  return findTraceAccess({ id: viewer.id, isAdmin: viewer.role === 'admin' }, run) === 'all'
}

/** Returns a run that somebody may replay. @throws NOT_FOUND, FORBIDDEN */
async function findRun({ db }: ActionContext, caller: Caller, id: string): Promise<ReplayedRun> {
  const found = await run(db, selectRun({ id, reader: caller.reader }))
  if (!found) throw replayErrors.runNotFound()
  if (!canReplay(caller, found)) throw replayErrors.forbidden()
  return found
}

/** What is checked of a definition that a lane runs. */
type Checked = { facts: DefinitionFacts | null; problems: ErrorDetail[] }

export const field = (path: string, message: string): ErrorDetail => ({ path, message })

/** A program works in a workspace of its own, of which no record has what it saw. */
const isOfProgram = (agents: Pick<AgentApi, 'forms'>, files: DefinitionFiles): boolean =>
  (agents.forms.read(files)?.program ?? 'native') !== 'native'

const toProblems = (check: DefinitionCheck, name: string): ErrorDetail[] => {
  if (!check.ok) return check.problems
  if (check.facts.name === name) return []
  return [field(check.facts.namePath, `Must be ${name}, but is ${check.facts.name}`)]
}

/** Checks a version of a definition as the hub has it. */
export async function checkVersion(
  { agents }: Pick<ActionContext, 'agents'>,
  { agentName, etag, version }: Pick<ReplayedRun, 'agentName' | 'etag' | 'version'>,
): Promise<Checked> {
  const files = etag === null ? null : await agents.readDefinition(agentName, etag)
  if (!files) {
    const message = `Version ${version} of the definition is no longer kept.`
    return { facts: null, problems: [field('definition', message)] }
  }
  const check = await agents.checkDefinition(files)
  if (check.ok) return { facts: check.facts, problems: [] }
  const message = `Version ${version} of the definition is no longer valid: ${check.problems[0]?.message ?? ''}`
  return { facts: null, problems: [field('definition', message)] }
}

/**
 * Checks a draft as saving it would: of fields that reach beyond the agent it may set those of the definition that it
 * replaces, and an admin all.
 */
export async function checkDraft(
  { agents }: Pick<ActionContext, 'agents'>,
  { viewer }: Caller,
  files: DefinitionFiles,
  { agentName }: Pick<ReplayedRun, 'agentName'>,
  observed: DefinitionFacts | null,
): Promise<Checked> {
  const check = await agents.checkDefinition(files)
  const problems = toProblems(check, agentName)
  if (isOfProgram(agents, files)) {
    problems.push(field('config.yaml', 'A coding agent cannot be replayed.'))
  }
  if (!check.ok || problems.length > 0) return { facts: null, problems }
  const added = viewer.role === 'admin' ? [] : findNewAdminFields(observed, check.facts)
  return {
    facts: check.facts,
    problems: added.map(({ path }) => field(path, 'Only an admin can set this')),
  }
}

/** Reads for the requesters of a run and for whoever asks for its replay. */
const readForBoth = ({ id }: Caller['viewer'], activationId: ActivationId): Reader =>
  actorReader({ accountId: id as AccountId, activationId })

/**
 * Returns why a run cannot be replayed, whatever it runs with.
 *
 * @param record of the run, as it is stored
 */
export async function findRunProblems(
  { db, agents }: Pick<ActionContext, 'db' | 'agents'>,
  { viewer }: Pick<Caller, 'viewer'>,
  found: ReplayedRun,
  record: string | null,
): Promise<{ problems: ErrorDetail[]; openLanes: number }> {
  const { id } = found
  const reads = agents.replays.listReads(record ?? '')
  const obstacles = await run(db, selectObstaclesFor(id, viewer.id as AccountId, reads))
  const isOver = found.state === 'done'
  const kept = record === null ? null : agents.replays.findReplayProblem(record)
  const reasons: [boolean, string][] = [
    [!isOver, 'The run has not ended.'],
    [!found.isHosted, 'The agent of the run was deleted.'],
    [found.program !== null, 'The run was made by a coding agent, which cannot be replayed.'],
    [isOver && record === null, 'The record of the run is no longer stored.'],
    [kept !== null, kept ?? ''],
    [obstacles?.isGone === true, 'The run read a text that was deleted or removed.'],
    [
      obstacles?.isGone === false && obstacles.lacksText,
      'A tool of the run read a text that was deleted or removed, or that you or its requesters can’t read now.',
    ],
    [
      obstacles?.isReadable === false,
      'The thread of the run is in a community that you or its requesters can’t read now.',
    ],
  ]
  const problems = reasons
    .filter(([holds]) => holds)
    .map(([, message]) => field('activation', message))
  return { problems, openLanes: obstacles?.openLanes ?? 0 }
}

/** The same of one that starts at once, with what keeps whoever asks from starting more. */
async function findObstacles(
  context: ActionContext,
  caller: Caller,
  found: ReplayedRun,
): Promise<ErrorDetail[]> {
  const record = await openStoredTrace(context.archive, found.trace)
  const { problems, openLanes } = await findRunProblems(context, caller, found, record)
  if (openLanes < replayLimits.perAccountMax) return problems
  const count = formatPlural(openLanes, 'lane', 'lanes')
  return [...problems, field('activation', `You have ${count} of replays that have not ended.`)]
}

/** A replay that is about to start. */
interface Plan {
  run: ReplayedRun
  lanes: Omit<NewLane, 'id'>[]
  /** Models that its lanes can call. */
  models: string[]
  isPriced: boolean
  isOffline: boolean
  problems: { ofRun: ErrorDetail[]; ofDraft: ErrorDetail[] }
}

/** Returns the most that a lane may use which runs a definition. */
export const toLaneLimits = (facts: DefinitionFacts): LaneLimits => ({
  grants: facts.grants,
  durationMsMax: facts.durationSecondsMax * 1000,
  tokensMax: facts.activationTokensMax,
  costMaxMicrousd:
    facts.runCostMaxMicrousd === null
      ? replayLimits.unpricedCostMicrousdMax
      : // the tokens of one call can go beyond the limit of a run
        facts.runCostMaxMicrousd + facts.callWant.microusd,
})

const toLane = (lane: ReplayLane, sample: number, facts: DefinitionFacts): Omit<NewLane, 'id'> => ({
  lane,
  sample,
  ...toLaneLimits(facts),
})

/** Returns the baseline and the repeats of the draft; none while one of both cannot run. */
function toLanes(
  observed: DefinitionFacts | null,
  draft: DefinitionFacts | null,
  repeats: number,
): Omit<NewLane, 'id'>[] {
  if (!observed || !draft) return []
  const candidates = Array.from({ length: repeats }, (_, at) => toLane('candidate', at + 1, draft))
  return [toLane('baseline', 1, observed), ...candidates]
}

async function planReplay(
  context: ActionContext,
  caller: Caller,
  id: string,
  { files, repeats }: ReplayInput,
): Promise<Plan> {
  const found = await findRun(context, caller, id)
  const [ofRun, observed] = await Promise.all([
    findObstacles(context, caller, found),
    checkVersion(context, found),
  ])
  const draft = files
    ? await checkDraft(context, caller, files, found, observed.facts)
    : { facts: observed.facts, problems: [] }
  const all = [observed.facts, draft.facts].filter((facts) => facts !== null)
  return {
    run: found,
    lanes: toLanes(observed.facts, draft.facts, repeats),
    models: [...new Set(all.flatMap(({ models }) => models))],
    isPriced: all.every(({ runCostMaxMicrousd }) => runCostMaxMicrousd !== null),
    isOffline: all.some(({ isOffline }) => isOffline),
    problems: { ofRun: [...ofRun, ...observed.problems], ofDraft: draft.problems },
  }
}

const sum = (numbers: number[]): number => numbers.reduce((total, each) => total + each, 0)

/** What a replay will do and cost at most. */
export interface ReplayPromise {
  lanes: number
  costMaxMicrousd: number
  isPriced: boolean
  /** Whether one of its lanes uses the offline model, which follows no instructions. */
  isOffline: boolean
  tokensMax: number
  paidBy: {
    scope: (typeof budgetScopes)[number]
    name: string | null
    period: 'day' | 'week' | 'month'
    leftMicrousd: number | null
    leftTokens: number | null
    endsAt: number | null
  }[]
  problems: ErrorDetail[]
}

/** Returns the budgets that pay for lanes of a run, as whoever asks for them may see them. */
export async function readPaidBy(
  { db, clock }: ActionContext,
  { viewer }: Caller,
  found: Pick<ReplayedRun, 'id' | 'agentId' | 'communityId'>,
  models: string[],
): Promise<ReplayPromise['paidBy']> {
  const budgets = await run(
    db,
    selectPayingBudgets({
      agentId: found.agentId,
      accountId: viewer.id as AccountId,
      communityId: found.communityId,
      models: JSON.stringify(models),
      now: clock.now(),
      both: readForBoth(viewer, found.id),
    }),
  )
  const isOthers = (scope: string, scopeId: string) =>
    viewer.role !== 'admin' && scope === 'requester' && scopeId !== viewer.id
  const left = (limit: number | null, spent: number) =>
    limit === null ? null : Math.max(0, limit - spent)
  return budgets.map((budget) => {
    const { scope, scopeId, name, period, endsAt } = budget
    const isHidden = isOthers(scope, scopeId)
    return {
      scope,
      name,
      period,
      endsAt,
      leftMicrousd: isHidden ? null : left(budget.limitMicrousd, budget.spentMicrousd),
      leftTokens: isHidden ? null : left(budget.limitTokens, budget.spentTokens),
    }
  })
}

/** Returns what a replay would do, what it can cost at most and whose budgets pay. @throws NOT_FOUND, FORBIDDEN */
export async function previewReplay(
  context: ActionContext,
  caller: Caller,
  id: string,
  input: ReplayInput,
): Promise<ReplayPromise> {
  const plan = await planReplay(context, caller, id, input)
  return {
    lanes: plan.lanes.length,
    costMaxMicrousd: sum(plan.lanes.map(({ costMaxMicrousd }) => costMaxMicrousd)),
    isPriced: plan.isPriced,
    isOffline: plan.isOffline,
    tokensMax: sum(plan.lanes.map(({ tokensMax }) => tokensMax)),
    paidBy: await readPaidBy(context, caller, plan.run, plan.models),
    problems: [...plan.problems.ofRun, ...plan.problems.ofDraft],
  }
}

/** What a started replay answers. */
interface StartedReplay {
  id: ReplayId
  status: ReplayStatus
}

/**
 * Starts a replay of a run: with its definition, and with a draft of another.
 *
 * @throws NOT_FOUND; FORBIDDEN for whoever does not see the prompts of the run; INVALID_DEFINITION for the draft; CONFLICT when the run
 *   cannot be replayed
 */
export async function startReplay(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  id: string,
  input: ReplayInput,
): Promise<IdempotentResult<StartedReplay>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'activations.replay', input: { id, ...input } }
  const done = await runOrReturnStored(db, once, async () => {
    const plan = await planReplay(context, caller, id, input)
    const { ofRun, ofDraft } = plan.problems
    if (ofRun.length > 0) throw replayErrors.refused(ofRun)
    if (ofDraft.length > 0) throw definitionErrors.invalid(plan.run.agentName, ofDraft)
    const now = clock.now()
    const replayId = clock.newId<ReplayId>(now)
    const replay = {
      id: replayId,
      activationId: plan.run.id,
      requestedBy: accountId,
      draft: input.files ?? null,
      baselineVersion: null,
      createdAt: now,
    }
    const lanes = plan.lanes.map((lane) => ({ ...lane, id: clock.newId<ActivationId>(now) }))
    const answer: StartedReplay = { id: replayId, status: 'queued' }
    await armSweep(context)
    return runOnce(db, once, {
      now,
      answer,
      statements: {
        guard: await guardActor(context, actor, {}),
        ...insertReplay(replay, plan.run, lanes),
      },
    })
  })
  if (!done.isDuplicate) context.defer(startLanes(context))
  return done
}

/** Starts the lanes that may start now. */
export async function startLanes(context: ActionContext): Promise<void> {
  const { db, clock } = context
  const next = await run(db, selectNextLanes({ now: clock.now() }))
  await wakeLanes(
    context,
    next.map(({ id }) => id),
  )
}

/** Wakes lanes. One that cannot be reached is woken again by the next sweep. */
const wakeLanes = async (
  { agents, log }: Pick<ActionContext, 'agents' | 'log'>,
  ids: ActivationId[],
): Promise<void> => {
  await Promise.all(
    ids.map((lane) =>
      agents.replays
        .wakeLane(lane)
        .catch((error: unknown) => log.error('failed to wake a lane of a replay', { lane, error })),
    ),
  )
}

/** Returns a replay that somebody may see, with its run. @throws NOT_FOUND, as for an id that does not exist */
async function findReplay(
  { db }: ActionContext,
  caller: Caller,
  id: string,
): Promise<{ row: ReplayRow; run: ReplayedRun }> {
  const found = await batch(db, {
    row: selectReplay({ id }),
    run: selectRunOfReplay({ id, reader: caller.reader }),
  })
  if (!found.row || !found.run || !canReplay(caller, found.run)) throw replayErrors.notFound()
  return { row: found.row, run: found.run }
}

/**
 * Cancels a replay. Its queued lanes end at once, those that run within their current call.
 *
 * @throws NOT_FOUND; TOO_LATE when it has ended
 */
export async function cancelReplay(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  id: string,
): Promise<IdempotentResult<StartedReplay>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'replays.cancel', input: id }
  return runActionOnce(db, once, clock.now(), async () => {
    const { row } = await findReplay(context, caller, id)
    const now = clock.now()
    await armSweep(context)
    const { isMarked, running } = await batch(db, {
      isMarked: markCancelled(row.id, now),
      queued: cancelQueuedLanes({ now }),
      running: selectRunningOf(row.id),
    })
    if (!isMarked) throw replayErrors.ended()
    context.defer(cancelLanes(context, running))
    return { id: row.id, status: 'cancelled' }
  })
}

/** Stops lanes that run. Those that cannot be reached are stopped by the next sweep. */
export const cancelLanes = async (
  { agents, log }: Pick<ActionContext, 'agents' | 'log'>,
  lanes: { id: ActivationId }[],
): Promise<void> => {
  await Promise.all(
    lanes.map(({ id }) =>
      agents.replays
        .cancelLane(id)
        .catch((error: unknown) =>
          log.error('failed to cancel a lane of a replay', { lane: id, error }),
        ),
    ),
  )
}

/** A lane as a reader sees it: what happened, or one that ran. */
export interface ViewedLane
  extends Pick<
    LaneRow,
    | 'sample'
    | 'outcome'
    | 'error'
    | 'answer'
    | 'steps'
    | 'tokens'
    | 'costMicrousd'
    | 'durationMs'
    | 'incomplete'
    | 'notes'
    | 'isReused'
    | 'reusedFrom'
  > {
  lane: ReplayLane | 'observed'
  status: ReplayStatus
  calls: LaneCall[]
}

export interface ReplayView {
  row: ReplayRow
  /** The trial that it belongs to, for people who may edit the agent; null: none. */
  trial: { id: TrialId; caseId: CaseId; setName: string } | null
  isComplete: boolean
  costMicrousd: number
  costMaxMicrousd: number
  lanes: ViewedLane[]
  /** Where the draft parts from the baseline. */
  partsAt: Parting | null
  /** Where the baseline parts from what happened. */
  baselinePartsAt: Parting | null
}

/** Returns what happened, from the record of the run. */
function toObserved(found: ReplayedRun, trace: TraceView | null, answer: string): ViewedLane {
  const steps = trace?.steps ?? []
  return {
    lane: 'observed',
    sample: 1,
    status: 'done',
    outcome: found.outcome,
    error: found.error,
    answer,
    steps: found.iterations,
    tokens: found.inputTokens + found.outputTokens,
    costMicrousd: found.costMicrousd,
    durationMs: Math.max(0, (found.finishedAt ?? found.startedAt) - found.startedAt),
    incomplete: null,
    notes: [],
    isReused: false,
    reusedFrom: null,
    calls: steps.flatMap(({ step, tools }) =>
      tools.map(({ name, arguments: text, isError }) => ({
        step,
        tool: name,
        arguments: text,
        isError,
        source: 'record' as const,
        isRepeated: false,
        current: [],
        wouldHave: null,
      })),
    ),
  }
}

const toViewed = ({ state, calls, record: _, ...lane }: LaneRow): ViewedLane => ({
  ...lane,
  status: state,
  calls: JSON.parse(calls) as LaneCall[],
})

/** Returns a replay with its lanes and where they part. @throws NOT_FOUND */
export async function readReplay(
  context: ActionContext,
  caller: Caller,
  id: string,
): Promise<ReplayView> {
  const { agents, archive, db } = context
  const { row, run: found } = await findReplay(context, caller, id)
  const { lanes, trial } = await batch(db, {
    lanes: selectLanes({ replayId: row.id }),
    trial: selectTrialOfReplay({ id: row.id }),
  })
  const open = (stored: string | null) => openStoredTrace(archive, stored)
  const firstOf = (lane: ReplayLane) =>
    open(lanes.find((each) => each.lane === lane && each.state === 'done')?.record ?? null)
  const [observed, baseline, candidate] = await Promise.all([
    open(found.trace),
    firstOf('baseline'),
    firstOf('candidate'),
  ])
  const part = (one: string | null, other: string | null) =>
    one === null || other === null ? null : agents.replays.findParting(one, other)
  return {
    row,
    trial: trial && canEditAgent(caller.viewer, trial.ownerId) ? trial : null,
    isComplete: lanes.every(({ state, incomplete }) => state === 'done' && incomplete === null),
    // what another replay has paid is not paid again
    costMicrousd: sum(lanes.map((lane) => (lane.isReused ? 0 : lane.costMicrousd))),
    costMaxMicrousd: sum(lanes.map(({ costMaxMicrousd }) => costMaxMicrousd)),
    lanes: [
      toObserved(
        found,
        readTrace(agents, observed, 'all', found),
        observed === null ? '' : agents.replays.readAnswer(observed),
      ),
      ...lanes.map(toViewed),
    ],
    partsAt: part(baseline, candidate),
    baselinePartsAt: part(observed, baseline),
  }
}

/** Returns the replays of a run, newest first. @throws NOT_FOUND, FORBIDDEN */
export async function listReplays(
  context: ActionContext,
  caller: Caller,
  id: string,
): Promise<ReplayRow[]> {
  const found = await findRun(context, caller, id)
  return run(context.db, selectReplays({ activationId: found.id }))
}

const lostReason = 'The lane did not report how it ended.'

/** What a sweep reads of the lanes of replays; without one it reads no row. */
export const sweepStatements = (now: number) => ({
  cancelledLanes: cancelQueuedLanes({ now }),
  runningLanes: selectRunningLanes({ now }),
  nextLanes: selectNextLanes({ now }),
  openWork: selectOpenWork({}),
})

/**
 * Wakes the lanes that run, because a wake-up may have been lost, and those that may start; ends those that are lost.
 * Returns when the next sweep has to look again; null when no lane is open.
 */
export async function sweepLanes(
  context: ActionContext,
  answers: {
    runningLanes: Parameters<typeof closeLane>[1][]
    nextLanes: { id: ActivationId }[]
    openWork: { hasQueuedLanes: boolean } | undefined
  },
  now: number,
): Promise<number | null> {
  const { runningLanes, nextLanes, openWork } = answers
  const lost = runningLanes.filter(({ isLost }) => isLost)
  for (const lane of lost) await closeLane(context, lane, lostReason)
  const rest = runningLanes.filter(({ isLost }) => !isLost)
  await cancelLanes(
    context,
    rest.filter(({ isEnding }) => isEnding),
  )
  const ids = [...rest.filter(({ isEnding }) => !isEnding), ...nextLanes].map(({ id }) => id)
  await wakeLanes(context, ids)
  const isOpen = rest.length > 0 || openWork?.hasQueuedLanes === true
  return isOpen ? now + replayLimits.sweepMs : null
}

/** What the form of a replay shows. */
export interface ReplayForm {
  agent: { name: string; kind: 'agent' }
  /** Of the definition of the run. */
  version: number
  /** The definition of the run; empty when it is no longer kept. */
  files: DefinitionFiles
  promise: ReplayPromise
  earlier: ReplayRow[]
}

/** Returns what the form of a replay shows. @throws NOT_FOUND, FORBIDDEN */
export async function prepareReplay(
  context: ActionContext,
  caller: Caller,
  id: string,
  input: ReplayInput,
): Promise<ReplayForm> {
  const { agentName, etag, version } = await findRun(context, caller, id)
  const [files, promise, earlier] = await Promise.all([
    etag === null ? null : context.agents.readDefinition(agentName, etag),
    previewReplay(context, caller, id, input),
    listReplays(context, caller, id),
  ])
  return {
    agent: { name: agentName, kind: 'agent' },
    version,
    files: files ?? {},
    promise,
    earlier,
  }
}
