import type * as z from 'zod'
import { presentTime } from '../http/answers'
import { formatNote, type TraceView } from '../traces/trace-view'
import type { activationAnswer, durationsAnswer, stepAnswer, traceAnswer } from './answers'
import type { ActivationRecord } from './list-queries'

/** Returns an activation as the API presents it. */
export const presentActivation = (
  activation: ActivationRecord,
): z.input<typeof activationAnswer> => ({
  id: activation.id,
  agent: { id: activation.agentId, name: activation.agentName, kind: activation.agentKind },
  class: activation.class,
  task: activation.task,
  state: activation.state,
  admission: activation.admission,
  outcome: activation.outcome,
  error: activation.error,
  model: activation.model,
  definition_version: activation.definitionVersion,
  post_id: activation.postId,
  post_title: activation.postTitle,
  started_at: presentTime(activation.startedAt),
  deadline_at: presentTime(activation.deadlineAt),
  finished_at: presentTime(activation.finishedAt),
  iterations: activation.iterations,
  input_tokens: activation.inputTokens,
  cached_tokens: activation.cachedTokens,
  output_tokens: activation.outputTokens,
  cost_microusd: activation.costMicrousd,
  reserved_microusd: activation.reservedMicrousd,
  is_priced: activation.isPriced,
  tools: activation.tools,
  reply_comment_id: activation.replyCommentId,
  reply_refusal: activation.replyRefusal,
})

/** Returns a trace as the API presents it. */
export const presentTrace = (trace: TraceView): z.input<typeof traceAnswer> => ({
  prompt: trace.prompt,
  steps: trace.steps.map(presentStep),
  notes: trace.notes.map(({ at, text, quote }) => ({
    at: presentTime(at),
    text: formatNote(text, quote),
  })),
  compactions: trace.compactions.map((each) => ({
    at: presentTime(each.at),
    duration_ms: each.durationMs,
    replaced_messages: each.replaced,
    tokens_before: each.tokensBefore,
    tokens: each.tokens,
    cost_microusd: each.costMicrousd,
    problem: each.problem,
  })),
  parks: trace.parks.map(({ at, resumedAt, tools, decisions }) => ({
    at: presentTime(at),
    resumed_at: presentTime(resumedAt),
    tools,
    decisions: decisions.map(({ callId, decision, by, note }) => ({
      call_id: callId,
      decision,
      by,
      note,
    })),
  })),
  changes: trace.changes.map(({ patchChars, ...each }) => ({ ...each, patch_chars: patchChars })),
  time: presentDurations(trace.time),
  plan: {
    // empty for a viewer who may not see it
    goal: trace.plan.goal || null,
    steps: trace.plan.steps.map(({ title, status, callId, output, reason }) => ({
      title,
      status,
      call_id: callId,
      output,
      reason,
    })),
    progress: trace.plan.progress,
  },
})

const presentDurations = (time: TraceView['time']): z.input<typeof durationsAnswer> => ({
  loading_ms: time.loadingMs,
  model_ms: time.modelMs,
  tools_ms: time.toolsMs,
  hooks_ms: time.hooksMs,
  compaction_ms: time.compactionMs,
  parked_ms: time.parkedMs,
  waiting_ms: time.waitingMs,
  other_ms: time.otherMs,
  total_ms: time.totalMs,
})

const presentStep = (step: TraceView['steps'][number]): z.input<typeof stepAnswer> => ({
  step: step.step,
  started_at: presentTime(step.startedAt),
  model_ms: step.modelMs,
  retries: step.retries,
  input: step.input && {
    messages: step.input.messages,
    chars: step.input.chars,
    tokens: step.input.tokens,
    prefix_share: step.input.prefixShare,
  },
  input_tokens: step.inputTokens,
  cached_tokens: step.cachedTokens,
  output_tokens: step.outputTokens,
  reasoning_tokens: step.reasoningTokens,
  cost_microusd: step.costMicrousd,
  is_priced: step.isPriced,
  is_estimated: step.isEstimated,
  finish_reason: step.finishReason,
  text: step.text,
  reasoning: step.reasoning,
  hooks: step.hooks,
  tools: step.tools.map((tool) => ({
    call_id: tool.callId,
    name: tool.name,
    grant: tool.grant,
    arguments: tool.arguments,
    result: tool.result,
    is_error: tool.isError,
    started_at: presentTime(tool.startedAt),
    duration_ms: tool.durationMs,
    result_bytes: tool.resultBytes,
    hooks: tool.hooks,
  })),
})
