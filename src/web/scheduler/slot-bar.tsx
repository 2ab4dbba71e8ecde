import type { FC } from 'hono/jsx'
import type { Board } from '../../hub/scheduler/read-board'
import { formatPlural } from '../../shared/format'

/**
 * Draws the hub's capacity as one bar: tasks from the left, explorations from the right, where slots are
 * reserved for them.
 */
export const SlotBar: FC<{ board: Board }> = ({ board }) => {
  const { view, hub } = board
  if (!view) return null
  const { capacity, floor } = view
  const explorations = Math.min(capacity, hub.runningExploration)
  const tasks = Math.min(capacity - explorations, hub.running - hub.runningExploration)
  const free = capacity - explorations - tasks
  const reserved = Math.max(0, floor - explorations)
  return (
    <div class="slots">
      <svg
        viewBox={`0 0 ${capacity} 10`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${tasks} slots run tasks, ${explorations} run explorations, ${free} of ${capacity} are free, ${floor} are reserved for exploration`}
      >
        <rect class="track" width={capacity} height="10" />
        <rect class="keep" x={capacity - floor} width={floor} height="10" />
        <rect class="k1" width={tasks} height="10" />
        <rect class="k2" x={capacity - explorations} width={explorations} height="10" />
        {capacity <= 100 &&
          Array.from({ length: capacity - 1 }, (_, index) => (
            <line x1={index + 1} x2={index + 1} y1="0" y2="10" />
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
          <Key name="keep" /> {reserved} of them reserved for exploration
        </li>
        <li>
          <Key name="k2" /> {formatPlural(explorations, 'exploration', 'explorations')}
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
