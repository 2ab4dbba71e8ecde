import type { FC } from 'hono/jsx'
import { formatEvent } from '../../hub/activations/event-labels'
import type { EventView } from '../../hub/traces/trace-view'
import { formatPlural } from '../../shared/format'
import { formatOffset } from './trace-extras'

/** Events that the page lists at most; the JSON has all of them. */
const eventsShown = 400

export interface EventListProps {
  activationId: string
  events: EventView[]
  startedAt: number
}

/** Lists the events of an activation in order, with their sequence numbers. */
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
                {event.seq}. {formatEvent(event)}
              </span>
              <span class="r">{formatOffset(Date.parse(event.at) - startedAt)}</span>
            </li>
          ))}
        </ol>
        {events.length > eventsShown && (
          <p class="meta">{events.length - eventsShown} more events are in the JSON.</p>
        )}
      </details>
    </section>
  )
}
