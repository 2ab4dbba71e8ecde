import type { SchedulerQuestion, SchedulerView } from '../../src/agents/contract'
import { explainTask, explainTurn } from '../../src/agents/scheduler/explain'
import { explorationFloor } from '../../src/agents/scheduler/shares'

const room = { mode: 'hybrid', capacity: 10 } as const

/** What a scheduler answers that has just come to life: the real reasons, nothing heard yet. */
export const fakeExplain = (
  { hub, agents, tasks }: SchedulerQuestion,
  now: number,
): SchedulerView => ({
  ...room,
  floor: explorationFloor(room.mode, room.capacity),
  lastSweepAt: now - 12_000,
  nextSweepAt: now + 588_000,
  turns: agents.map((agent) => explainTurn(agent, hub, { ...room, stored: null, now })),
  tasks: tasks.map((task) => explainTask(task, hub, room)),
})
