/** The schedules of a definition, as people read and change them. Part of the agents' contract. */
import type { DefinitionFiles } from './definitions'
import type { ScheduleFacts } from './scheduler'

/** When and what, as a person writes it. */
export type NewSchedule = Omit<ScheduleFacts, 'key'>

export interface ScheduleEntry extends ScheduleFacts {
  isPaused: boolean
  /** The next runs if it is not paused, at most five; milliseconds since the epoch. */
  nextRuns: number[]
  /** Runs in the next 24 hours, at most `countedRunsMax`. */
  runsInDay: number
}

/** Runs of a schedule that are counted at most. */
export const countedRunsMax = 100

export type ScheduleEdit =
  | ({ kind: 'add' } & NewSchedule)
  /** Replaces time, time zone and task; a paused schedule stays paused. */
  | ({ kind: 'change'; key: string } & NewSchedule)
  | { kind: 'pause' | 'resume' | 'delete'; key: string }

/** What a scheduled run begins with, tried on the offline model. It spends nothing and writes nothing. */
export interface Rehearsal {
  /** Messages of the first prompt, without what the agent remembers then. */
  prompt: { role: string; text: string }[]
  /** What the offline model does first: a tool call, or its answer. */
  firstStep: { tool: string; arguments: string } | { answer: string }
  /** Model calls and tool calls of a run at most. */
  stepsMax: number
  toolCallsMax: number
}

export interface SchedulesApi {
  /** Returns the entries of `behavior.schedule` in their order; none for files that are not valid. */
  list(files: DefinitionFiles, now: number): ScheduleEntry[]
  /** Returns the files with the change; comments and other fields stay. Null when the entry is not there. */
  edit(files: DefinitionFiles, edit: ScheduleEdit): DefinitionFiles | null
  /** Null for files that are not valid. */
  rehearse(files: DefinitionFiles, task: string): Promise<Rehearsal | null>
}
