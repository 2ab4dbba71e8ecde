import * as z from 'zod'
import type { CheckResult } from '../contract/hub'
import { countAnswer, microusdAnswer, presenterOf, timeAnswer } from '../http/answers'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { paidByAnswer, presentPaidBy } from '../replays/answers'
import { readCaller, toCaller } from '../replays/callers'
import { personAnswer } from '../rules/people'
import { caseCheck } from './set-inputs'
import type { TrialSummary } from './summary'
import {
  type BlindCase,
  cancelTrial,
  judgeCase,
  type ListedTrial,
  listTrials,
  previewTrial,
  readBlindCase,
  readTrial,
  startTrial,
  type TrialCaseView,
  type TrialPromise,
  type TrialRow,
  type TrialSide,
  type TrialView,
} from './trial-actions'
import { trialInput, verdictInput } from './trial-inputs'

const status = z.enum(['queued', 'running', 'done', 'cancelled'])
const verdict = z.enum(['better', 'worse', 'same', 'cannot_tell'])
const says = z.enum(['first', 'second', 'same', 'cannot_tell'])

const trialPromiseAnswer = z.object({
  cases: countAnswer.describe('That can run.'),
  repeats: countAnswer,
  judge: z
    .string()
    .nullable()
    .describe('The model that compares answers, as provider/model; null: people do.'),
  cost_max_microusd: microusdAnswer.describe('It never costs more.'),
  is_priced: z
    .boolean()
    .describe('False when the price of a model is unknown: it counts in tokens.'),
  tokens_max: countAnswer,
  paid_by: paidByAnswer,
  problems: z
    .array(z.object({ path: z.string(), message: z.string() }))
    .describe('Why it cannot start; empty when it can.'),
})

const presentTrialPromise = presenterOf(trialPromiseAnswer).from<TrialPromise>({
  paid_by: presentPaidBy,
})

const started = { id: z.string(), status }

const startedTrialAnswer = z.object({
  trial: z.object({ ...started, promise: trialPromiseAnswer }),
})

const cancelledTrialAnswer = z.object({ trial: z.object(started) })

const row = {
  id: z.string(),
  set: z.object({ id: z.string(), name: z.string() }),
  agent: personAnswer,
  status,
  requested_by: personAnswer,
  repeats: countAnswer,
  judge: z.string().nullable(),
  created_at: timeAnswer,
  finished_at: timeAnswer.nullable(),
}

const rowAnswer = z.object(row)

/** A trial in the list of its set. */
const listedTrialAnswer = rowAnswer.extend({
  better: countAnswer,
  worse: countAnswer,
  same: countAnswer,
  cannot_tell: countAnswer,
  waiting: countAnswer.describe('Cases whose answers people have to compare.'),
})

const presentTrialRow = presenterOf(rowAnswer).from<TrialRow>({
  set: ({ setId: id, setName: name }) => ({ id, name }),
})

const presentListedTrial = ({
  counts: { cannotTell, ...counts },
  ...trial
}: ListedTrial): z.input<typeof listedTrialAnswer> => ({
  ...presentTrialRow(trial),
  ...counts,
  cannot_tell: cannotTell,
})

const ofBoth = <Schema extends z.ZodType>(schema: Schema) =>
  z.object({ baseline: schema, candidate: schema })

const passedAnswer = z.object({
  samples: countAnswer.describe('Samples that passed all checks.'),
  of: countAnswer,
  all_samples: countAnswer.describe('Cases that did in all samples.'),
  cases: countAnswer,
})

const summaryAnswer = z.object({
  better: countAnswer,
  worse: countAnswer,
  same: countAnswer,
  cannot_tell: countAnswer,
  waiting: countAnswer.describe('Cases whose answers people have to compare.'),
  open: countAnswer.describe('Cases that have not ended.'),
  skipped: countAnswer.describe('Cases that could not run.'),
  interval: z
    .object({ low: z.number(), high: z.number() })
    .nullable()
    .describe(
      'Share of the cases with a difference in which the draft is better: Wilson score interval, 95 %.',
    ),
  noise: countAnswer.describe(
    'Cases in which the active definition did better or worse than what happened.',
  ),
  claim: verdict.describe('Of the trial as a whole. Never better or worse inside the noise.'),
  reason: z.string().describe('Why, as a sentence.'),
  passed: ofBoth(passedAnswer),
  cost_microusd: microusdAnswer.describe('Without that of reused runs.'),
  reused: countAnswer.describe(
    'Runs of the active definition that have the result of an earlier replay.',
  ),
  cost_month_microusd: ofBoth(microusdAnswer)
    .nullable()
    .describe(
      'Of a month with as many runs as the 30 days before the trial; null while that is not known.',
    ),
  duration_ms: ofBoth(z.object({ p50: countAnswer, p95: countAnswer })),
  tool_errors: ofBoth(countAnswer),
  agreement: z
    .object({ same: countAnswer, of: countAnswer })
    .nullable()
    .describe('How often judge and people agree; null until enough cases have both.'),
})

const presentPassed = presenterOf(passedAnswer).from<TrialSummary['passed']['baseline']>({})

const presentSummary = presenterOf(summaryAnswer).from<TrialSummary>({
  passed: ({ passed }) => ({
    baseline: presentPassed(passed.baseline),
    candidate: presentPassed(passed.candidate),
  }),
})

const sideAnswer = z.object({
  answer: z.string().describe('The beginning of what the first sample answered.'),
  steps: countAnswer,
  tokens: countAnswer,
  cost_microusd: microusdAnswer,
  duration_ms: countAnswer,
  incomplete: z
    .string()
    .nullable()
    .describe('Why it does not show what would have happened; null when it does.'),
})

const presentSide = presenterOf(sideAnswer).from<TrialSide>({})

const resultsAnswer = z
  .array(z.array(z.object({ has_passed: z.boolean(), detail: z.string() })))
  .describe('By sample, then by check in the order of the case.')

const caseAnswer = z.object({
  id: z.string(),
  activation_id: z.string(),
  replay_id: z.string().nullable().describe('Null until it starts.'),
  state: z.enum(['queued', 'running', 'judging', 'done', 'skipped', 'cancelled']),
  reason: z
    .string()
    .nullable()
    .describe('Why it was skipped, or why it could not be compared, as sentences.'),
  is_visible: z
    .boolean()
    .describe('Whether you see all of its run. Otherwise there are no words of it here.'),
  question: z.string().describe('The beginning of what the run was asked.'),
  note: z.string().describe('What would have been right.'),
  checks: z.array(caseCheck),
  results: z
    .object({ observed: resultsAnswer, baseline: resultsAnswer, candidate: resultsAnswer })
    .nullable(),
  baseline: sideAnswer.nullable(),
  candidate: sideAnswer.nullable(),
  judgements: z.array(
    z.object({
      sample: countAnswer,
      first: z.enum(['baseline', 'candidate']).describe('Whose answer the judge saw first.'),
      says,
      reason: z.string(),
    }),
  ),
  verdict: verdict.nullable().describe('Null: it has not ended, or people have to compare.'),
  by: z.enum(['checks', 'judge', 'people']).nullable(),
  verdicts: z.object({
    checks: verdict.nullable(),
    judge: verdict.nullable(),
    people: verdict.nullable(),
  }),
})

const presentResults = (samples: CheckResult[][]): z.input<typeof resultsAnswer> =>
  samples.map((results) => results.map(({ passed, detail }) => ({ has_passed: passed, detail })))

const presentCase = presenterOf(caseAnswer).from<TrialCaseView>({
  results: ({ results }) =>
    results && {
      observed: presentResults(results.observed),
      baseline: presentResults(results.baseline),
      candidate: presentResults(results.candidate),
    },
  baseline: ({ baseline }) => baseline && presentSide(baseline),
  candidate: ({ candidate }) => candidate && presentSide(candidate),
})

const trialAnswer = z
  .object({
    ...row,
    promise: z.object({
      cases: countAnswer,
      cost_max_microusd: microusdAnswer.describe('It never costs more.'),
      budget: z.string().describe('Scope of the budget of all replays, which pays beside others.'),
    }),
    ...summaryAnswer.shape,
    cases: z.array(caseAnswer),
  })
  .meta({ id: 'Trial' })

const presentTrial = (view: TrialView): z.input<typeof trialAnswer> => ({
  ...presentTrialRow(view),
  promise: {
    cases: view.promise.cases,
    cost_max_microusd: view.promise.costMaxMicrousd,
    budget: view.promise.budget,
  },
  ...presentSummary(view.summary),
  cases: view.cases.map(presentCase),
})

const blindAnswer = z.object({
  case: z
    .object({
      id: z.string(),
      question: z.string(),
      note: z.string(),
      first: z.string(),
      second: z.string(),
      is_same: z.boolean().describe('Whether both have the same words: there is nothing to say.'),
      left: countAnswer.describe('Cases that nobody has decided.'),
    })
    .nullable()
    .describe('Null: there is none to compare.'),
})

function presentBlind(one: BlindCase | null): z.input<typeof blindAnswer> {
  if (!one) return { case: null }
  const { isSame, ...rest } = one
  return { case: { ...rest, is_same: isSame } }
}

const judgedAnswer = z.object({ case: z.object({ id: z.string(), verdict }) })

const route = routesOf('agents')

export const trialRoutes: Route[] = [
  route({
    method: 'post',
    path: '/sets/:id/trials',
    summary:
      'Runs all cases of a set with the active definition and with a draft of another, for people who may edit the agent. Nobody else sees anything of it, and it writes nothing. Cost comes from the budgets of whoever asks and from that of replays',
    access: 'write',
    status: 202,
    body: trialInput,
    answer: startedTrialAnswer,
    handle: async (call) => {
      const { context, body } = call
      const done = await startTrial(context, call.actor(), toCaller(call), call.param('id'), body)
      return presentIdempotent(call, done, ({ promise, ...trial }) => ({
        trial: { ...trial, promise: presentTrialPromise(promise) },
      }))
    },
  }),
  route({
    method: 'post',
    path: '/sets/:id/trials/preview',
    summary:
      'Returns what a trial would run, what it can cost at most, which budgets pay, and why it cannot start; it starts nothing',
    access: 'write',
    allowsMuted: true,
    body: trialInput,
    answer: z.object({ promise: trialPromiseAnswer }),
    handle: async (call) => {
      const promise = await previewTrial(call.context, toCaller(call), call.param('id'), call.body)
      return { promise: presentTrialPromise(promise) }
    },
  }),
  route({
    method: 'get',
    path: '/sets/:id/trials',
    summary: 'Lists the trials of a set, newest first, for people who may edit its agent',
    access: 'own',
    answer: z.object({ trials: z.array(listedTrialAnswer) }),
    handle: async (call) => {
      const rows = await listTrials(call.context, await readCaller(call), call.param('id'))
      return { trials: rows.map(presentListedTrial) }
    },
  }),
  route({
    method: 'get',
    path: '/trials/:id',
    summary:
      'Returns a trial with its cases and what can be said of it, for people who may edit its agent. Words of a case are there for whoever sees all of its run',
    access: 'own',
    answer: z.object({ trial: trialAnswer }),
    handle: async (call) => ({
      trial: presentTrial(await readTrial(call.context, await readCaller(call), call.param('id'))),
    }),
  }),
  route({
    method: 'post',
    path: '/trials/:id/cancel',
    summary: 'Cancels a trial: what runs ends within its current model call',
    access: 'write',
    allowsMuted: true,
    answer: cancelledTrialAnswer,
    handle: async (call) => {
      const done = await cancelTrial(call.context, call.actor(), toCaller(call), call.param('id'))
      return presentIdempotent(call, done, (trial) => ({ trial }))
    },
  }),
  route({
    method: 'get',
    path: '/trials/:id/blind',
    summary:
      'Returns the next two answers that people have to compare, in an order that does not say where they come from',
    access: 'own',
    query: z.object({ case: z.string().optional().describe('The id of one case.') }),
    answer: blindAnswer,
    handle: async (call) => {
      const { context, query } = call
      const caller = await readCaller(call)
      return presentBlind(await readBlindCase(context, caller, call.param('id'), query.case))
    },
  }),
  route({
    method: 'post',
    path: '/trials/:id/cases/:case_id/verdict',
    summary:
      'Saves which of two answers is better, in the order in which you were shown them. It counts before what checks and a judge say',
    access: 'write',
    allowsMuted: true,
    body: verdictInput,
    answer: judgedAnswer,
    handle: async (call) => {
      const [trialId, caseId] = [call.param('id'), call.param('case_id')]
      const { says } = call.body
      const done = await judgeCase(
        call.context,
        call.actor(),
        toCaller(call),
        trialId,
        caseId,
        says,
      )
      return presentIdempotent(call, done, (saved) => ({ case: saved }))
    },
  }),
]
