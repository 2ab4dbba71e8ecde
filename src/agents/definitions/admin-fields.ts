import { definitionLimits } from '../../shared/config'
import type { AdminField } from '../contract/definitions'
import type { Model } from '../models/model-port'
import type { Config } from './config-schema'
import type { YamlSource } from './yaml-source'

type Behavior = NonNullable<Config['behavior']>

/** A field by its path, and its value when only an admin may set it to that. */
type Reserved = [path: string, value: unknown]

const above = (value: number | undefined, most: number) =>
  value !== undefined && value > most ? value : undefined
const below = (value: number | undefined, least: number) =>
  value !== undefined && value < least ? value : undefined

const listReservedBehavior = ({ priority, discovery, limits = {} }: Behavior): Reserved[] => [
  ['behavior.priority', priority === 'critical' ? priority : undefined],
  ['behavior.discovery.weight', above(discovery?.weight, 1)],
  ['behavior.limits.max_daily_posts', above(limits.max_daily_posts, definitionLimits.dailyPosts)],
  [
    'behavior.limits.max_daily_comments',
    above(limits.max_daily_comments, definitionLimits.dailyComments),
  ],
  [
    'behavior.limits.max_responses_per_thread',
    above(limits.max_responses_per_thread, definitionLimits.responsesPerThread),
  ],
  [
    'behavior.limits.min_interval_seconds',
    below(limits.min_interval_seconds, definitionLimits.intervalSeconds),
  ],
]

const listReservedProgram = ({ type, capabilities, runs_on, workspace }: Config): Reserved[] => [
  ['type', type === 'native' ? undefined : type],
  ['capabilities.builtin', capabilities?.builtin === 'none' ? undefined : capabilities?.builtin],
  ['runs_on', runs_on?.length ? runs_on : undefined],
  ['workspace', workspace],
]

/** With where the key goes: another provider or address is another use of it. */
const listReservedKeys = ({ brain }: Config): Reserved[] => [
  ['brain.api_base', brain?.api_base],
  [
    'brain.api_key_env',
    brain?.api_key_env && [brain.api_key_env, brain.provider, brain.model, brain.api_base],
  ],
]

/** A model that the definition names and that no budget in dollars counts. */
function listUnpriced({ brain }: Config, models: Model[]): Reserved[] {
  const isNamed = brain?.model !== undefined || brain?.alternatives !== undefined
  const unpriced = models.filter(({ prices, isOffline }) => prices === null && !isOffline)
  const names = unpriced.map(({ id }) => id)
  return [['brain.model', isNamed && names.length > 0 ? names : undefined]]
}

/**
 * Finds the fields of a config that reach beyond the agent, so that only an admin may set them: where
 * requests and keys go, what runs it, and what it takes from others' share of the hub.
 */
export function findAdminFields(config: Config, source: YamlSource, models: Model[]): AdminField[] {
  const { behavior, hooks } = config
  const reserved: Reserved[] = [
    ...listReservedProgram(config),
    ...listReservedKeys(config),
    ...listUnpriced(config, models),
    ['hooks.disable', hooks?.disable?.length ? hooks.disable : undefined],
    ...listReservedBehavior(behavior ?? {}),
  ]
  return reserved.flatMap(([field, value]) =>
    value === undefined
      ? []
      : [{ field, path: source.locate(field.split('.')), value: JSON.stringify(value) }],
  )
}
