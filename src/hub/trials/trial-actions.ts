import type { DefinitionFacts, DefinitionFiles } from '../../agents/contract/agents'
import { judgeLimits, trialLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError, type ErrorDetail, notFound } from '../../shared/errors'
import { hasSameWords } from '../../shared/fold-text'
import { formatPlural } from '../../shared/format'
import type {
  AccountId,
  ActivationId,
  CaseId,
  CaseSetId,
  ReplayId,
  TrialId,
} from '../../shared/ids'
import { sha256 } from '../../shared/sha256'
import { definitionErrors } from '../agents/definition-rules'
import { reopenHeld } from '../agents/held-queries'
import type {
  Actor,
  CaseCheck,
  DecidedBy,
  Judge,
  Judgement,
  LaneLimits,
  SampleResults,
  TrialLaneLimits,
  Verdict,
} from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import {
  type IdempotentResult,
  runActionOnce,
  runOnce,
  runOrReturnStored,
} from '../database/run-once'
import { armSweep } from '../inbox/wake'
import {
  type Caller,
  canReplay,
  checkDraft,
  checkVersion,
  field,
  type ReplayPromise,
  readPaidBy,
  toLaneLimits,
} from '../replays/actions'
import { readJudgeSample } from '../rules/judge-samples'
import type { PersonAnswer } from '../rules/people-sql'
import { systemAccountId } from '../schema/accounts'
import { guardActor } from '../viewers/queries'
import { accountReader, type Reader } from '../viewers/reader'
import { advanceTrial, cancelWhole, readSaid, unseenReason } from './advance-actions'
import { canTry } from './set-actions'
import {
  type CountedCase,
  type CountedLane,
  findVerdict,
  summarizeTrial,
  type TrialSummary,
} from './summary'
import type { TrialInput } from './trial-inputs'
import {
  type CaseLane,
  type CaseToTry,
  countOpenTrials,
  guardOpenTrials,
  insertTrial,
  type ListedCase,
  type ListedLane,
  markJudged,
  type StoredTrial,
  selectCaseLanes,
  selectCasesToTry,
  selectComparedCase,
  selectSetOwner,
  selectSetToTry,
  selectTrial,
  selectTrialCases,
  selectTrialDraft,
  selectTrialLanes,
  selectTrials,
  selectWaitingCases,
  type TrialHeld,
  type TriedSet,
  trialLimitConstraint,
  type VerdictCounts,
  type ViewedTrial,
} from './trial-queries'
import { toVerdict } from './verdicts'

export type { TrialInput } from './trial-inputs'

export type TrialStatus = 'queued' | 'running' | 'done' | 'cancelled'

/** What a trial runs and costs at most. */
export interface TrialPromise
  extends Pick<ReplayPromise, 'costMaxMicrousd' | 'isPriced' | 'tokensMax' | 'paidBy'> {
  cases: number
  repeats: number
  /** `provider/model`; null: people compare. */
  judge: string | null
  /** Why it cannot start; empty when it can. */
  problems: ErrorDetail[]
}

export interface TrialRow {
  id: TrialId
  setId: CaseSetId
  setName: string
  agent: PersonAnswer
  status: TrialStatus
  requestedBy: PersonAnswer
  repeats: number
  judge: string | null
  createdAt: number
  finishedAt: number | null
}

/** A trial in the list of its set. */
export interface ListedTrial extends TrialRow {
  counts: VerdictCounts
}

/** What one definition did on a case. */
export interface TrialSide {
  /** Of the first sample. */
  answer: string
  steps: number
  tokens: number
  costMicrousd: number
  durationMs: number
  /** Why it does not show what would have happened; null when it does. */
  incomplete: string | null
}

/** What a judge said of one order of the answers of a sample. */
export interface JudgeWords {
  sample: number
  /** Which definition's answer it was shown first. */
  first: 'baseline' | 'candidate'
  says: Judgement
  reason: string
}

export interface TrialCaseView {
  id: CaseId
  activationId: ActivationId
  /** Null until it starts. */
  replayId: ReplayId | null
  state: 'queued' | 'running' | 'judging' | 'done' | 'skipped' | 'cancelled'
  /** Why it was skipped, as a sentence. */
  reason: string | null
  /** Whether the reader sees all of the run; without it there is no question, note, answer, result or word. */
  isVisible: boolean
  question: string
  note: string
  checks: CaseCheck[]
  results: SampleResults | null
  baseline: TrialSide | null
  candidate: TrialSide | null
  judgements: JudgeWords[]
  /** Null: it runs, or people have to compare. */
  verdict: Verdict | null
  by: DecidedBy | null
  /** What the checks, the judge and people say, each by itself. */
  verdicts: Record<DecidedBy, Verdict | null>
}

export interface TrialView extends TrialRow {
  /** What became of the saved change that it decides on; null when it decides on none. */
  held: TrialHeld | null
  promise: { cases: number; costMaxMicrousd: number; budget: string }
  cases: TrialCaseView[]
  summary: TrialSummary
}

/** Two answers of a case in an order that says nothing of where they come from. */
export interface BlindCase {
  id: CaseId
  question: string
  note: string
  first: string
  second: string
  /** Whether both have the same words in every sample, so that there is nothing to compare. */
  isSame: boolean
  /** How many of the trial wait. */
  left: number
}

/** Errors of trials, as users read them. */
const trialErrors = {
  notFound: () => notFound('trial'),
  setNotFound: () => notFound('set'),
  caseNotFound: () => notFound('case'),
  refused: (problems: ErrorDetail[]) =>
    new AppError('CONFLICT', problems[0]?.message ?? 'This set cannot be tried.', {
      details: problems,
    }),
  ended: () =>
    new AppError('TOO_LATE', 'This trial has already ended.', {
      hint: 'Open the trial to see its result.',
    }),
  sameAnswers: () =>
    new AppError('CONFLICT', 'The answers of this case are the same.', {
      hint: 'There is nothing to compare. Go on with another case.',
    }),
  notDone: () =>
    new AppError('CONFLICT', 'The answers of this case are not there to compare.', {
      hint: 'Wait until the case has ended.',
    }),
}

/** Whether somebody reads what a case says: all of its run, of which nothing was deleted or removed since. */
const seesWords = (caller: Caller, access: ListedCase['access']): boolean =>
  canReplay(caller, access) && !access.isGone

/** A trial that is about to start. */
interface Plan {
  set: TriedSet
  cases: (CaseToTry & { problem: string | null })[]
  limits: TrialLaneLimits | null
  judge: Judge | null
  /** Models that its lanes can call. */
  models: string[]
  problems: { ofSet: ErrorDetail[]; ofDraft: ErrorDetail[] }
}

/** What is asked about the 30 days before a trial. */
const monthMs = 30 * 86_400_000

async function planTrial(
  context: ActionContext,
  caller: Caller,
  setId: string,
  { files }: TrialInput,
): Promise<Plan> {
  const { db, clock, agents, models } = context
  const found = await batch(db, {
    set: selectSetToTry({ id: setId, since: clock.now() - monthMs }),
    cases: selectCasesToTry({ setId, reader: caller.reader }),
    open: countOpenTrials({ accountId: caller.viewer.id as AccountId }),
    connections: models.selectConnections(),
  })
  const { set, connections } = found
  if (!set || !canTry(caller, set)) throw trialErrors.setNotFound()
  const { version } = set
  const active =
    version === null
      ? { facts: null, problems: [field('set', 'The agent of the set was deleted.')] }
      : await checkVersion(context, { ...set, version })
  const draft = await checkDraft(context, caller, files, set, active.facts)
  const cases = found.cases.map((each) => ({ ...each, problem: findCaseProblem(caller, each) }))
  const judge = agents.replays.readJudge(connections)
  return {
    set,
    cases,
    judge,
    limits: active.facts && draft.facts && toLimits(active.facts, draft.facts, judge),
    models: [
      ...new Set([
        ...(active.facts?.models ?? []),
        ...(draft.facts?.models ?? []),
        ...(judge ? [judge.model] : []),
      ]),
    ],
    problems: {
      ofSet: [...findSetProblems(cases, found.open?.count ?? 0), ...active.problems],
      ofDraft: draft.problems,
    },
  }
}

/** Returns why a case cannot run, as far as that is known before its turn; null when it can. */
function findCaseProblem(caller: Caller, each: CaseToTry): string | null {
  if (!canReplay(caller, each)) return unseenReason
  if (each.program !== null) {
    return 'The run was made by a coding agent, which cannot be replayed.'
  }
  if (each.state !== 'done') return 'The run has not ended.'
  return each.hasRecord ? null : 'The record of the run is no longer stored.'
}

function findSetProblems(cases: Plan['cases'], openTrials: number): ErrorDetail[] {
  const reasons: [boolean, string][] = [
    [cases.length === 0, 'The set has no case.'],
    [
      cases.length > 0 && cases.every(({ problem }) => problem !== null),
      `None of the cases of the set can run. ${cases[0]?.problem ?? ''}`,
    ],
  ]
  return [
    ...reasons.filter(([holds]) => holds).map(([, message]) => field('set', message)),
    ...(openTrials >= trialLimits.perAccountMax ? [tooManyOpen(openTrials)] : []),
  ]
}

const tooManyOpen = (count: number): ErrorDetail =>
  field(
    'set',
    `You have ${formatPlural(count, 'trial', 'trials')} that ${count === 1 ? 'has' : 'have'} not finished.`,
  )

const toLimits = (
  active: DefinitionFacts,
  draft: DefinitionFacts,
  judge: Judge | null,
): TrialLaneLimits => ({
  baseline: toLaneLimits(active),
  candidate: toLaneLimits(draft),
  judge: judge && {
    grants: [],
    durationMsMax: judgeLimits.durationMsMax,
    tokensMax: judge.tokensMax,
    costMaxMicrousd: judge.costMaxMicrousd,
  },
  isPriced:
    active.runCostMaxMicrousd !== null &&
    draft.runCostMaxMicrousd !== null &&
    judge?.isPriced !== false,
})

/** Returns the most that all lanes of a trial may use: as many of both definitions, and two comparisons of each pair. */
function sumLimits(
  { cases, limits }: Pick<Plan, 'cases' | 'limits'>,
  repeats: number,
  of: (lane: LaneLimits) => number,
): number {
  if (!limits) return 0
  const runnable = cases.filter(({ problem }) => problem === null)
  const judged = limits.judge ? runnable.filter(({ usesOwnAccount }) => !usesOwnAccount).length : 0
  return (
    repeats * runnable.length * (of(limits.baseline) + of(limits.candidate)) +
    2 * repeats * judged * (limits.judge ? of(limits.judge) : 0)
  )
}

/** Communities whose budgets a promise names. */
const communitiesMax = 10

async function toPromise(
  context: ActionContext,
  caller: Caller,
  plan: Plan,
  { repeats }: TrialInput,
): Promise<TrialPromise> {
  const { set, judge, limits, problems } = plan
  const runnable = plan.cases.filter(({ problem }) => problem === null)
  return {
    cases: runnable.length,
    repeats,
    judge: judge?.model ?? null,
    costMaxMicrousd: sumLimits(plan, repeats, ({ costMaxMicrousd }) => costMaxMicrousd),
    isPriced: limits?.isPriced ?? false,
    tokensMax: sumLimits(plan, repeats, ({ tokensMax }) => tokensMax),
    paidBy: await readPaying(context, caller, set, runnable, plan.models),
    problems: [...problems.ofSet, ...problems.ofDraft],
  }
}

/** Returns the budgets that pay for the cases: those of the communities of their runs among them. */
async function readPaying(
  context: ActionContext,
  caller: Caller,
  { agentId }: TriedSet,
  cases: CaseToTry[],
  models: string[],
): Promise<TrialPromise['paidBy']> {
  const byCommunity = new Map(cases.map((each) => [each.communityId, each]))
  const lists = await Promise.all(
    [...byCommunity.values()]
      .slice(0, communitiesMax)
      .map(({ activationId, communityId }) =>
        readPaidBy(context, caller, { id: activationId, agentId, communityId }, models),
      ),
  )
  const all = lists
    .flat()
    .map((each) => [JSON.stringify([each.scope, each.name, each.period]), each] as const)
  return [...new Map(all).values()]
}

/** Returns what a trial would run, what it can cost at most and whose budgets pay. @throws NOT_FOUND */
export async function previewTrial(
  context: ActionContext,
  caller: Caller,
  setId: string,
  input: TrialInput,
): Promise<TrialPromise> {
  const plan = await planTrial(context, caller, setId, input)
  return toPromise(context, caller, plan, input)
}

/** What a started trial answers. */
interface StartedTrial {
  id: TrialId
  status: TrialStatus
  promise: TrialPromise
}

/**
 * Starts a trial.
 *
 * @param alongside what is written with it, by its id
 * @throws NOT_FOUND; INVALID_DEFINITION for the draft; CONFLICT when it cannot start
 */
export async function startTrial(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  setId: string,
  input: TrialInput,
  alongside: (id: TrialId) => Statement<unknown>[] = () => [],
): Promise<IdempotentResult<StartedTrial>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'sets.try', input: { setId, ...input } }
  const done = await runOrReturnStored(db, once, async () => {
    const plan = await planTrial(context, caller, setId, input)
    const { set, limits, judge } = plan
    const { ofSet, ofDraft } = plan.problems
    if (ofSet.length > 0) throw trialErrors.refused(ofSet)
    if (ofDraft.length > 0) throw definitionErrors.invalid(set.agentName, ofDraft)
    if (!limits || set.version === null) throw trialErrors.refused([])
    const promise = await toPromise(context, caller, plan, input)
    const now = clock.now()
    const id = clock.newId<TrialId>(now)
    const trial = {
      id,
      limits,
      setId: set.id,
      agentId: set.agentId,
      requestedBy: accountId,
      draft: input.files,
      repeats: input.repeats,
      baselineVersion: set.version,
      judge: judge?.model ?? null,
      costMaxMicrousd: promise.costMaxMicrousd,
      runsMonth: set.runsMonth,
      createdAt: now,
    }
    const list = plan.cases.map(({ activationId, checks, note, problem }, position) => ({
      id: clock.newId<CaseId>(now),
      activationId,
      position,
      checks,
      note,
      state: problem === null ? ('queued' as const) : ('skipped' as const),
      reason: problem,
    }))
    await armSweep(context)
    return runOnce(db, once, {
      now,
      answer: { id, status: 'queued' as const, promise } as StartedTrial,
      constraints: {
        [trialLimitConstraint]: () => trialErrors.refused([tooManyOpen(trialLimits.perAccountMax)]),
      },
      statements: {
        guard: await guardActor(context, actor, {}),
        room: guardOpenTrials(accountId),
        ...insertTrial(trial, list),
        alongside: alongside(id),
      },
    })
  })
  if (!done.isDuplicate) context.defer(advanceTrial(context, done.answer.id))
  return done
}

/** A trial as it is stored, without whose agent it is of. */
const toRow = <Row extends StoredTrial>({ ownerId: _, ...row }: Row): Omit<Row, 'ownerId'> => row

/** Returns a trial with its cases. @throws NOT_FOUND, as for an id that does not exist */
export async function readTrial(
  context: ActionContext,
  caller: Caller,
  id: string,
): Promise<TrialView> {
  const { trial, cases, lanes } = await readStored(context, id, caller.reader)
  if (!trial || !canTry(caller, trial)) throw trialErrors.notFound()
  const { costMaxMicrousd, runsMonth: _runs, limits: _limits, held, ...row } = trial
  const lanesOf = Map.groupBy(lanes, ({ caseId }) => caseId)
  const ran = cases.filter(({ state }) => state !== 'skipped').length
  return {
    ...toRow(row),
    held,
    promise: { cases: ran, costMaxMicrousd, budget: 'replay' },
    cases: cases.map((each) => toView(caller, each, lanesOf.get(each.id) ?? [])),
    summary: summarize(trial, cases, lanes),
  }
}

const readStored = ({ db }: Pick<ActionContext, 'db'>, id: string, reader: Reader) =>
  batch(db, {
    trial: selectTrial({ id }),
    cases: selectTrialCases({ trialId: id, reader }),
    lanes: selectTrialLanes({ trialId: id }),
  })

const summarize = (
  { runsMonth, limits }: Pick<ViewedTrial, 'runsMonth' | 'limits'>,
  cases: ListedCase[],
  lanes: ListedLane[],
): TrialSummary =>
  summarizeTrial(cases.map(toCounted), lanes.map(toCountedLane), {
    runsMonth,
    isPriced: limits.isPriced,
  })

/** Returns what a trial shows so far, whoever may see it; null when it does not exist. */
export async function summarizeTrialOf(
  context: Pick<ActionContext, 'db'>,
  id: TrialId,
): Promise<{ status: TrialStatus; summary: TrialSummary } | null> {
  const { trial, cases, lanes } = await readStored(context, id, accountReader(systemAccountId))
  return trial ? { status: trial.status, summary: summarize(trial, cases, lanes) } : null
}

/** Returns the files that a trial of an agent tries. @throws NOT_FOUND, as for an id that does not exist */
export async function readTrialDraft(
  { db }: ActionContext,
  caller: Caller,
  id: string,
  agent: string,
): Promise<DefinitionFiles> {
  const found = await run(db, selectTrialDraft({ id }))
  if (!found || found.agentName !== agent || !canTry(caller, found)) throw trialErrors.notFound()
  return found.files
}

const toCountedLane = ({ state, ...lane }: ListedLane): CountedLane => ({
  ...lane,
  isDone: state === 'done',
})

const toCounted = ({ state, verdicts, findings, checks, results }: ListedCase): CountedCase => {
  const passesOf = (side: 'baseline' | 'candidate') =>
    (results?.[side] ?? []).map((sample) => sample.every(({ passed }) => passed))
  return {
    state,
    verdicts,
    noise: findings?.noise ?? null,
    toolErrors: findings?.toolErrors ?? null,
    passed:
      checks.length > 0 && results
        ? { baseline: passesOf('baseline'), candidate: passesOf('candidate') }
        : null,
  }
}

/** Returns a case as a reader may see it. */
function toView(caller: Caller, each: ListedCase, lanes: ListedLane[]): TrialCaseView {
  const { access, findings: _, ...rest } = each
  const isVisible = seesWords(caller, access)
  const sideOf = (wanted: 'baseline' | 'candidate'): TrialSide | null => {
    const first = lanes.find(({ lane, sample }) => lane === wanted && sample === 1)
    if (!first || !isEnded(first)) return null
    return { ...toSide(first), ...(!isVisible && { answer: '', incomplete: null }) }
  }
  const verdict = each.state === 'done' ? findVerdict(each.verdicts) : null
  return {
    ...rest,
    isVisible,
    baseline: sideOf('baseline'),
    candidate: sideOf('candidate'),
    judgements: lanes.filter((lane) => lane.lane === 'judge' && isEnded(lane)).map(toWords),
    verdict,
    by: verdict && findDecider(each.verdicts),
    ...(!isVisible && { ...hidden, reason: each.state === 'skipped' ? each.reason : null }),
  }
}

/** What a case says to whoever does not see all of its run. */
const hidden = { question: '', note: '', checks: [], results: null, judgements: [] }

const isEnded = ({ state }: ListedLane): boolean => state !== 'queued' && state !== 'running'

const toSide = ({ answer, steps, tokens, costMicrousd, durationMs, incomplete }: ListedLane) => ({
  answer,
  steps,
  tokens,
  costMicrousd,
  durationMs,
  incomplete,
})

const toWords = (lane: ListedLane): JudgeWords => ({
  ...readJudgeSample(lane.sample),
  ...readSaid(lane),
})

function findDecider({ people, judge }: ListedCase['verdicts']): DecidedBy {
  if (people !== null) return 'people'
  return judge === null ? 'checks' : 'judge'
}

/** Returns the trials of a set, newest first. @throws NOT_FOUND */
export async function listTrials(
  { db }: ActionContext,
  caller: Caller,
  setId: string,
): Promise<ListedTrial[]> {
  const { set, rows } = await batch(db, {
    set: selectSetOwner({ id: setId }),
    rows: selectTrials({ setId }),
  })
  if (!set || !canTry(caller, set)) throw trialErrors.setNotFound()
  return rows.map(toRow)
}

/** Cancels a trial: what runs ends within its current model call. @throws NOT_FOUND; TOO_LATE when it has ended */
export async function cancelTrial(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  id: string,
): Promise<IdempotentResult<{ id: TrialId; status: TrialStatus }>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'trials.cancel', input: id }
  return runActionOnce(db, once, clock.now(), async () => {
    const trial = await run(db, selectTrial({ id }))
    if (!trial || !canTry(caller, trial)) throw trialErrors.notFound()
    await armSweep(context)
    if (!(await cancelWhole(context, trial.id))) throw trialErrors.ended()
    return { id: trial.id, status: 'cancelled' }
  })
}

/**
 * Returns the next case whose answers a person has to compare, or one of them; null when there is none. Whoever reads it
 * gets the same order each time.
 *
 * @throws NOT_FOUND; CONFLICT for a case that has not ended
 */
export async function readBlindCase(
  { db }: ActionContext,
  caller: Caller,
  trialId: string,
  caseId?: string,
): Promise<BlindCase | null> {
  const { reader, viewer } = caller
  const { trial, waiting, one } = await batch(db, {
    trial: selectTrial({ id: trialId }),
    waiting: selectWaitingCases({ trialId, reader }),
    one: caseId === undefined ? null : selectComparedCase({ trialId, id: caseId, reader }),
  })
  if (!trial || !canTry(caller, trial)) throw trialErrors.notFound()
  const left = waiting.filter(({ access }) => seesWords(caller, access))
  if (caseId !== undefined && (!one || !seesWords(caller, one.access))) {
    throw trialErrors.caseNotFound()
  }
  const chosen = one ?? left[0]
  if (!chosen) return null
  if (chosen.state !== 'done' || !chosen.replayId) throw trialErrors.notDone()
  const lanes = await run(db, selectCaseLanes({ replayId: chosen.replayId }))
  const [baseline, candidate] = chooseAnswers(lanes)
  const isSwapped = await isCandidateFirst(chosen.id, viewer.id)
  const { id, question, note } = chosen
  return {
    id,
    question,
    note,
    first: isSwapped ? candidate : baseline,
    second: isSwapped ? baseline : candidate,
    isSame: hasSameWords(baseline, candidate),
    left: left.length,
  }
}

/** Returns the answers of the first sample of which both differ, or else of the first, the baseline's before the draft's. */
function chooseAnswers(lanes: CaseLane[]): [string, string] {
  const answersOf = (wanted: 'baseline' | 'candidate') =>
    lanes.filter(({ lane }) => lane === wanted).map(({ answer }) => answer)
  const [baseline, candidate] = [answersOf('baseline'), answersOf('candidate')]
  const differing = baseline.findIndex((answer, at) => !hasSameWords(answer, candidate[at] ?? ''))
  const at = Math.max(0, differing)
  return [baseline[at] ?? '', candidate[at] ?? '']
}

/** Whether somebody sees the draft's answer to a case first: the same each time, and no sign of which it is. */
async function isCandidateFirst(caseId: CaseId, accountId: string): Promise<boolean> {
  const hash = await sha256(`${caseId} ${accountId}`)
  return Number.parseInt(hash.slice(0, 1), 16) % 2 === 1
}

/**
 * Saves what a person says of the two answers as they were shown to them.
 *
 * @throws NOT_FOUND; CONFLICT while the case runs, and when the answers are the same
 */
export async function judgeCase(
  context: ActionContext,
  actor: Actor,
  caller: Caller,
  trialId: string,
  caseId: string,
  judgement: Judgement,
): Promise<IdempotentResult<{ id: CaseId; verdict: Verdict }>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'trials.judge', input: { trialId, caseId, judgement } }
  return runActionOnce(db, once, clock.now(), async () => {
    const { reader } = caller
    const found = await run(db, selectComparedCase({ trialId, id: caseId, reader }))
    if (!found || !canTry(caller, found) || !seesWords(caller, found.access)) {
      throw trialErrors.caseNotFound()
    }
    if (found.state !== 'done' || !found.replayId) throw trialErrors.notDone()
    const answers = chooseAnswers(await run(db, selectCaseLanes({ replayId: found.replayId })))
    if (hasSameWords(...answers)) throw trialErrors.sameAnswers()
    const isSwapped = await isCandidateFirst(found.id, accountId)
    const first = isSwapped ? 'candidate' : 'baseline'
    const verdict = toVerdict(judgement, first)
    const { saved, isHeld } = await batch(db, {
      guard: await guardActor(context, actor, {}),
      saved: markJudged(found.id, { verdict, by: accountId, now: clock.now() }),
      isHeld: reopenHeld(trialId as TrialId),
    })
    if (!saved) throw trialErrors.notDone()
    // Whoever gave the last verdict sees what it decides.
    if (isHeld) context.defer(context.scheduler.sweepNow())
    return { id: found.id, verdict }
  })
}
