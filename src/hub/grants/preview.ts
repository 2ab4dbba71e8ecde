import type { AccountId } from '../../ids'
import type { AccountKind, GrantPolicy, KnownTools, ToolVerdict } from '../contract'
import type { Policy } from './policy-body'
import { type AccountPolicyRow, policyOf, withPolicy } from './policy-queries'

/** What a new policy would mean for one account. */
export interface PolicyChange {
  name: string
  kind: AccountKind
  /** Tools that it could use then, with the grants when they are not all of the tool's. */
  gains: string[]
  loses: string[]
  /** Tools for which a person would have to say yes first, and no more. */
  asks: string[]
  asksNoMore: string[]
}

/** Stands for everybody who has no rules of their own. */
const others: Pick<AccountPolicyRow, 'name' | 'kind'> = { name: '', kind: 'human' }

/**
 * What would change for whom when `target` got this policy. Accounts for which nothing would change are
 * left out; the one without a name stands for all others.
 */
export function previewPolicy(
  rows: AccountPolicyRow[],
  target: AccountId | '*',
  policy: Policy | null,
  tools: KnownTools,
): PolicyChange[] {
  return rows
    .map((row) => {
      const before = tools.judge(policyOf(row))
      const after = tools.judge(policyOf(withPolicy(row, target, policy)))
      const { name, kind } = row.id === '*' ? others : row
      return { name, kind, ...compare(before, after) }
    })
    .filter(({ gains, loses, asks, asksNoMore }) =>
      [gains, loses, asks, asksNoMore].some((list) => list.length > 0),
    )
}

function compare(before: ToolVerdict[], after: ToolVerdict[]): Omit<PolicyChange, 'name' | 'kind'> {
  const pairs = after.flatMap((now, index) => {
    const was = before[index]
    return was ? [{ was, now, name: now.tool.name }] : []
  })
  const both = pairs.filter(({ was, now }) => was.isAllowed && now.isAllowed)
  const more = { never: 0, some: 1, always: 2 }
  const names = (some: typeof pairs) => some.map(({ name }) => name)
  return {
    gains: pairs.flatMap(({ was, now }) => sayMore(now, was)),
    loses: pairs.flatMap(({ was, now }) => sayMore(was, now)),
    asks: names(both.filter(({ was, now }) => more[now.approval] > more[was.approval])),
    asksNoMore: names(both.filter(({ was, now }) => more[now.approval] < more[was.approval])),
  }
}

/** The tool with the grants that one verdict opens and the other does not; its name alone for all of it. */
function sayMore({ tool, grants }: ToolVerdict, other: ToolVerdict): string[] {
  const only = grants.filter((grant) => !other.grants.includes(grant))
  if (only.length === 0) return []
  return [only.includes(tool.grant) ? tool.name : `${tool.name} (${only.join(', ')})`]
}

/** The grants that an agent's definition asks for and that policy drops (M3). */
export const findDropped = (policy: GrantPolicy, tools: KnownTools): string[] =>
  (policy.requested ?? []).filter((grant) => !tools.isGranted(policy, grant))
