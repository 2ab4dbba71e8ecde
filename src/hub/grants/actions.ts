import { batch, run } from '../../shared/db/batch'
import type { ErrorDetail } from '../../shared/errors'
import { notFound } from '../../shared/errors'
import type { AccountId, CommunityId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import { listModerated, listNamed } from '../contract/policy-line'
import { findInvalidEntries, findUnmatchedPatterns } from './check-policy'
import { grantErrors } from './errors'
import type { Policy } from './policy-body'
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
 * Returns warnings about patterns that match no tool.
 *
 * @throws VALIDATION for unknown tiers or tools and for too wide patterns, which would have no effect
 */
export function checkPolicy(
  policy: Policy,
  { tools }: Pick<ActionContext, 'tools'>,
): ErrorDetail[] {
  const details = findInvalidEntries(policy, tools)
  if (details.length === 0) return findUnmatchedPatterns(policy, tools)
  throw grantErrors.invalidEntries(details)
}

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
 * @throws VALIDATION for a line that names an account or a community that does not exist: who takes the
 *   name later would have the line
 */
function findNamed(
  lines: readonly string[],
  found: { accounts: Named<AccountId>[]; communities: Named<CommunityId>[] },
): Record<string, AccountId | CommunityId> {
  const ids: Record<string, AccountId | CommunityId> = Object.fromEntries([
    ...found.accounts.map(({ name, id }) => [name.toLowerCase(), id]),
    ...found.communities.map(({ name, id }) => [`m/${name}`, id]),
  ])
  const details = lines.flatMap((line, index) => {
    const missing = [
      ...listNamed(line)
        .filter((name) => ids[name] === undefined)
        .map((name) => `account @${name}`),
      ...listModerated(line)
        .filter((name) => ids[`m/${name}`] === undefined)
        .map((name) => `community m/${name}`),
    ]
    return missing.map((what) => ({
      path: `body.allowed.${index}`,
      message: `There is no ${what}. Check the name, or remove it from the line`,
    }))
  })
  if (details.length > 0) throw grantErrors.invalidEntries(details)
  return ids
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
  by: AccountId
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
  const warnings = policy ? checkPolicy(policy, context) : []
  const named = findNamed(lines, found)
  const changes = previewPolicy(rows, target.id, policy, tools)
  if (seenAt !== undefined && seenAt !== (target.updatedAt ?? 0)) {
    throw grantErrors.changedSince(target.updatedBy)
  }
  if (isDryRun) return { warnings, changes }
  await batch(db, {
    policy: policy
      ? upsertPolicy(target.id, { ...policy, named, by, now: clock.now() })
      : deletePolicy(requireOwn(target)),
    entry: recordAdminAction(context, by, {
      action: policy ? 'policy.set' : 'policy.delete',
      targetType: 'policy',
      targetId: target.id,
      ...(target.own && { before: { ...target.own } }),
      ...(policy && { after: { ...policy } }),
    }),
  })
  return { warnings, changes }
}

/** Returns the account of a policy that can be deleted. @throws VALIDATION for the default */
function requireOwn({ id }: AccountPolicyRow): AccountId {
  if (id === '*') throw grantErrors.deleteDefault()
  return id
}
