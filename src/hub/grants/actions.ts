import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError, type ErrorDetail, notFound } from '../../shared/errors'
import type { AccountId, CommunityId } from '../../shared/ids'
import type { Sender, ToolCatalog } from '../contract/hub'
import { listModerated, listNamed, parsePolicyLine } from '../contract/policy-line'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { guardAccess } from '../viewers/queries'
import { type Policy, presentPolicy } from './policy'
import { type PolicyChange, previewPolicy } from './preview'
import {
  type AccountPolicyRow,
  deletePolicy,
  selectModerated,
  selectNamed,
  selectPolicies,
  toEffectivePolicy,
  upsertPolicy,
} from './queries'

/** Errors of grants and policies, as users read them. */
export const grantErrors = {
  invalidEntries: (details: ErrorDetail[]) =>
    new AppError('VALIDATION', 'The policy contains invalid entries.', { details }),
  deleteDefault: () =>
    new AppError('VALIDATION', "You can't delete the default policy.", {
      hint: 'Edit it instead.',
    }),
  changedSince: (by: string | null) =>
    new AppError('CONFLICT', `${by ?? 'Another admin'} changed this policy while you edited it.`, {
      hint: 'Review the current changes, then save again.',
    }),
  signIn: () => new AppError('UNAUTHORIZED', 'Sign in to see this page.'),
  adminOnly: () =>
    new AppError('FORBIDDEN', 'Only admins can see the policy.', {
      hint: 'The page /tools lists the tools that you can use.',
    }),
}

/** The grant pattern of a line. */
const toPattern = (line: string): string => parsePolicyLine(line).pattern

/**
 * Returns entries with an unknown tier or tool, or with a too wide pattern. Such rules would have no
 * effect, and a misspelling would go unnoticed.
 */
const findInvalidEntries = (
  { allowed, requireApproval, rateLimits }: Policy,
  known: ToolCatalog,
): ErrorDetail[] => [
  ...allowed
    .map(toPattern)
    .flatMap((pattern, index) =>
      toDetails(`body.allowed.${index}`, known.isTooWide(pattern) ? formatTooWide(pattern) : null),
    ),
  ...allowed.flatMap((line, index) => [
    ...toDetails(`body.allowed.${index}`, findNoRequester(line)),
    ...toDetails(`body.allowed.${index}`, findTooLong(line)),
  ]),
  ...requireApproval.flatMap((entry, index) =>
    toDetails(`body.require_approval.${index}`, findUnknownName(entry, known)),
  ),
  ...rateLimits.flatMap(({ tool }, index) =>
    toDetails(`body.rate_limits.${index}.tool`, tool ? findUnknownTool(tool, known) : null),
  ),
]

const lineCharsMax = 400

const findTooLong = (line: string): string | null =>
  line.length > lineCharsMax ? `Must be at most ${lineCharsMax} characters` : null

/** An exploration has no requester whose account it could use. */
function findNoRequester(line: string): string | null {
  const { holdsFor, credential } = parsePolicyLine(line)
  return credential === 'requester' && holdsFor.includes('exploration')
    ? 'An exploration has no requester: write it as a line of its own, without "as requester"'
    : null
}

const formatTooWide = (pattern: string): string =>
  `${pattern} grants nothing: grants of ${pattern.split(':')[0]} must name a resource, e.g. aws:s3:read:my-bucket`

const toDetails = (path: string, message: string | null): ErrorDetail[] =>
  message === null ? [] : [{ path, message }]

function findUnknownName(entry: string, known: ToolCatalog): string | null {
  const { kind, name } = splitEntry(entry)
  if (kind === 'tool') return findUnknownTool(name, known)
  if (kind !== 'tier' || known.tiers.includes(name)) return null
  return `Unknown tier ${name}. Tiers: ${known.tiers.join(', ')}`
}

/** Returns an error for an unknown tool, with the tools of the same server if there are any. */
function findUnknownTool(tool: string, { names }: ToolCatalog): string | null {
  if (names.includes(tool)) return null
  const similar = names.filter((name) => name.startsWith(`${tool.split('_')[0]}_`))
  return `Unknown tool ${tool}${similar.length > 0 ? `. Tools: ${similar.join(', ')}` : ''}`
}

function splitEntry(entry: string): { kind: 'tier' | 'tool' | 'grant'; name: string } {
  const [, kind, name = ''] = /^(tier|tool):(.*)$/.exec(entry) ?? []
  return kind === 'tier' || kind === 'tool' ? { kind, name } : { kind: 'grant', name: entry }
}

/** Returns warnings about patterns that match no tool; no errors, because a later server may need them. */
function findUnmatchedPatterns(
  { allowed, denied, requireApproval, rateLimits }: Policy,
  { names, hasToolForPattern: needsSome }: ToolCatalog,
): ErrorDetail[] {
  const check = (path: string, pattern: string) => {
    if (needsSome(pattern)) return []
    const tool = names.includes(pattern) ? `. For the tool, use tool:${pattern}` : ''
    return [{ path, message: `${pattern} matches no grant of any tool${tool}` }]
  }
  const checkAll = (field: string, patterns: string[]) =>
    patterns.flatMap((pattern, index) => check(`body.${field}.${index}`, pattern))
  return [
    ...checkAll('allowed', allowed.map(toPattern)),
    ...checkAll('denied', denied),
    ...requireApproval.flatMap((entry, index) =>
      splitEntry(entry).kind === 'grant' ? check(`body.require_approval.${index}`, entry) : [],
    ),
    ...rateLimits.flatMap(({ grant }, index) =>
      grant === undefined ? [] : check(`body.rate_limits.${index}.grant`, grant),
    ),
  ]
}

/**
 * Returns warnings about patterns that match no tool, and about entries that stand there already and would have no
 * effect: a policy can be tightened whatever else is in it.
 *
 * @param row the policies that apply now
 * @throws VALIDATION for new entries with unknown tiers or tools and for too wide patterns, which would have no effect
 */
export function checkPolicy(
  policy: Policy,
  row: StandingPolicies,
  { tools }: Pick<ActionContext, 'tools'>,
): ErrorDetail[] {
  const { added, standing } = splitDetails(findInvalidEntries(policy, tools), policy, row)
  if (added.length > 0) throw grantErrors.invalidEntries(added)
  return [...standing, ...findUnmatchedPatterns(policy, tools)]
}

type StandingPolicies = Pick<AccountPolicyRow, 'own' | 'default'>

/** Tells apart what is wrong with new entries, and with those that the own or the default policy has already. */
function splitDetails(
  details: ErrorDetail[],
  policy: Policy,
  { own, default: base }: StandingPolicies,
) {
  const bodies = [own, base].flatMap((stored) => (stored ? [presentPolicy(stored)] : []))
  const isStanding = ({ path }: ErrorDetail): boolean => {
    const [, field = '', index = ''] = path.split('.')
    const listOf = (body: object): unknown[] => Reflect.get(body, field) ?? []
    const entry = toText(listOf(presentPolicy(policy))[Number(index)])
    return bodies.some((body) => listOf(body).some((each) => toText(each) === entry))
  }
  return {
    added: details.filter((detail) => !isStanding(detail)),
    standing: details.filter(isStanding),
  }
}

/** A line, or a rate limit with its fields in one order. */
const toText = (entry: unknown): string =>
  JSON.stringify(typeof entry === 'object' && entry ? Object.entries(entry).sort() : entry)

/** Returns the policy of `name` (`*` is the default), and all policies that it may affect. */
export async function readPolicies(
  { db }: ActionContext,
  name: string,
): Promise<{ rows: AccountPolicyRow[]; target: AccountPolicyRow }> {
  const rows = await run(db, selectPolicies({ name }))
  return { rows, target: findTarget(rows, name) }
}

/**
 * Returns the ids of the accounts that lines name, by name in lower case, and of the communities whose
 * moderators they name, as `m/name`.
 *
 * @param found the accounts and communities that exist of those named
 * @returns also the lines that name an account or a community that does not exist: nobody has them
 */
function findNamed(
  lines: readonly string[],
  found: { accounts: Named<AccountId>[]; communities: Named<CommunityId>[] },
): { ids: Record<string, AccountId | CommunityId>; missing: ErrorDetail[] } {
  const ids: Record<string, AccountId | CommunityId> = Object.fromEntries([
    ...found.accounts.map(({ name, id }) => [name.toLowerCase(), id]),
    ...found.communities.map(({ name, id }) => [`m/${name}`, id]),
  ])
  const missing = lines.flatMap((line, index) => {
    const names = [
      ...listNamed(line)
        .filter((name) => ids[name] === undefined)
        .map((name) => `account @${name}`),
      ...listModerated(line)
        .filter((name) => ids[`m/${name}`] === undefined)
        .map((name) => `community m/${name}`),
    ]
    return names.map((what) => ({
      path: `body.allowed.${index}`,
      message: `There is no ${what}. Check the name, or remove it from the line`,
    }))
  })
  return { ids, missing }
}

interface Named<Id> {
  name: string
  id: Id
}

/** Returns the row of an account. @throws NOT_FOUND for an unknown name */
export function findTarget(rows: AccountPolicyRow[], name: string): AccountPolicyRow {
  const found = rows.find((row) => row.name.toLowerCase() === name.toLowerCase())
  if (!found) throw notFound('account')
  return found
}

export interface PolicyUpdate {
  /** Patterns that match no tool. */
  warnings: ErrorDetail[]
  changes: PolicyChange[]
}

interface PolicyWrite {
  name: string
  /** Null: delete the account's own policy, so that the default applies. */
  policy: Policy | null
  by: Pick<Sender, 'id' | 'keyId'>
  /** Returns the changes without saving them. */
  isDryRun: boolean
  /** Update time of the policy that the editor saw, 0 for none; absent skips the conflict check. */
  seenAt?: number
}

/**
 * Sets or deletes an account's own policy, or sets the default policy. Applies from the next tool call
 * on.
 *
 * @throws VALIDATION, NOT_FOUND, CONFLICT when the policy changed after `seenAt`
 */
export async function setPolicy(context: ActionContext, write: PolicyWrite): Promise<PolicyUpdate> {
  const { statements, ...update } = await planPolicy(context, write)
  await batch(context.db, { statements })
  return update
}

/** Checks a policy, and returns what sets it with what that changes. @throws as `setPolicy` */
export async function planPolicy(
  context: ActionContext,
  write: PolicyWrite,
): Promise<PolicyUpdate & { statements: Statement<void>[] }> {
  const { db, clock, tools } = context
  const { name, policy, by, isDryRun, seenAt } = write
  const lines = policy?.allowed ?? []
  const { rows, ...found } = await batch(db, {
    rows: selectPolicies({ name }),
    accounts: selectNamed(lines.flatMap(listNamed)),
    communities: selectModerated(lines.flatMap(listModerated)),
  })
  const target = findTarget(rows, name)
  await tools.refresh(toEffectivePolicy(target))
  const { ids: named, missing } = findNamed(lines, found)
  const warnings = policy ? checkLines(policy, target, missing, context) : []
  const changes = previewPolicy(rows, target.id, policy, tools)
  if (seenAt !== undefined && seenAt !== (target.updatedAt ?? 0)) {
    throw grantErrors.changedSince(target.updatedBy)
  }
  if (isDryRun) return { warnings, changes, statements: [] }
  const statements = [
    await guardAccess(context, by.keyId, { role: 'admin' }),
    policy
      ? upsertPolicy(target.id, { ...policy, named, by: by.id, now: clock.now() })
      : deletePolicy(requireOwn(target)),
    recordAdminAction(context, by.id, {
      action: policy ? 'policy.set' : 'policy.delete',
      targetType: 'policy',
      targetId: target.id,
      ...(target.own && { before: { ...target.own } }),
      ...(policy && { after: { ...policy } }),
    }),
  ]
  return { warnings, changes, statements }
}

/**
 * Returns the warnings of `checkPolicy`, and about lines that nobody has.
 *
 * @throws VALIDATION also for a new line that names an account or a community that does not exist: who takes the name
 *   later would expect to have the line
 */
function checkLines(
  policy: Policy,
  target: AccountPolicyRow,
  missing: ErrorDetail[],
  context: ActionContext,
): ErrorDetail[] {
  const warnings = checkPolicy(policy, target, context)
  const { added, standing } = splitDetails(missing, policy, target)
  if (added.length > 0) throw grantErrors.invalidEntries(added)
  return [...standing, ...warnings]
}

/** Returns the account of a policy that can be deleted. @throws VALIDATION for the default */
function requireOwn({ id }: AccountPolicyRow): AccountId {
  if (id === '*') throw grantErrors.deleteDefault()
  return id
}
