import type { Requester, Role } from './calls'

/**
 * A line of a policy's allowed grants: a grant pattern, for whose requests it holds, whose credential its
 * calls use, and whether runs that have read untrusted text may use it: `github:read for guests, @mira`,
 * `acme:* as requester` or `http:weather:* trusted`.
 */
interface PolicyLine {
  pattern: string
  /**
   * `guests` are all accounts; the default is `members`. `exploration` is the hub itself, and
   * `moderators of m/name` are those who may moderate there, with admins and moderators of the hub.
   */
  holdsFor: string[]
  /**
   * Whose credential a call uses: that of the service, a community or the agent, or the account that the
   * requester has connected.
   */
  credential: 'agent' | 'requester'
  isTrusted: boolean
}

const audience =
  '(?:guests|members|admins|exploration|moderators of m/[a-z0-9_-]{2,32}|@[A-Za-z0-9_-]{2,32})'

/** Text of a line. Segments of the pattern are separated by colons; `*` matches a segment or the rest. */
export const policyLinePattern = new RegExp(
  `^([^\\s:]+(?::[^\\s:]+)*)(?: for (${audience}(?:, ?${audience})*))?(?: as (agent|requester))?( trusted)?$`,
)

/** Parses a line; text that is no line is a pattern that holds for members. */
export function parsePolicyLine(text: string): PolicyLine {
  const [, pattern = text, names = 'members', credential, trusted] =
    policyLinePattern.exec(text) ?? []
  return {
    pattern,
    holdsFor: names.split(/, ?/),
    credential: credential === 'requester' ? 'requester' : 'agent',
    isTrusted: trusted !== undefined,
  }
}

/** Formats a line that names for whom it holds. */
export const formatPolicyLine = ({
  pattern,
  holdsFor,
  credential,
  isTrusted,
}: PolicyLine): string => {
  const as = credential === 'requester' ? ' as requester' : ''
  return `${pattern} for ${holdsFor.join(', ')}${as}${isTrusted ? ' trusted' : ''}`
}

/** Returns the accounts that a line names, in lower case and without `@`. */
export const listNamed = (text: string): string[] =>
  parsePolicyLine(text)
    .holdsFor.filter((each) => each.startsWith('@'))
    .map((each) => each.slice(1).toLowerCase())

const moderators = 'moderators of m/'

/** Returns the communities for whose moderators a line holds. */
export const listModerated = (text: string): string[] =>
  parsePolicyLine(text)
    .holdsFor.filter((each) => each.startsWith(moderators))
    .map((each) => each.slice(moderators.length))

/** Returns a line with other names for the accounts that it names. */
export function renameInLine(text: string, rename: (name: string) => string): string {
  if (listNamed(text).length === 0) return text
  const line = parsePolicyLine(text)
  const holdsFor = line.holdsFor.map((each) =>
    each.startsWith('@') ? `@${rename(each.slice(1).toLowerCase())}` : each,
  )
  return formatPolicyLine({ ...line, holdsFor })
}

const ranks: Record<Role, number> = { guest: 0, member: 1, admin: 2 }
const ranksOfGroups: Record<string, number> = { guests: 0, members: 1, admins: 2 }

/** Servers of the hub itself: their tools need no credential. */
const ownServers = ['hub', 'memory', 'skills', 'workspace']

/** What of a requester decides which lines hold. */
export type HeldBy = Pick<Requester, 'name' | 'role' | 'moderates'> & Partial<Pick<Requester, 'id'>>

function isInGroup(group: string, { name, role, moderates = [] }: HeldBy): boolean {
  if (group.startsWith('@')) return group.slice(1).toLowerCase() === name.toLowerCase()
  if (group.startsWith(moderators)) return moderates.includes(group.slice(moderators.length))
  return ranks[role] >= (ranksOfGroups[group] ?? Number.POSITIVE_INFINITY)
}

/** The patterns of a line that hold for a requester. */
function findHeld(
  { pattern, holdsFor }: PolicyLine,
  requester: HeldBy,
  isOwnCall: boolean,
): string[] {
  const holds = holdsFor.some((group) => isInGroup(group, requester))
  if (holds) return [pattern]
  return isOwnCall && holdsFor.includes('members') ? restrictTo(['hub'], pattern) : []
}

/** The patterns of a line that hold for the hub itself: a line for members only without credentials. */
function findHeldForHub({ pattern, holdsFor, credential }: PolicyLine): string[] {
  if (credential === 'requester') return []
  if (holdsFor.includes('exploration')) return [pattern]
  const isGeneral = holdsFor.includes('members') || holdsFor.includes('guests')
  return isGeneral ? restrictTo(ownServers, pattern) : []
}

/** Whether the owner of an agent could make another agent use a line for these requesters. */
function mayOwnerCause(
  { holdsFor, credential }: PolicyLine,
  owner: HeldBy,
  requesters: readonly HeldBy[],
): boolean {
  const isOthersAccount =
    credential === 'requester' && requesters.some(({ id }) => id === undefined || id !== owner.id)
  return !isOthersAccount && holdsFor.some((group) => isInGroup(group, owner))
}

function restrictTo(servers: string[], pattern: string): string[] {
  const [first = '', ...rest] = pattern.split(':')
  if (first !== '*') return servers.includes(first) ? [pattern] : []
  return servers.map((server) => [server, ...(rest.length > 0 ? rest : ['*'])].join(':'))
}

interface HeldLines {
  /** Patterns that hold for every requester. */
  allowed: string[]
  /** Those of them whose calls use the account that the only requester has connected. */
  asRequester: string[]
  /** Those of them whose line says `trusted`. */
  trusted: string[]
  /** Lines that do not hold for every requester. */
  withheld: string[]
}

/**
 * Returns what of a policy's allowed lines holds for every requester. A line `as requester` holds for one
 * requester alone: with several, one would use the account of another.
 *
 * @param requesters empty: the hub itself
 * @param isOwnCall the requester calls a tool itself: its role limits what it makes others do, so lines
 *   for members hold for its own calls of the hub's tools
 * @param owner the member who owns the agent: a line has to hold for them too, whoever asks, and nobody else's
 *   account is used
 */
export function selectHeldLines(
  lines: readonly string[],
  requesters: readonly HeldBy[],
  { isOwnCall = false, owner = null }: { isOwnCall?: boolean; owner?: HeldBy | null } = {},
): HeldLines {
  const parsed = lines.map((text) => {
    const line = parsePolicyLine(text)
    const isForOne = line.credential === 'requester'
    if (owner !== null && !mayOwnerCause(line, owner, requesters)) {
      return { text, held: [], isForOne, isTrusted: line.isTrusted }
    }
    const [first, ...others] =
      requesters.length === 0
        ? [findHeldForHub(line)]
        : requesters.map((each) => findHeld(line, each, isOwnCall))
    const held =
      isForOne && others.length > 0
        ? []
        : (first ?? []).filter((each) => others.every((other) => other.includes(each)))
    return { text, held, isForOne, isTrusted: line.isTrusted }
  })
  const listHeld = (some: typeof parsed) => [...new Set(some.flatMap(({ held }) => held))]
  return {
    allowed: listHeld(parsed),
    asRequester: listHeld(parsed.filter(({ isForOne }) => isForOne)),
    trusted: listHeld(parsed.filter(({ isTrusted }) => isTrusted)),
    withheld: parsed.filter(({ held }) => held.length === 0).map(({ text }) => text),
  }
}
