import type { ErrorDetail } from '../../errors'
import { AppError, notFound } from '../../errors'
import type { AccountId } from '../../ids'
import type { ActionContext } from '../action-context'
import { findUnknownNames, warnOfPatterns } from './check-policy'
import type { Policy } from './policy-body'
import { type AccountPolicyRow, deletePolicy, policyOf, selectPolicies } from './policy-queries'
import { type PolicyChange, previewPolicy } from './preview'
import { upsertPolicy } from './queries'

/** @throws VALIDATION for a tier or a tool that is not there: such a rule would hold for nothing */
export function checkPolicy(
  policy: Policy,
  { tools }: Pick<ActionContext, 'tools'>,
): ErrorDetail[] {
  const details = findUnknownNames(policy, tools)
  if (details.length === 0) return warnOfPatterns(policy, tools)
  throw new AppError('VALIDATION', 'The policy names what is not there.', { details })
}

/** The rows of everybody whom the policy of `name` may concern, `*` being the default. */
export async function readPolicies(
  { db }: ActionContext,
  name: string,
): Promise<{ rows: AccountPolicyRow[]; target: AccountPolicyRow }> {
  const { results } = await selectPolicies(db, name).all<AccountPolicyRow>()
  return { rows: results, target: findTarget(results, name) }
}

/** @throws NOT_FOUND for a name that nobody has */
export function findTarget(rows: AccountPolicyRow[], name: string): AccountPolicyRow {
  const found = rows.find((row) => row.name.toLowerCase() === name.toLowerCase())
  if (!found) throw notFound('account')
  return found
}

export interface PolicySet {
  /** What is odd about it, and what it changed. */
  warnings: ErrorDetail[]
  changes: PolicyChange[]
}

interface PolicyWrite {
  name: string
  /** Null: back to the default. */
  policy: Policy | null
  by: AccountId
  /** Only says what it would do. */
  isDryRun: boolean
  /** The time of the own policy that was looked at, 0 for none; absent does not care. */
  seenAt?: number
}

/**
 * Sets an account's own policy or the default's; it holds from the next call of a tool on (M4).
 *
 * @throws VALIDATION, NOT_FOUND, CONFLICT when somebody changed it since
 */
export async function setPolicy(context: ActionContext, write: PolicyWrite): Promise<PolicySet> {
  const { db, clock, tools } = context
  const { name, policy, by, isDryRun, seenAt } = write
  const { rows, target } = await readPolicies(context, name)
  await tools.refresh(policyOf(target))
  const warnings = policy ? checkPolicy(policy, context) : []
  const changes = previewPolicy(rows, target.id, policy, tools)
  if (seenAt !== undefined && seenAt !== (target.updatedAt ?? 0)) throw changedSince(target)
  if (isDryRun) return { warnings, changes }
  if (policy) await upsertPolicy(db, target.id, { ...policy, by, now: clock.now() }).run()
  else await removeOwn(context, target)
  return { warnings, changes }
}

async function removeOwn({ db }: ActionContext, { id }: AccountPolicyRow): Promise<void> {
  if (id === '*') {
    throw new AppError('VALIDATION', 'The default policy can be changed, but not removed.')
  }
  await deletePolicy(db, id).run()
}

const changedSince = ({ updatedBy }: AccountPolicyRow): AppError =>
  new AppError('CONFLICT', `${updatedBy ?? 'Somebody'} changed this policy in the meantime.`, {
    hint: 'Look at what changed now, then save again.',
  })
