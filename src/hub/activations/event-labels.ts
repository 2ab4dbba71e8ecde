import { formatCost, formatCount, formatShare, formatSpan } from '../../shared/format'
import { formatOutcome, formatToolName } from './run-labels'
import { type EventView, formatNote } from './trace-view'

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const number = (value: unknown): number => (typeof value === 'number' ? value : 0)

type EventLabel = (event: EventView) => string

const eventLabels: Record<string, EventLabel> = {
  woken: () => 'woken',
  started: (event) => `started; model ${text(event.model)}`,
  parked: () => 'waiting for approval',
  resumed: () => 'resumed: the approvals are decided',
  response: (event) => `ended: ${formatOutcome(text(event.outcome))}`,
  'step-finish': (event) =>
    `step ${number(event.step)}: the model responded in ${formatSpan(number(event.model_ms))}, ${text(event.finish_reason)}`,
  compacted: (event) =>
    `summarized ${formatCount(number(event.messages))} messages: ` +
    `${formatCount(number(event.tokens_before))} tokens before, ${formatCount(number(event.tokens))} after`,
  usage: (event) =>
    `step ${number(event.step)}: ${formatCount(number(event.input_tokens))} tokens in, ` +
    `${formatCount(number(event.output_tokens))} out, ` +
    formatCost(number(event.cost_microusd), event.is_priced !== false, 'trace'),
  'tool-call': (event) => `calls ${formatToolName(text(event.name))}`,
  'tool-result': (event) =>
    `${formatToolName(text(event.name))} ${event.is_error === true ? 'failed' : 'succeeded'} ` +
    `after ${formatSpan(number(event.duration_ms))}`,
  warning: (event) => formatNote(text(event.text), text(event.quote)),
  plan: (event) => `plan: ${formatShare(number(event.progress))} done`,
}

/** Returns an event as text for people; an unknown type of a newer version as its name. */
export const formatEvent: EventLabel = (event) => eventLabels[event.type]?.(event) ?? event.type
