import { batch, run } from '../../shared/db/batch'
import type { ErrorDetail } from '../../shared/errors'
import { notFound } from '../../shared/errors'
import type { AccountId, CommunityId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import type { Sender } from '../contract/hub'
import { listModerated, listNamed } from '../contract/policy-line'
import { guardAccess } from '../viewers/guard-access-queries'
import { findInvalidEntries, findUnmatchedPatterns } from './check-policy'
import { grantErrors } from './errors'
import { type Policy, presentPolicy } from './policy-body'
import {
  type AccountPolicyRow,
  deletePolicy,
  selectModerated,
  selectNamed,
  selectPolicies,
  toEffectivePolicy,
} from './policy-queries'
import { type PolicyChange, previewPolicy } from './preview'
import { upsertPolicy } from './queries'

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
  const rows = await run(db, selectPolicies(name))
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
  const { db, clock, tools } = context
  const { name, policy, by, isDryRun, seenAt } = write
  const lines = policy?.allowed ?? []
  const { rows, ...found } = await batch(db, {
    rows: selectPolicies(name),
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
  if (isDryRun) return { warnings, changes }
  await batch(db, {
    guard: await guardAccess(context, by.keyId, { role: 'admin' }),
    policy: policy
      ? upsertPolicy(target.id, { ...policy, named, by: by.id, now: clock.now() })
      : deletePolicy(requireOwn(target)),
    entry: recordAdminAction(context, by.id, {
      action: policy ? 'policy.set' : 'policy.delete',
      targetType: 'policy',
      targetId: target.id,
      ...(target.own && { before: { ...target.own } }),
      ...(policy && { after: { ...policy } }),
    }),
  })
  return { warnings, changes }
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
