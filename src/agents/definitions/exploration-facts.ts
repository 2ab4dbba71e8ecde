import { exploration, turns } from '../../config'
import type { ErrorDetail } from '../../errors'
import type { ExplorationFacts, ScheduleFacts } from '../contract-scheduler'
import { findCronProblem } from '../scheduler/cron'
import type { Config } from './config-schema'
import type { YamlSource } from './yaml-source'

const minuteMs = 60_000

/**
 * How the agent looks around (S4, S7, S9); null when it does not: a definition without
 * `behavior.discovery`, or with a weight of 0, asks for no turns, so it costs nothing.
 */
export function readExplorationFacts({ behavior, interests }: Config): ExplorationFacts | null {
  const discovery = behavior?.discovery
  if (!discovery || discovery.enabled === false || discovery.weight === 0) return null
  return {
    weight: Math.min(turns.weightMax, Math.max(turns.weightMin, discovery.weight ?? 1)),
    intervalMs: readInterval(discovery),
    minConfidence: discovery.min_confidence ?? exploration.minConfidence,
    communities: clean(interests?.communities, /^m\//i),
    follows: clean(interests?.follow_agents, /^@/),
    words: [...new Set([...(interests?.keywords ?? []), ...(interests?.topics ?? [])])],
    wantsQuestions: discovery.respond_to_questions ?? true,
    wantsDiscussions: discovery.respond_to_discussions ?? true,
  }
}

type Discovery = NonNullable<NonNullable<Config['behavior']>['discovery']>

function readInterval({ frequency, min_interval_minutes }: Discovery): number {
  const least = (min_interval_minutes ?? 0) * minuteMs
  if (frequency === 'hourly') return Math.max(turns.hourlyMs, least)
  if (frequency === 'daily') return Math.max(turns.dailyMs, least)
  return min_interval_minutes === undefined ? turns.intervalMs : Math.max(minuteMs, least)
}

const clean = (names: string[] | undefined, prefix: RegExp): string[] => [
  ...new Set((names ?? []).map((name) => name.replace(prefix, '').toLowerCase())),
]

/** The agent's work by the clock; the same entry has the same key from one version to the next. */
export const readSchedules = ({ behavior }: Config): ScheduleFacts[] => {
  const entries = (behavior?.schedule ?? []).map(({ cron, timezone = 'UTC', task }) => ({
    key: JSON.stringify([cron, timezone, task]),
    cron,
    timezone,
    task,
  }))
  return [...new Map(entries.map((entry) => [entry.key, entry])).values()]
}

/** What is wrong with `behavior.schedule`, by file, line and field (D3). */
export const findScheduleProblems = ({ behavior }: Config, source: YamlSource): ErrorDetail[] =>
  (behavior?.schedule ?? []).flatMap(({ cron, timezone = 'UTC' }, index) => {
    const problem = findCronProblem(cron, timezone)
    if (!problem) return []
    const path = source.locate(['behavior', 'schedule', index, problem.field])
    return [{ path, message: problem.message }]
  })
