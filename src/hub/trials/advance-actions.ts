import { replayLimits, trialLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { ActivationId, ReplayId, TrialId } from '../../shared/ids'
import type { CaseFindings, SampleResults } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { openStoredTrace } from '../operations/archive-view'
import {
  cancelLanes,
  canReplay,
  findRunProblems,
  ownAccountReason,
  startLanes,
  toAccountCaller,
} from '../replays/actions'
import { cancelQueuedLanes } from '../replays/lane-queries'
import {
  insertLanes,
  insertReplay,
  type NewLane,
  type ReplayedRun,
  selectRun,
} from '../replays/queries'
import { toJudgeSamples } from '../rules/judge-samples'
import { readTrace } from '../rules/traces'
import { runChecks } from './checks'
import {
  type CaseLane,
  cancelStatements,
  finishTrial,
  isRunningSql,
  markFound,
  markSkipped,
  markStarted,
  mayStartSql,
  type OpenCase,
  type OpenTrial,
  selectCaseLanes,
  selectOpenCases,
  selectOpenTrial,
} from './trial-queries'
import {
  type ComparedSide,
  combineJudgements,
  compareByChecks,
  compareWithoutJudge,
  decideCase,
  joinReasons,
  readJudgement,
  type SampleDecision,
  type StoredJudgement,
} from './verdicts'

/** Why a case does not run whose run is not shown to whoever started the trial. */
export const unseenReason = 'Whoever started the trial does not see all of this run.'

/** What a trial that goes on needs: of the case that it is at. */
interface Step {
  context: ActionContext
  trial: OpenTrial
}

/**
 * Lets a trial go on: compares what has ended, starts the next cases, and ends the trial after the last. Whatever it does is
 * a guarded write, so that it can be repeated and interrupted anywhere. It never throws.
 */
export async function advanceTrial(context: ActionContext, trialId: TrialId): Promise<void> {
  await advance(context, trialId).catch((error: unknown) =>
    context.log.error('failed to advance a trial', { trial: trialId, error }),
  )
}

/** Lets all open trials go on. Returns when the next sweep has to look again; null when none is open. */
export async function sweepTrials(
  context: ActionContext,
  trials: readonly TrialId[],
  now: number,
): Promise<number | null> {
  for (const trial of trials) await advanceTrial(context, trial)
  return trials.length === 0 ? null : now + replayLimits.sweepMs
}

async function advance(context: ActionContext, trialId: TrialId): Promise<void> {
  const { db, clock } = context
  const { trial, cases } = await batch(db, {
    trial: selectOpenTrial({ id: trialId, now: clock.now() }),
    cases: selectOpenCases({ trialId }),
  })
  if (!trial) return
  if (trial.isStopped) return void (await cancelWhole(context, trialId))
  const step = { context, trial }
  let running = 0
  for (const each of cases.filter(({ state }) => state !== 'queued')) {
    if (!each.isOver || (await compareCase(step, each)) === 'judging') running++
  }
  const queued = cases.filter(({ state }) => state === 'queued')
  let left = queued.length
  for (const each of queued) {
    if (running >= trialLimits.casesAtOnce) break
    if (await startCase(step, each)) running++
    left--
  }
  if (running === 0 && left === 0) await run(db, finishTrial(trialId, clock.now()))
  else await startLanes(context)
}

/** Cancels a trial with its cases and their lanes: those that are queued at once, those that run within their current call. */
export async function cancelWhole(context: ActionContext, id: TrialId): Promise<boolean> {
  const now = context.clock.now()
  const { isMarked, running } = await batch(context.db, {
    ...cancelStatements(id, now),
    queued: cancelQueuedLanes({ now }),
  })
  context.defer(cancelLanes(context, running))
  return isMarked
}

/** Starts a queued case, or skips it when its run cannot be replayed now. Returns whether it runs. */
async function startCase({ context, trial }: Step, { id, activationId }: OpenCase) {
  const { db, clock, agents, archive } = context
  const caller = toAccountCaller(trial.by)
  const found = await run(db, selectRun({ id: activationId, reader: caller.reader }))
  if (!found || !canReplay(caller, found)) {
    await run(db, markSkipped(id, unseenReason))
    return false
  }
  const record = await openStoredTrace(archive, found.trace)
  const { problems } = await findRunProblems(context, caller, found, record)
  if (problems[0]) {
    await run(db, markSkipped(id, problems[0].message))
    return false
  }
  const now = clock.now()
  const replayId = clock.newId<ReplayId>(now)
  const replay = {
    id: replayId,
    activationId,
    requestedBy: trial.by.id,
    draft: trial.draft,
    baselineVersion: trial.baselineVersion,
    createdAt: now,
  }
  const question = agents.replays.readQuestion(record ?? '')
  await batch(db, {
    ...insertReplay(replay, found, toLanes(trial, clock), mayStartSql(id)),
    case: markStarted(id, replayId, question),
  })
  return true
}

/** Returns the lanes of a case: as many of the active definition as of the draft. */
function toLanes({ repeats, limits }: OpenTrial, clock: ActionContext['clock']): NewLane[] {
  const toLane = (lane: 'baseline' | 'candidate', at: number): NewLane => ({
    id: clock.newId<ActivationId>(clock.now()),
    lane,
    sample: at + 1,
    ...limits[lane],
  })
  return (['baseline', 'candidate'] as const).flatMap((lane) =>
    Array.from({ length: repeats }, (_, at) => toLane(lane, at)),
  )
}

/** Compares the answers of a case whose lanes have ended. Returns whether a judge does so now, or it is done. */
async function compareCase(step: Step, each: OpenCase): Promise<'judging' | 'done'> {
  const { db } = step.context
  const { replayId } = each
  if (!replayId) return 'done'
  const lanes = await run(db, selectCaseLanes({ replayId }))
  return each.state === 'judging' ? endJudging(step, each, lanes) : endRunning(step, each, lanes)
}

const toSide = (each: Pick<OpenCase, 'checks'>, lane: CaseLane): ComparedSide => ({
  answer: lane.answer,
  results: runChecks(each.checks, lane),
  incomplete: describeIncomplete(lane),
  hasFailed: lane.outcome === 'failed',
})

function describeIncomplete({ state, outcome, incomplete }: CaseLane): string | null {
  if (incomplete !== null) return incomplete
  if (outcome === 'budget_exhausted') return 'A budget was used up.'
  if (state === 'done' && outcome !== 'cancelled') return null
  return state === 'cancelled' || outcome === 'cancelled'
    ? 'It was cancelled.'
    : 'It did not report how it ended.'
}

interface Sample {
  sample: number
  baseline: ComparedSide
  candidate: ComparedSide
}

function toSamples(each: OpenCase, lanes: CaseLane[], repeats: number): Sample[] {
  const sideOf = (wanted: 'baseline' | 'candidate', sample: number): ComparedSide => {
    const lane = lanes.find((one) => one.lane === wanted && one.sample === sample)
    if (lane) return toSide(each, lane)
    return { answer: '', results: [], incomplete: 'It did not run.', hasFailed: false }
  }
  return Array.from({ length: repeats }, (_, at) => ({
    sample: at + 1,
    baseline: sideOf('baseline', at + 1),
    candidate: sideOf('candidate', at + 1),
  }))
}

/** Decides a case by its checks, or lets a judge compare what they do not decide. */
async function endRunning(
  { context, trial }: Step,
  each: OpenCase,
  lanes: CaseLane[],
): Promise<'judging' | 'done'> {
  const { db, clock } = context
  const samples = toSamples(each, lanes, trial.repeats)
  const found = await findResults(context, trial, each, samples, lanes)
  const byChecks = samples.map(({ baseline, candidate }) => compareByChecks(baseline, candidate))
  const checksVerdict = decideCase(byChecks)
  const { judge } = trial.limits
  if (checksVerdict === null && judge && !each.usesOwnAccount) {
    const undecided = samples.filter((_, at) => byChecks[at]?.verdict === null)
    const judging = undecided.flatMap(({ sample }) =>
      toJudgeSamples(sample).map((number) => ({
        id: clock.newId<ActivationId>(clock.now()),
        lane: 'judge' as const,
        sample: number,
        ...judge,
      })),
    )
    const { replayId, activationId } = each
    if (!replayId) return 'done'
    const replay = { id: replayId, activationId, requestedBy: trial.by.id }
    const place = { agentId: trial.agentId, communityId: each.communityId }
    await batch(db, {
      lanes: insertLanes(replay, place, judging, isRunningSql(each.id)),
      case: markFound({ id: each.id, state: 'running' }, 'judging', found),
    })
    return 'judging'
  }
  const alone = samples.map(({ baseline, candidate }) => compareWithoutJudge(baseline, candidate))
  const verdict = decideCase(alone)
  const isWithheld = verdict === null && judge !== null && each.usesOwnAccount
  await run(
    db,
    markFound({ id: each.id, state: 'running' }, 'done', {
      ...found,
      checksVerdict: verdict,
      reason: isWithheld ? ownAccountReason : joinReasons(alone),
    }),
  )
  return 'done'
}

/** Decides a case by what a judge said of the samples that its checks do not decide. */
async function endJudging(
  { context, trial }: Step,
  each: OpenCase,
  lanes: CaseLane[],
): Promise<'done'> {
  const decisions = toSamples(each, lanes, trial.repeats).map(
    ({ sample, baseline, candidate }): SampleDecision => {
      const decision = compareByChecks(baseline, candidate)
      return decision.verdict === null ? decideByJudge(lanes, sample) : decision
    },
  )
  const found = { judgeVerdict: decideCase(decisions), reason: joinReasons(decisions) }
  await run(context.db, markFound({ id: each.id, state: 'judging' }, 'done', found))
  return 'done'
}

/** Decides a sample by what a judge said of both orders, of which the first shows the baseline first. */
function decideByJudge(lanes: CaseLane[], sample: number): SampleDecision {
  const said = (number: number) => {
    const found = lanes.find((each) => each.lane === 'judge' && each.sample === number)
    return found ? readSaid(found) : readJudgement('')
  }
  const [baselineFirst, candidateFirst] = toJudgeSamples(sample)
  const { verdict, reason } = combineJudgements(said(baselineFirst), said(candidateFirst))
  return { verdict, reason: verdict === 'cannot_tell' ? reason : null }
}

/** Returns what a lane of a judge says; one that failed says nothing. */
export function readSaid(lane: Pick<CaseLane, 'state' | 'answer' | 'incomplete'>): StoredJudgement {
  const isDone = lane.state === 'done' && lane.incomplete === null
  if (isDone) return readJudgement(lane.answer)
  const { reason } = readJudgement('')
  return { says: 'cannot_tell', reason: lane.incomplete ?? reason }
}

/** Returns the results of the checks, with what the active definition did compared with what happened. */
async function findResults(
  { db, agents, archive }: ActionContext,
  trial: OpenTrial,
  each: OpenCase,
  samples: Sample[],
  lanes: CaseLane[],
): Promise<{ results: SampleResults; findings: CaseFindings }> {
  const { reader } = toAccountCaller(trial.by)
  const found = await run(db, selectRun({ id: each.activationId, reader }))
  const record = found ? await openStoredTrace(archive, found.trace) : null
  const observed = found && record !== null ? toObserved(agents, each, found, record) : null
  const noise = observed
    ? decideCase(samples.map(({ baseline }) => compareWithoutJudge(observed, baseline)))
    : null
  const countErrors = (wanted: 'baseline' | 'candidate') =>
    lanes
      .filter(({ lane }) => lane === wanted)
      .flatMap(({ calls }) => calls)
      .filter(({ isError }) => isError === 1).length
  return {
    results: {
      observed: observed ? [observed.results] : [],
      baseline: samples.map(({ baseline }) => baseline.results),
      candidate: samples.map(({ candidate }) => candidate.results),
    },
    findings: {
      noise,
      toolErrors: { baseline: countErrors('baseline'), candidate: countErrors('candidate') },
    },
  }
}

/** Returns what happened, as a side that is compared. */
function toObserved(
  agents: ActionContext['agents'],
  { checks }: OpenCase,
  found: ReplayedRun,
  record: string,
): ComparedSide {
  const answer = agents.replays.readAnswer(record)
  const steps = readTrace(agents, record, 'all', found)?.steps ?? []
  const calls = steps.flatMap(({ tools }) => tools.map(({ name }) => ({ tool: name })))
  const { outcome, iterations, costMicrousd } = found
  const lane = { outcome, answer, steps: iterations, costMicrousd, calls }
  return {
    answer,
    results: runChecks(checks, lane),
    incomplete: null,
    hasFailed: outcome === 'failed',
  }
}
