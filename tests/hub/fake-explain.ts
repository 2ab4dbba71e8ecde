import type { ExplainRequest, SchedulerView } from '../../src/agents/contract/agents'
import {
  explainExploration,
  explainTask,
  explorationFloor,
} from '../../src/agents/scheduler/explain'

const limits = { mode: 'hybrid', capacity: 10 } as const

/** Explains agents and tasks like a scheduler that was just created and has no stored state. */
export const fakeExplain = (
  { hub, agents, tasks }: ExplainRequest,
  now: number,
): SchedulerView => ({
  ...limits,
  floor: explorationFloor(limits.mode, limits.capacity),
  lastSweepAt: now - 12_000,
  nextSweepAt: now + 588_000,
  explorations: agents.map((agent) =>
    explainExploration(agent, hub, { ...limits, stored: null, now }),
  ),
  tasks: tasks.map((task) => explainTask(task, hub, limits)),
})
