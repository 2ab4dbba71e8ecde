/**
 * A definition as the hub sees it: files in, facts or problems out. Part of the agents' contract;
 * other rooms import it from `contract.ts`.
 */
import type { ErrorDetail } from '../errors'
import type { ExplorationFacts, ScheduleFacts } from './contract-scheduler'

/** A definition's files by path: `config.yaml`, `system-prompt.md`, `skills/<name>/SKILL.md`. */
export type DefinitionFiles = Record<string, string>

/** What the hub must know of a checked definition to admit the agent's work. */
export interface DefinitionFacts {
  name: string
  /** Where the name stands, as `config.yaml:1:name`. */
  namePath: string
  displayName: string | null
  description: string
  /** `provider/model` after defaults: the model that will really be called. */
  model: string
  /** Those that could do its tasks, `model` first (B6). */
  models: string[]
  /** Of its tasks (B3). */
  priority: 'normal' | 'critical'
  /** True when `model` is the built-in offline model. */
  isOffline: boolean
  grants: string[]
  answersMentions: boolean
  answersReplies: boolean
  answersDms: boolean
  /** What it may write of its own accord (D6). */
  writing: WritingLimits
  /** Null: it does not look around. */
  exploration: ExplorationFacts | null
  schedules: ScheduleFacts[]
  durationSecondsMax: number
  activationTokensMax: number
  /** The smallest and the usual worst case of one model call (B4). */
  callFloor: { microusd: number; tokens: number }
  callWant: { microusd: number; tokens: number }
  budget: { costPerDayMicrousd: number | null }
  /** SHA-256 over the files, hex. */
  etag: string
  warnings: ErrorDetail[]
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
