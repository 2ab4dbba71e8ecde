import * as z from 'zod'
import { countAnswer, microusdAnswer, presenterOf, presentTime, timeAnswer } from '../http/answers'
import { personAnswer, presentPerson } from '../rules/people'
import { formatNote, type TraceView } from '../rules/traces'
import { activations } from '../schema/activations'
import type { ActivationRecord } from './list-queries'

export const activationAnswer = z
  .object({
    id: z.string(),
    agent: personAnswer,
    class: z.enum(activations.class.enumValues),
    task: z.enum(activations.task.enumValues),
    state: z
      .enum(activations.state.enumValues)
      .describe('parked: waits for a decision about a call that requires approval.'),
    admission: z.enum(activations.admission.enumValues),
    outcome: z.enum(activations.outcome.enumValues).nullable().describe('Null until it is done.'),
    error: z
      .object({
        code: z.string(),
        message: z.string(),
        details: z
          .record(z.string(), z.number())
          .optional()
          .describe(
            '`CONTEXT_LIMIT`: the `estimated` tokens of the prompt, and the `limit` of the model.',
          ),
      })
      .nullable(),
    model: z.string(),
    definition_version: countAnswer,
    post_id: z.string().nullable(),
    post_title: z.string().nullable(),
    started_at: timeAnswer,
    deadline_at: timeAnswer,
    finished_at: timeAnswer.nullable(),
    iterations: countAnswer.describe('Model calls.'),
    input_tokens: countAnswer,
    cached_tokens: countAnswer,
    output_tokens: countAnswer,
    cost_microusd: microusdAnswer,
    reserved_microusd: microusdAnswer,
    is_priced: z.boolean().describe('False when the price of a model is unknown.'),
    tools: z.array(z.string()).describe('Names of tools in order of first use.'),
    reply_comment_id: z.string().nullable(),
    reply_refusal: z.string().nullable().describe('Why its reply was not posted.'),
  })
  .meta({ id: 'Activation' })

const msAnswer = z.number().describe('Milliseconds.')

const hooksAnswer = z.array(
  z.object({
    hook: z.string(),
    point: z.string(),
    ms: msAnswer,
    outcome: z.enum(['ok', 'denied', 'failed', 'timed_out']),
  }),
)

const toolCallAnswer = z.object({
  call_id: z.string(),
  name: z.string(),
  grant: z.string().nullable(),
  arguments: z.string().describe('JSON.'),
  result: z.string(),
  is_error: z.boolean(),
  started_at: timeAnswer,
  duration_ms: msAnswer,
  result_bytes: z.number(),
  hooks: hooksAnswer,
})

/** A model call of an activation, with the tool calls that it requested. */
const stepAnswer = z
  .object({
    step: z.number(),
    started_at: timeAnswer,
    model_ms: msAnswer,
    retries: z.number(),
    input: z
      .object({
        messages: z.number(),
        chars: z.number(),
        tokens: z.number(),
        prefix_share: z
          .number()
          .nullable()
          .describe('Part of the input that is the same as in the step before; 1 is all of it.'),
        images: z.number().describe('Images that the model got.'),
      })
      .nullable(),
    input_tokens: z.number(),
    cached_tokens: z.number(),
    output_tokens: z.number(),
    reasoning_tokens: z.number(),
    cost_microusd: z.number().describe('Millionths of a US dollar.'),
    is_priced: z.boolean(),
    is_estimated: z.boolean(),
    finish_reason: z.string(),
    text: z.string(),
    reasoning: z.string(),
    hooks: hooksAnswer,
    tools: z.array(toolCallAnswer),
  })
  .meta({ id: 'Step' })

const compactionAnswer = z.object({
  at: timeAnswer,
  duration_ms: msAnswer,
  replaced_messages: z.number(),
  tokens_before: z.number(),
  tokens: z.number(),
  cost_microusd: z.number().describe('Millionths of a US dollar.'),
  problem: z.string().nullable().describe("Why it has no model's summary."),
})

const parkAnswer = z.object({
  at: timeAnswer,
  resumed_at: timeAnswer.nullable(),
  tools: z.array(z.string()),
  decisions: z.array(
    z.object({
      call_id: z.string(),
      decision: z.string(),
      by: z.string().nullable(),
      note: z.string(),
    }),
  ),
})

const changesAnswer = z.object({
  attempt: z.number(),
  branch: z.string(),
  pushed: z.string().nullable().describe('Commit; null when nothing was pushed.'),
  since: z.string().nullable().describe('Commit that the changes count from; null: a new branch.'),
  stat: z.string(),
  patch_chars: z.number().describe('The page of the run shows the patch. 0: none is stored.'),
})

const durationsAnswer = z.object({
  loading_ms: msAnswer,
  model_ms: msAnswer,
  tools_ms: msAnswer,
  hooks_ms: msAnswer,
  compaction_ms: msAnswer,
  parked_ms: msAnswer,
  waiting_ms: msAnswer,
  other_ms: msAnswer,
  total_ms: msAnswer,
})

export const traceAnswer = z
  .object({
    prompt: z.array(z.object({ role: z.string(), excerpt: z.string(), chars: z.number() })),
    steps: z.array(stepAnswer),
    notes: z.array(z.object({ at: timeAnswer, text: z.string() })),
    compactions: z.array(compactionAnswer),
    parks: z.array(parkAnswer).describe('Times that it waited for approval.'),
    changes: z.array(changesAnswer).describe('What a coding agent changed in its repository.'),
    time: durationsAnswer,
    plan: z.object({
      goal: z.string().nullable(),
      steps: z.array(
        z.object({
          title: z.string(),
          status: z.enum(['pending', 'running', 'completed', 'failed', 'not_done']),
          call_id: z.string().nullable(),
          output: z.string().nullable().describe('Shortened result of the step.'),
          reason: z.string().nullable().describe('Why the step failed or was not done.'),
        }),
      ),
      progress: z.number(),
    }),
  })
  .meta({ id: 'Trace' })

/** An event of a run; further fields depend on its type. */
export const eventAnswer = z
  .looseObject({
    seq: countAnswer,
    activation_id: z.string(),
    at: timeAnswer,
    kind: z.string(),
    type: z.string(),
  })
  .meta({ id: 'ActivationEvent' })

/** `ExportTraceServiceRequest` of OTLP, as JSON. */
export const otlpAnswer = z.object({ resourceSpans: z.array(z.looseObject({})) })

type Step = TraceView['steps'][number]

/** Returns an activation as the API presents it. */
export const presentActivation = presenterOf(activationAnswer).from<ActivationRecord>({
  agent: (row) =>
    presentPerson({
      id: row.agentId,
      name: row.agentName,
      kind: row.agentKind,
      displayName: row.agentDisplayName,
    }),
})

const presentDurations = presenterOf(durationsAnswer).from<TraceView['time']>({})

const presentToolCall = presenterOf(toolCallAnswer).from<Step['tools'][number]>({})

const presentStep = presenterOf(stepAnswer).from<Step>({
  input: ({ input }) =>
    input && {
      messages: input.messages,
      chars: input.chars,
      tokens: input.tokens,
      prefix_share: input.prefixShare,
      images: input.images ?? 0,
    },
  tools: ({ tools }) => tools.map(presentToolCall),
})

const presentCompaction = presenterOf(compactionAnswer).from<TraceView['compactions'][number]>({
  replaced_messages: ({ replaced }) => replaced,
})

type Park = TraceView['parks'][number]

const presentDecision = presenterOf(parkAnswer.shape.decisions.element).from<
  Park['decisions'][number]
>({})

const presentPark = presenterOf(parkAnswer).from<Park>({
  decisions: ({ decisions }) => decisions.map(presentDecision),
})

const presentChanges = presenterOf(changesAnswer).from<TraceView['changes'][number]>({})

const presentPlanStep = presenterOf(traceAnswer.shape.plan.shape.steps.element).from<
  TraceView['plan']['steps'][number]
>({})

/** Returns a trace as the API presents it. */
export const presentTrace = (trace: TraceView): z.input<typeof traceAnswer> => ({
  prompt: trace.prompt,
  steps: trace.steps.map(presentStep),
  notes: trace.notes.map(({ at, text, quote }) => ({
    at: presentTime(at),
    text: formatNote(text, quote),
  })),
  compactions: trace.compactions.map(presentCompaction),
  parks: trace.parks.map(presentPark),
  changes: trace.changes.map(presentChanges),
  time: presentDurations(trace.time),
  plan: {
    // empty for a viewer who may not see it
    goal: trace.plan.goal || null,
    steps: trace.plan.steps.map(presentPlanStep),
    progress: trace.plan.progress,
  },
})
