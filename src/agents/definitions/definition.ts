import * as z from 'zod'
import type { ToolRestrictions } from '../../mcp-servers/contract/tools'
import {
  activationLimits,
  codingAgents,
  definitionLimits,
  memoryLimits,
  profileIterations,
} from '../../shared/config'
import type { ErrorDetail } from '../../shared/errors'
import type { BuiltinTools } from '../../shared/runner-protocol'
import type { WritingLimits } from '../contract/agents'
import type { HookSwitches } from '../hooks/hook'
import type { Model, ModelChoice } from '../models/model-port'
import type { Config } from './config-schema'
import type { ExecutorType } from './executors'
import { isGrant, isKeyVariable } from './known-fields'
import { readYaml, type YamlBudget } from './yaml-source'

/** An agent's definition with defaults, ceilings and templates applied. */
export interface Definition {
  name: string
  displayName: string | null
  description: string
  /** What runs its tasks. */
  executor: ExecutorType
  /** What a coding agent needs of its runner. */
  coding: { builtin: BuiltinTools; runsOn: string[]; workspace: Workspace | null }
  systemPrompt: string
  brain: ModelChoice & { temperature?: number; topP?: number }
  limits: {
    iterations: number
    /** All model calls of one activation together. */
    tokens: number
    /** Null: the default, which depends on the timeout of the model. */
    durationSeconds: number | null
    /** Per model answer. */
    outputTokens: number
  }
  costPerDayMicrousd: number | null
  grants: string[]
  /** Enforced by the gateway. */
  toolRestrictions: ToolRestrictions
  wakesOn: { mentions: boolean; replies: boolean; dms: boolean; followUps: boolean }
  writingLimits: WritingLimits
  skills: Skill[]
  memory: { isEnabled: boolean; factsMax: number; retrieval: 'recent' | 'keyword' }
  /** Which of the deployment's hooks run. */
  hooks: HookSwitches
}

/** The repository that a coding agent works on. */
export interface Workspace {
  /** The path below the hub's `/git/`, e.g. `github/owner/name`. */
  repository: string
  ref: string | null
  /** Branches that it may push to; `*` at the end matches any characters. */
  push: string[]
}

/** Converts a config to a definition: applies defaults and ceilings. */
export function toDefinition(config: Config, systemPrompt: string, skills: Skill[]): Definition {
  const { brain, capabilities } = config
  return {
    name: config.name,
    displayName: config.display_name ?? null,
    description: config.description ?? '',
    executor: config.type ?? 'native',
    coding: readCoding(config),
    systemPrompt,
    brain: readBrain(brain ?? {}),
    limits: readLimits(config),
    costPerDayMicrousd:
      brain?.max_cost_per_day === undefined ? null : Math.round(brain.max_cost_per_day * 1_000_000),
    grants: readGrants(config, skills),
    toolRestrictions: readToolRestrictions(capabilities ?? {}),
    wakesOn: readAnswers(config.behavior ?? {}),
    writingLimits: readWriting(config.behavior?.limits ?? {}),
    skills,
    memory: readMemory(config.memory ?? {}),
    hooks: { enable: config.hooks?.enable ?? [], disable: config.hooks?.disable ?? [] },
  }
}

const readCoding = ({ capabilities, runs_on, workspace }: Config): Definition['coding'] => ({
  builtin: capabilities?.builtin ?? 'none',
  runsOn: [runs_on ?? []].flat(),
  workspace: workspace
    ? {
        repository: workspace.repository.replace(':', '/'),
        ref: workspace.ref ?? null,
        push: workspace.push ?? ['rookery/*'],
      }
    : null,
})

type Capabilities = NonNullable<Config['capabilities']>

const readToolRestrictions = ({ tools, mcp_servers }: Capabilities): ToolRestrictions => ({
  allow: tools?.allow ?? [],
  deny: tools?.deny ?? [],
  servers: (mcp_servers ?? []).map((each) => (typeof each === 'string' ? each : each.name)),
  blockedPatterns: tools?.blocked_patterns ?? [],
})

/** Returns the requested grants. Skills include the grant to read them. */
const readGrants = ({ capabilities }: Config, skills: Skill[]): string[] => [
  ...new Set([
    ...(capabilities?.grants?.filter(isGrant) ?? []),
    ...(skills.length > 0 ? ['skills:read'] : []),
  ]),
]

const readMemory = (memory: NonNullable<Config['memory']>): Definition['memory'] => ({
  isEnabled: memory.enabled ?? true,
  factsMax: Math.min(memory.max_facts ?? memoryLimits.factsInPrompt, memoryLimits.factsMax),
  retrieval: memory.retrieval ?? 'recent',
})

function readBrain(brain: NonNullable<Config['brain']>): Definition['brain'] {
  const { provider, model, temperature, api_key_env } = brain
  return {
    ...(provider !== undefined && { provider }),
    ...(model !== undefined && { model }),
    ...(brain.alternatives !== undefined && { alternatives: brain.alternatives }),
    ...(brain.api_base !== undefined && { apiBase: brain.api_base }),
    ...(api_key_env !== undefined && isKeyVariable(api_key_env) && { apiKeyEnv: api_key_env }),
    ...(brain.max_context_tokens !== undefined && { contextTokens: brain.max_context_tokens }),
    ...(brain.timeout_seconds !== undefined && { timeouts: readTimeouts(brain.timeout_seconds) }),
    ...(temperature !== undefined && { temperature }),
    ...(brain.top_p !== undefined && { topP: brain.top_p }),
  }
}

type Timeouts = NonNullable<NonNullable<Config['brain']>['timeout_seconds']>

const readTimeouts = ({ first_byte: first, between_bytes: between }: Timeouts) => ({
  ...(first !== undefined && { firstByteMs: first * 1000 }),
  ...(between !== undefined && { betweenBytesMs: between * 1000 }),
})

/**
 * Returns the time limit of one activation in seconds: of the definition, else long enough for two
 * first bytes of its slowest model.
 */
export function computeDuration(
  { limits }: Pick<Definition, 'limits'>,
  models: Pick<Model, 'firstByteMs'>[],
): number {
  if (limits.durationSeconds !== null) return limits.durationSeconds
  const slowestMs = Math.max(0, ...models.map(({ firstByteMs }) => firstByteMs ?? 0))
  const { durationSeconds, durationSecondsCeiling } = activationLimits
  return Math.min(
    durationSecondsCeiling,
    Math.max(durationSeconds, Math.ceil((2 * slowestMs) / 1000)),
  )
}

/** Returns the limits: of the definition, else of its profile, else of the hub. */
function readLimits({ type, profile, brain, behavior }: Config): Definition['limits'] {
  const isNative = (type ?? 'native') === 'native'
  const usual = isNative ? activationLimits : codingAgents
  const iterations =
    behavior?.max_iterations ?? (profile ? profileIterations[profile] : usual.iterations)
  const tokens = [behavior?.max_tokens, brain?.max_tokens_per_activation].filter(
    (each) => each !== undefined,
  )
  return {
    iterations: Math.min(iterations, activationLimits.iterationsCeiling),
    tokens: tokens.length > 0 ? Math.min(...tokens) : usual.tokens,
    durationSeconds:
      behavior?.max_duration_seconds === undefined
        ? isNative
          ? null
          : codingAgents.durationSeconds
        : Math.min(behavior.max_duration_seconds, activationLimits.durationSecondsCeiling),
    outputTokens: brain?.max_tokens ?? usual.outputTokens,
  }
}

const readWriting = (
  limits: NonNullable<NonNullable<Config['behavior']>['limits']>,
): WritingLimits => ({
  dailyPostsMax: limits.max_daily_posts ?? definitionLimits.dailyPosts,
  dailyCommentsMax: limits.max_daily_comments ?? definitionLimits.dailyComments,
  responsesPerThreadMax: limits.max_responses_per_thread ?? definitionLimits.responsesPerThread,
  intervalMs: 1000 * (limits.min_interval_seconds ?? definitionLimits.intervalSeconds),
})

function readAnswers(behavior: NonNullable<Config['behavior']>): Definition['wakesOn'] {
  const { notifications } = behavior
  const read = (field: 'respond_to_mentions' | 'respond_to_replies' | 'respond_to_dms') =>
    behavior[field] ?? notifications?.[field] ?? true
  return {
    mentions: read('respond_to_mentions'),
    replies: read('respond_to_replies'),
    dms: read('respond_to_dms'),
    followUps: behavior.follow_threads ?? true,
  }
}

/** A skill (AgentSkills convention): Markdown with front matter. */
export interface Skill {
  name: string
  description: string
  requiresGrants: string[]
  triggers: { keywords: string[]; communities: string[] }
  body: string
}

const texts = z.array(z.string().trim().min(1).max(100)).max(100).default([])

const frontMatter = z.object({
  name: z.string().trim().min(1).max(64),
  description: z.string().trim().min(1).max(1_024),
  requires_grants: texts,
  triggers: z.object({ keywords: texts, communities: texts }).prefault({}),
})

/** Parses a SKILL.md file: YAML front matter, then the text. */
export function readSkill(
  file: string,
  text: string,
  budget: YamlBudget,
): { ok: true; skill: Skill } | { ok: false; problems: ErrorDetail[] } {
  const lines = text.replaceAll('\r\n', '\n')
  const parts = /^\uFEFF?---[ \t]*\n([\s\S]*?)\n---[ \t]*(?:\n|$)([\s\S]*)$/.exec(lines)
  if (!parts) {
    const message = 'Front matter is missing. Add name and description between two lines of ---'
    return { ok: false, problems: [{ path: `${file}:1:front matter`, message }] }
  }
  const [, head = '', body = ''] = parts
  const read = readYaml(file, head, budget, 2)
  if (!read.ok) return read
  const parsed = frontMatter.safeParse(read.source.value ?? {})
  if (!parsed.success) {
    const issues = parsed.error.issues.slice(0, definitionLimits.detailsMax)
    const problems = issues.map(({ path, message }) => ({
      path: read.source.locate(path),
      message,
    }))
    return { ok: false, problems }
  }
  const { name, description, requires_grants, triggers } = parsed.data
  return {
    ok: true,
    skill: { name, description, requiresGrants: requires_grants, triggers, body: body.trim() },
  }
}
