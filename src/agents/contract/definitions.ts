import type { TrialGate } from '../../hub/contract/hub'
import type { ErrorDetail } from '../../shared/errors'
import type { ExplorationFacts, ScheduleFacts } from './scheduler'

/** A definition's files by path: `config.yaml`, `system-prompt.md`, `skills/<name>/SKILL.md`. */
export type DefinitionFiles = Record<string, string>

/** Facts of a checked definition that the hub needs to admit the agent's activations. */
export interface DefinitionFacts {
  name: string
  /** Location of the name, as `config.yaml:1:name`. */
  namePath: string
  displayName: string | null
  description: string
  /** `provider/model` after defaults: the model that is called. */
  model: string
  /** Models that can run the agent's tasks, `model` first. */
  models: string[]
  /** Whether admins have set up model providers. */
  readsProviders: boolean
  /** Budget priority of the agent's tasks. */
  priority: 'normal' | 'critical'
  /** True when `model` is the built-in offline model. */
  isOffline: boolean
  grants: string[]
  answersMentions: boolean
  answersReplies: boolean
  answersDms: boolean
  /** Whether people continue a thread that it answered in without naming it. */
  followsThreads: boolean
  /** Limits of posts and comments that the agent writes unasked. */
  writing: WritingLimits
  /** Null when the agent does not explore. */
  exploration: ExplorationFacts | null
  schedules: ScheduleFacts[]
  durationSecondsMax: number
  activationTokensMax: number
  /** The most that a run can cost, up to the tokens of one call; null when a model has no known price. */
  runCostMaxMicrousd: number | null
  /** The smallest and the usual worst-case charge of one model call. */
  callFloor: { microusd: number; tokens: number }
  callWant: { microusd: number; tokens: number }
  budget: { costPerDayMicrousd: number | null }
  /** The trial that a change of the definition has to pass; null: none. */
  trial: TrialGate | null
  /** Location of its set, as `config.yaml:9:trial.set`. */
  trialPath: string
  /** Fields that only an admin may set or change. */
  adminFields: AdminField[]
  /** SHA-256 over the files, hex. */
  etag: string
  warnings: ErrorDetail[]
}

/** A field of a definition that reaches beyond the agent. */
export interface AdminField {
  /** E.g. `brain.api_base`. */
  field: string
  /** Location, as `config.yaml:3:brain.api_base`. */
  path: string
  /** JSON. */
  value: string
}

/** `behavior.limits` of a definition, defaults applied. */
export interface WritingLimits {
  dailyPostsMax: number
  dailyCommentsMax: number
  responsesPerThreadMax: number
  intervalMs: number
}

export type DefinitionCheck =
  /** `toolsVersion`: that of the hub's tools, on which warnings depend; absent: that is for the caller to know. */
  | { ok: true; facts: DefinitionFacts; toolsVersion?: number }
  /** `path` is `config.yaml:3:brain.model`: file, line, field. */
  | { ok: false; problems: ErrorDetail[] }

/** A definition to start from. */
export interface DefinitionTemplate {
  name: string
  title: string
  /** What the agent does, in a sentence. */
  summary: string
  files: DefinitionFiles
}

/** How often an agent explores; null: never. */
export type ExplorationPace = 'staleness' | 'hourly' | 'daily' | null

/** What wakes an agent. */
export type AnswerField = 'mentions' | 'replies' | 'dms' | 'followUps'

/** A definition as a form shows it: the fields that most agents need. */
export interface AgentForm {
  name: string
  displayName: string
  description: string
  /** `provider/model`, or the name of one; empty: whichever the hub has. */
  model: string
  /** Requested grants. */
  grants: string[]
  /** Null: no limit of its own. */
  costPerDayMicrousd: number | null
  exploration: ExplorationPace
  /** The only schedule, or the one to add; null: none, or more than one, which stay as they are. */
  schedule: NewSchedule | null
  /** How many schedules the definition has. */
  scheduleCount: number
  answers: Record<AnswerField, boolean>
  /** What runs it: `native`, or the program of a coding agent. */
  program: string
  /** The repository of a coding agent, as `service:owner/name`; empty: none. */
  repository: string
  /** Where its work starts from: a branch, a tag or a commit; empty: the default branch. */
  ref: string
  /** The trial that its changes have to pass; null: none. */
  trial: TrialGate | null
}

export interface AgentFormApi {
  /** What `program` can be. */
  programs: readonly string[]
  /** Returns what a form shows of a definition; null when its `config.yaml` is no YAML with fields. */
  read(files: DefinitionFiles): AgentForm | null
  /** Changes the fields that differ, and nothing else: comments, order and other fields stay as they are. */
  write(files: DefinitionFiles, form: AgentForm): DefinitionFiles
}

/** A schedule, as a person writes it. */
type NewSchedule = Omit<ScheduleFacts, 'key'>

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
  rehearse(
    files: DefinitionFiles,
    schedule: { task: string; savedBy: string },
  ): Promise<Rehearsal | null>
}
