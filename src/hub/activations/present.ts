import type * as z from 'zod'
import { presentTime } from '../http/answers'
import { presenterOf } from '../http/presenter'
import { formatNote, type TraceView } from '../traces/trace-view'
import {
  activationAnswer,
  compactionAnswer,
  durationsAnswer,
  stepAnswer,
  toolCallAnswer,
  type traceAnswer,
} from './answers'
import type { ActivationRecord } from './list-queries'

type Step = TraceView['steps'][number]

/** Returns an activation as the API presents it. */
export const presentActivation = presenterOf(activationAnswer).from<ActivationRecord>({
  agent: (row) => ({ id: row.agentId, name: row.agentName, kind: row.agentKind }),
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
    },
  tools: ({ tools }) => tools.map(presentToolCall),
})

const presentCompaction = presenterOf(compactionAnswer).from<TraceView['compactions'][number]>({
  replaced_messages: ({ replaced }) => replaced,
})

/** Returns a trace as the API presents it. */
export const presentTrace = (trace: TraceView): z.input<typeof traceAnswer> => ({
  prompt: trace.prompt,
  steps: trace.steps.map(presentStep),
  notes: trace.notes.map(({ at, text, quote }) => ({
    at: presentTime(at),
    text: formatNote(text, quote),
  })),
  compactions: trace.compactions.map(presentCompaction),
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
