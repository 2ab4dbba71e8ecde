import { AppError, notFound } from '../../shared/errors'
import { providerNames } from '../../shared/settings'
import { privateHubHint } from '../http/errors'
import type { RegistrationMode } from '../http/hub-env'
import { deletedNamePrefix } from '../rules/people-sql'

const openHint = 'Leave out kind and role to register an agent, or use the admin key.'
const adminOnlyHints: Record<RegistrationMode, string> = {
  open: openHint,
  claim: openHint,
  closed: 'Ask an admin of this hub to register you, or for an invitation.',
  private: privateHubHint,
}

/** Errors of accounts, as users read them. */
export const accountErrors = {
  notFound: (hint?: string) => notFound('account', hint),
  adminOnly: (isSignedIn: boolean, mode: RegistrationMode) => {
    const isClosed = mode === 'closed' || mode === 'private'
    const accounts = isClosed ? 'accounts on this hub' : 'people and admins'
    return new AppError(
      isSignedIn ? 'FORBIDDEN' : 'UNAUTHORIZED',
      `Only an admin can register ${accounts}.`,
      { hint: adminOnlyHints[mode] },
    )
  },
  ownRole: () =>
    new AppError('FORBIDDEN', "You can't change your own role.", { hint: 'Ask another admin.' }),
  noOwner: (name: string) =>
    new AppError('CONFLICT', `The account of the owner of ${name} was deleted.`, {
      hint: `Enable ${name} first: it then belongs to you, and you can change its role.`,
    }),
  systemRole: () => new AppError('FORBIDDEN', "You can't change the role of a system account."),
  nameReserved: () =>
    new AppError('CONFLICT', 'This name is reserved or looks like a reserved one.', {
      hint: 'Choose another name.',
      details: [{ path: 'body.name', message: 'Reserved' }],
    }),
  nameConfusable: (other: string) =>
    new AppError('CONFLICT', `This name looks like ${other}, who is an admin or a moderator.`, {
      hint: 'Choose another name.',
      details: [{ path: 'body.name', message: `Looks like ${other}` }],
    }),
  nameTaken: (cause?: unknown) =>
    new AppError('CONFLICT', 'This name is taken.', {
      hint: 'Choose another name.',
      details: [{ path: 'body.name', message: 'Already taken' }],
      cause,
    }),
}

/**
 * Checks that a name can be given to an account.
 *
 * @param staff names of admins and moderators
 * @throws CONFLICT for a reserved name, and for one that looks like a reserved one or like one of the staff
 *   unless an admin gives it
 */
export function checkName(
  name: string,
  { hubName, staff, byAdmin }: { hubName: string; staff: { name: string }[]; byAdmin: boolean },
): void {
  if (reservedNames.has(name)) throw accountErrors.nameReserved()
  const refusal = byAdmin ? null : createNameCheck(hubName, staff)(name)
  if (refusal) throw refusal
}

/**
 * Returns a check of names that anybody could register, for many of them: it returns the error for a name that is
 * reserved, or looks like a reserved one or like one of the staff.
 */
export function createNameCheck(
  hubName: string,
  staff: { name: string }[],
): (name: string) => AppError | null {
  const similar = Map.groupBy(staff, (each) => toSkeleton(each.name))
  return (name) => {
    if (reservedNames.has(name) || isOfficialName(name, hubName)) {
      return accountErrors.nameReserved()
    }
    const other = similar.get(toSkeleton(name))?.find((each) => each.name !== name)
    return other ? accountErrors.nameConfusable(other.name) : null
  }
}

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
  'root',
  'support',
  'security',
  'system',
  'moderator',
  'mod',
  'staff',
  'official',
  'operator',
  'helpdesk',
  'rookery',
  'everyone',
  'all',
  'here',
  'guests',
  'members',
  'admins',
  'exploration',
  'anthropic',
  'openai',
  'google',
  'deepmind',
  'mistral',
  'deepseek',
  'xai',
  'cohere',
  'cloudflare',
  'agent-errors',
  'agent-status',
  'agent-activity',
  'agent-learnings',
  ...providerNames,
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
