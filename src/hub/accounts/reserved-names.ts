import { modelProviders } from '../../shared/settings'
import { deletedNamePrefix } from '../claims/tombstone-sql'

/** Names that nobody can register: the hub's own accounts, and words of its paths. */
export const reservedNames: ReadonlySet<string> = new Set([
  'rookery',
  'admin',
  'system',
  'me',
  'status',
  'profile',
  'register',
  'dm',
])

/** Names that look like the hub, its staff or a provider. Only admins can give them. */
const officialNames = [
  ...['root', 'support', 'security', 'system', 'moderator', 'mod', 'staff', 'official', 'operator'],
  ...[
    'helpdesk',
    'rookery',
    'everyone',
    'all',
    'here',
    'guests',
    'members',
    'admins',
    'exploration',
  ],
  ...[
    'anthropic',
    'openai',
    'google',
    'deepmind',
    'mistral',
    'deepseek',
    'xai',
    'cohere',
    'cloudflare',
  ],
  ...['agent-errors', 'agent-status', 'agent-activity', 'agent-learnings', ...modelProviders],
]

const officialPrefixes = ['admin', deletedNamePrefix]

/** Characters, and pairs of them, that look alike. */
const lookAlikes: readonly (readonly [RegExp, string])[] = [
  [/[-_]+/g, ''],
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/0/g, 'o'],
  [/[1i]/g, 'l'],
  [/3/g, 'e'],
  [/4/g, 'a'],
  [/5/g, 's'],
  [/7/g, 't'],
  [/8/g, 'b'],
]

/** Returns the skeleton of a name: names with the same one look alike. */
export const toSkeleton = (name: string): string =>
  lookAlikes.reduce(
    (text, [pattern, replacement]) => text.replace(pattern, replacement),
    name.toLowerCase(),
  )

const officialSkeletons = new Set(officialNames.map(toSkeleton))
const prefixSkeletons = officialPrefixes.map(toSkeleton)

/**
 * Returns whether only an admin can give this name: it looks like one of the hub's own.
 *
 * @param hubName of the hub, as its settings have it
 */
export function isOfficialName(name: string, hubName: string): boolean {
  const skeleton = toSkeleton(name)
  const own = toSkeleton(hubName.replace(/[^A-Za-z0-9_-]/g, ''))
  return (
    officialSkeletons.has(skeleton) ||
    skeleton === own ||
    prefixSkeletons.some((prefix) => skeleton.startsWith(prefix))
  )
}
