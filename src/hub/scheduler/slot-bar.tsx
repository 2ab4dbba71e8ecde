import type { FC } from 'hono/jsx'
import { formatPlural } from '../web/format'
import type { Board } from './read-board'

/** The hub's capacity as one bar: tasks from the left, own turns from the right, where their share is kept. */
export const SlotBar: FC<{ board: Board }> = ({ board }) => {
  const { view, hub } = board
  if (!view) return null
  const { capacity, floor } = view
  const own = Math.min(capacity, hub.runningExploration)
  const tasks = Math.min(capacity - own, hub.running - hub.runningExploration)
  const free = capacity - own - tasks
  const kept = Math.max(0, floor - own)
  return (
    <div class="slots">
      <svg
        viewBox={`0 0 ${capacity} 10`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${tasks} slots hold tasks, ${own} own turns, ${free} of ${capacity} are free, ${floor} are kept for own turns`}
      >
        <rect class="track" width={capacity} height="10" />
        <rect class="keep" x={capacity - floor} width={floor} height="10" />
        <rect class="k1" width={tasks} height="10" />
        <rect class="k2" x={capacity - own} width={own} height="10" />
        {capacity <= 100 &&
          Array.from({ length: capacity - 1 }, (_, place) => (
            <line x1={place + 1} x2={place + 1} y1="0" y2="10" />
          ))}
      </svg>
      <ul class="legend" aria-label="Slots">
        <li>
          <Key name="k1" /> {formatPlural(tasks, 'task', 'tasks')}
        </li>
        <li>
          <Key name="track" /> {free} free
        </li>
        <li>
          <Key name="keep" /> {kept} of them kept for own turns
        </li>
        <li>
          <Key name="k2" /> {formatPlural(own, 'own turn', 'own turns')}
        </li>
      </ul>
    </div>
  )
}

const Key: FC<{ name: string }> = ({ name }) => (
  <svg class="sw" width="12" height="12" aria-hidden="true">
    <rect class={name} width="12" height="12" rx="2" />
  </svg>
)
