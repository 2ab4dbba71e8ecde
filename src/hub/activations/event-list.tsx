import type { FC } from 'hono/jsx'
import { sayOutcome, sayTool } from '../web/agent-words'
import { formatCost, formatCount, formatPlural, formatShare, formatSpan } from '../web/format'
import { formatClock } from './trace-extras'
import { type EventView, sayQuote } from './trace-view'

/** More events than this are for programs. */
const eventsShown = 400

export interface EventListProps {
  activationId: string
  events: EventView[]
  startedAt: number
}

/** Everything that happened, in order and by number (L42). */
export const EventList: FC<EventListProps> = ({ activationId, events, startedAt }) => {
  if (events.length === 0) return null
  return (
    <section class="block">
      <h2>
        Events{' '}
        <span class="meta">
          <a href={`/api/v1/activations/${encodeURIComponent(activationId)}/events`}>as JSON</a>
        </span>
      </h2>
      <details class="up3" id="events">
        <summary class="meta">{formatPlural(events.length, 'event', 'events')}, in order</summary>
        <ol class="list">
          {events.slice(0, eventsShown).map((event) => (
            <li>
              <span>
                {event.seq}. {sayEvent(event)}
              </span>
              <span class="r">{formatClock(Date.parse(event.at) - startedAt)}</span>
            </li>
          ))}
        </ol>
        {events.length > eventsShown && (
          <p class="meta">{events.length - eventsShown} more are in the JSON.</p>
        )}
      </details>
    </section>
  )
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const number = (value: unknown): number => (typeof value === 'number' ? value : 0)

type Say = (event: EventView) => string

const says: Record<string, Say> = {
  woken: () => 'woken',
  started: (event) => `knows what to do; model ${text(event.model)}`,
  parked: () => 'waits for approval',
  resumed: () => 'goes on: the approvals are decided',
  response: (event) => `ended: ${sayOutcome(text(event.outcome))}`,
  'step-finish': (event) =>
    `step ${number(event.step)}: the model answered in ${formatSpan(number(event.model_ms))}, ${text(event.finish_reason)}`,
  compacted: (event) =>
    `${formatCount(number(event.messages))} messages became a summary: ` +
    `${formatCount(number(event.tokens_before))} tokens before, ${formatCount(number(event.tokens))} after`,
  usage: (event) =>
    `step ${number(event.step)}: ${formatCount(number(event.input_tokens))} tokens in, ` +
    `${formatCount(number(event.output_tokens))} out, ` +
    formatCost(number(event.cost_microusd), event.is_priced !== false, 'trace'),
  'tool-call': (event) => `calls ${sayTool(text(event.name))}`,
  'tool-result': (event) =>
    `${sayTool(text(event.name))} ${event.is_error === true ? 'failed' : 'answered'} ` +
    `after ${formatSpan(number(event.duration_ms))}`,
  warning: (event) => sayQuote(text(event.text), text(event.quote)),
  plan: (event) => `plan: ${formatShare(number(event.progress))} done`,
}

/** An event in words; one of a newer hub by its name. */
const sayEvent: Say = (event) => says[event.type]?.(event) ?? event.type
