import * as z from 'zod'
import { outcomes } from '../../shared/errors'
import { countAnswer, microusdAnswer, presenterOf, presentTime, timeAnswer } from '../http/answers'
import { personAnswer } from '../rules/people'
import { budgetScopes, budgets } from '../schema/budgets'
import type { ReplayPromise, ReplayView, ViewedLane } from './actions'
import { type ReplayRow, replayStatuses } from './queries'

const status = z.enum(replayStatuses)

export const startedAnswer = z.object({ replay: z.object({ id: z.string(), status }) })

const callAnswer = z.object({
  step: countAnswer.describe('The model call that asked for it, from 1.'),
  tool: z.string(),
  arguments: z.string().describe('JSON.'),
  source: z
    .enum(['record', 'hub', 'lane', 'none'])
    .describe(
      'Where its answer came from: the record of the run, the hub as it was then, the lane itself (a call that would have written), or nowhere.',
    ),
  is_error: z.boolean().describe('Whether it was answered with an error.'),
  is_repeated: z
    .boolean()
    .describe('Whether it got the last recorded answer for these arguments again.'),
  current: z
    .array(z.string())
    .describe("Parts of the hub's answer that are those of today and not of then."),
  would_have: z.string().nullable().describe('What it would have done; null when it only reads.'),
})

const laneAnswer = z.object({
  lane: z
    .enum(['observed', 'baseline', 'candidate'])
    .describe('What happened; the definition of the run, run again; the draft.'),
  sample: countAnswer.describe('Of the repeats, from 1.'),
  status,
  outcome: z.enum(outcomes).nullable().describe('Null until it has ended.'),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  answer: z.string(),
  steps: countAnswer.describe('Model calls.'),
  tokens: countAnswer,
  cost_microusd: microusdAnswer,
  duration_ms: countAnswer,
  incomplete: z
    .string()
    .nullable()
    .describe('Why it does not show what would have happened; null when it does.'),
  notes: z.array(z.string()).describe('What else to know of it, such as tools that have changed.'),
  is_reused: z
    .boolean()
    .describe('Whether it has the result of an earlier replay, which paid its cost.'),
  earlier_replay_id: z.string().nullable().describe('That replay, while it exists.'),
  calls: z.array(callAnswer),
})

const partingAnswer = z
  .object({
    step: countAnswer.describe('Of the model calls, from 1.'),
    reason: z.enum(['prompt', 'tools', 'model', 'choice', 'tool_answer', 'end']),
    detail: z.string(),
  })
  .nullable()

const summary = {
  id: z.string(),
  activation_id: z.string(),
  status,
  requested_by: personAnswer,
  has_draft: z.boolean(),
  created_at: timeAnswer,
}

export const replayAnswer = z
  .object({
    ...summary,
    is_complete: z
      .boolean()
      .describe('Whether all lanes have ended, and each shows what would have happened.'),
    cost_microusd: microusdAnswer.describe('Without that of reused lanes.'),
    cost_max_microusd: microusdAnswer.describe('It never costs more.'),
    lanes: z.array(laneAnswer),
    parts_at: partingAnswer.describe(
      'The first step at which the draft differs from the baseline; null when none does.',
    ),
    baseline_parts_at: partingAnswer.describe(
      'The same of the baseline and what happened: a difference that is not one of the draft.',
    ),
  })
  .meta({ id: 'Replay' })

export const summaryAnswer = z.object(summary)

export const paidByAnswer = z.array(
  z.object({
    scope: z.enum(budgetScopes),
    name: z.string().nullable(),
    period: z.enum(budgets.period.enumValues),
    left_microusd: microusdAnswer.nullable().describe('Null: no limit, or not yours to see.'),
    left_tokens: countAnswer.nullable().describe('Null: no limit, or not yours to see.'),
    resets_at: timeAnswer.nullable(),
  }),
)

export const promiseAnswer = z.object({
  lanes: countAnswer.describe('What runs: the baseline and the repeats of the draft.'),
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

const presentPayer = presenterOf(paidByAnswer.element).from<ReplayPromise['paidBy'][number]>({
  resets_at: ({ endsAt }) => presentTime(endsAt),
})

export const presentPaidBy = ({ paidBy }: Pick<ReplayPromise, 'paidBy'>) => paidBy.map(presentPayer)

export const presentPromise = presenterOf(promiseAnswer).from<ReplayPromise>({
  paid_by: presentPaidBy,
})

export const presentSummary = presenterOf(summaryAnswer).from<ReplayRow>({})

const presentCall = presenterOf(callAnswer).from<ViewedLane['calls'][number]>({
  current: ({ current }) => [...current],
})

const presentLane = presenterOf(laneAnswer).from<ViewedLane>({
  error: ({ error }) => error && { code: error.code, message: error.message },
  earlier_replay_id: ({ reusedFrom }) => reusedFrom,
  calls: ({ calls }) => calls.map(presentCall),
})

export const presentReplay = (view: ReplayView): z.input<typeof replayAnswer> => ({
  ...presentSummary(view.row),
  is_complete: view.isComplete,
  cost_microusd: view.costMicrousd,
  cost_max_microusd: view.costMaxMicrousd,
  lanes: view.lanes.map(presentLane),
  parts_at: view.partsAt,
  baseline_parts_at: view.baselinePartsAt,
})
