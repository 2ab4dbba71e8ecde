import type { AccountId } from '../../shared/ids'
import type { GrantPolicy, Role, ToolAccess, ToolCatalog } from '../contract/hub'
import { listModerated } from '../contract/policy-line'
import { presentPerson } from '../rules/people'
import type { PersonAnswer } from '../rules/people-sql'
import type { Policy } from './policy'
import { type AccountPolicyRow, replacePolicy, toEffectivePolicy } from './queries'

/** The changes that a policy would make for one account. */
export interface PolicyChange {
  /** Null: all accounts without their own rules. */
  account: PersonAnswer | null
  /** Who requests. The change for moderators is listed apart where it differs from that for members. */
  requestedBy: 'member' | 'guest' | 'moderator'
  /** The community that the moderators moderate; null for others. */
  community: string | null
  /** Tools that become usable, with the grants if only part of the tool's grant is gained. */
  gains: string[]
  loses: string[]
  /** Tools that require approval for more calls than before. */
  moreApproval: string[]
  /** Tools that require approval for fewer calls than before. */
  lessApproval: string[]
}

/**
 * Returns the changes by account if `target` had this policy. Accounts without changes are left out;
 * the change without an account represents all accounts without their own rules.
 */
export function previewPolicy(
  rows: AccountPolicyRow[],
  target: AccountId | '*',
  policy: Policy | null,
  tools: ToolCatalog,
): PolicyChange[] {
  return rows.flatMap((row) => {
    const account = row.id === '*' ? null : presentPerson({ ...row, id: row.id })
    const changed = replacePolicy(row, target, policy)
    const compareFor = (role: Role, moderates: string[]) =>
      compare(
        tools.evaluatePolicy(toEffectivePolicy(row, role, moderates)),
        tools.evaluatePolicy(toEffectivePolicy(changed, role, moderates)),
      )
    const ofMembers = compareFor('member', [])
    const ofModerators = listModeratedOf([row, changed])
      .map((community) => ({ community, change: compareFor('member', [community]) }))
      .filter(({ change }) => JSON.stringify(change) !== JSON.stringify(ofMembers))
    const changes: PolicyChange[] = [
      { account, requestedBy: 'member', community: null, ...ofMembers },
      { account, requestedBy: 'guest', community: null, ...compareFor('guest', []) },
      ...ofModerators.map(({ community, change }) => ({
        account,
        community,
        ...change,
        requestedBy: 'moderator' as const,
      })),
    ]
    return changes.filter(({ gains, loses, moreApproval: asks, lessApproval: asksNoMore }) =>
      [gains, loses, asks, asksNoMore].some((list) => list.length > 0),
    )
  })
}

/** A policy of an agent, and the tools that its definition does not exclude. */
interface DefinedAccess {
  row: AccountPolicyRow
  usable: readonly string[]
}

/** Returns the changes for members' requests when an agent gets another definition. */
export function previewDefined(
  before: DefinedAccess,
  after: DefinedAccess,
  tools: ToolCatalog,
): ToolChanges {
  const evaluate = ({ row, usable }: DefinedAccess): ToolAccess[] =>
    tools
      .evaluatePolicy(toEffectivePolicy(row))
      .map((access) =>
        usable.includes(access.tool.name) ? access : { ...access, isAllowed: false, grants: [] },
      )
  return compare(evaluate(before), evaluate(after))
}

/** The changes of a policy for one account and those who request. */
export type ToolChanges = Omit<PolicyChange, 'account' | 'requestedBy' | 'community'>

/** The communities for whose moderators a line of these policies holds. */
const listModeratedOf = (rows: AccountPolicyRow[]): string[] => [
  ...new Set(
    rows.flatMap((row) => ((row.own ?? row.default)?.allowed ?? []).flatMap(listModerated)),
  ),
]

function compare(before: ToolAccess[], after: ToolAccess[]): ToolChanges {
  const pairs = after.flatMap((current, index) => {
    const previous = before[index]
    return previous ? [{ previous, current, name: current.tool.name }] : []
  })
  const usable = pairs.filter(({ previous, current }) => previous.isAllowed && current.isAllowed)
  const ranks = { never: 0, some: 1, always: 2 }
  const changedBy = ({ previous, current }: (typeof pairs)[number]) =>
    ranks[current.approval] - ranks[previous.approval]
  const listNames = (some: typeof pairs) => some.map(({ name }) => name)
  return {
    gains: pairs.flatMap(({ previous, current }) => listGained(current, previous)),
    loses: pairs.flatMap(({ previous, current }) => listGained(previous, current)),
    moreApproval: listNames(usable.filter((pair) => changedBy(pair) > 0)),
    lessApproval: listNames(usable.filter((pair) => changedBy(pair) < 0)),
  }
}

/** Lists the tool if one verdict grants more than the other, with the grants unless it is the whole tool. */
function listGained({ tool, grants }: ToolAccess, other: ToolAccess): string[] {
  const only = grants.filter((grant) => !other.grants.includes(grant))
  if (only.length === 0) return []
  return [only.includes(tool.grant) ? tool.name : `${tool.name} (${only.join(', ')})`]
}

/** Returns the grants that an agent's definition requests and the policy doesn't grant. */
export const findNotGranted = (policy: GrantPolicy, tools: ToolCatalog): string[] =>
  (policy.requested ?? []).filter((grant) => !tools.isGranted(policy, grant))
