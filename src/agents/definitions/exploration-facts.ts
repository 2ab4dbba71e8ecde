import { exploration, explorationScheduling } from '../../shared/config'
import type { ErrorDetail } from '../../shared/errors'
import type { ExplorationFacts, ScheduleFacts } from '../contract/scheduler'
import { findCronProblem } from '../scheduler/cron'
import type { Config } from './config-schema'
import type { YamlSource } from './yaml-source'

const minuteMs = 60_000

/**
 * Returns the exploration settings of an agent; null when it does not explore. Without
 * `behavior.discovery`, or with a weight of 0, there are no explorations and no costs.
 */
export function readExplorationFacts({ behavior, interests }: Config): ExplorationFacts | null {
  const discovery = behavior?.discovery
  if (!discovery || discovery.enabled === false || discovery.weight === 0) return null
  return {
    weight: Math.min(
      explorationScheduling.weightMax,
      Math.max(explorationScheduling.weightMin, discovery.weight ?? 1),
    ),
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
  if (frequency === 'hourly') return Math.max(explorationScheduling.hourlyMs, least)
  if (frequency === 'daily') return Math.max(explorationScheduling.dailyMs, least)
  return min_interval_minutes === undefined
    ? explorationScheduling.intervalMs
    : Math.max(minuteMs, least)
}

const clean = (names: string[] | undefined, prefix: RegExp): string[] => [
  ...new Set((names ?? []).map((name) => name.replace(prefix, '').toLowerCase())),
]

type ScheduleConfig = NonNullable<NonNullable<Config['behavior']>['schedule']>[number]

/** Returns an entry with its key. Equal entries have equal keys across versions. */
export const toScheduleFacts = ({
  cron,
  timezone = 'UTC',
  task,
}: ScheduleConfig): ScheduleFacts => ({
  ...{ key: JSON.stringify([cron, timezone, task]), cron, timezone, task },
})

/** Returns the agent's schedules that are not paused. */
export const readSchedules = ({ behavior }: Config): ScheduleFacts[] => {
  const entries = (behavior?.schedule ?? []).filter(({ paused }) => !paused).map(toScheduleFacts)
  return [...new Map(entries.map((entry) => [entry.key, entry])).values()]
}

/** Problems of schedules that are looked for: that one is never due takes tens of milliseconds to find out. */
const problemsMax = 3

/** Returns the first problems of `behavior.schedule`, by file, line and field. */
export function findScheduleProblems({ behavior }: Config, source: YamlSource): ErrorDetail[] {
  const problems: ErrorDetail[] = []
  for (const [index, { cron, timezone = 'UTC' }] of (behavior?.schedule ?? []).entries()) {
    const problem = findCronProblem(cron, timezone)
    if (!problem) continue
    const path = source.locate(['behavior', 'schedule', index, problem.field])
    problems.push({ path, message: problem.message })
    if (problems.length === problemsMax) break
  }
  return problems
}
