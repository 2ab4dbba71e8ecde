import type { RuntimeEvent } from '../../agents/contract/agents'
import { formatCost, formatCount, formatShare, formatSpan } from '../../shared/format'
import { formatOutcome, formatToolName } from '../traces/run-labels'
import { formatNote } from '../traces/trace-view'

type EventLabels = {
  [Type in RuntimeEvent['type']]: (event: Extract<RuntimeEvent, { type: Type }>) => string
}

const eventLabels: EventLabels = {
  woken: () => 'woken',
  started: ({ model }) => `started; model ${model}`,
  parked: ({ tools }) =>
    tools.length > 0 ? 'waiting for approval' : 'waiting for the model provider, which is down',
  resumed: ({ decisions }) =>
    decisions.length > 0 ? 'resumed: the approvals are decided' : 'resumed',
  steered: ({ from, is_moderation: isModeration }) =>
    `a comment by ${isModeration ? 'moderator ' : ''}@${from} joined the run`,
  response: ({ outcome }) => `ended: ${formatOutcome(outcome)}`,
  'step-finish': ({ step, model_ms: ms, finish_reason: reason }) =>
    `step ${step}: the model responded in ${formatSpan(ms)}, ${reason}`,
  compacted: ({ messages, tokens_before: before, tokens }) =>
    `summarized ${formatCount(messages)} messages: ` +
    `${formatCount(before)} tokens before, ${formatCount(tokens)} after`,
  usage: ({ step, input_tokens: input, output_tokens: output, cost_microusd: cost, ...event }) =>
    `step ${step}: ${formatCount(input)} tokens in, ${formatCount(output)} out, ` +
    formatCost(cost, event.is_priced, 'trace'),
  'tool-call': ({ name }) => `calls ${formatToolName(name)}`,
  'tool-result': ({ name, is_error: isError, duration_ms: ms }) =>
    `${formatToolName(name)} ${isError ? 'failed' : 'succeeded'} after ${formatSpan(ms)}`,
  warning: ({ text, quote }) => formatNote(text, quote),
  plan: ({ progress }) => `plan: ${formatShare(progress)} done`,
}

/** Returns an event as text for people. */
export const formatEvent = (event: RuntimeEvent): string =>
  (eventLabels[event.type] as (event: RuntimeEvent) => string)(event)
