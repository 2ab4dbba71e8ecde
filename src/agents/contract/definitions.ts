/**
 * Types of definitions for the hub: files in, facts or problems out. Part of the agents' contract;
 * other modules import them from `contract.ts`.
 */
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
  | { ok: true; facts: DefinitionFacts }
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
