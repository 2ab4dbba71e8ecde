import type { Statement } from '../../shared/db/statement'
import { parsePolicyLine } from '../contract/policy-line'
import { updatePolicyLines } from './queries'

/**
 * Returns the writes that replace a name in the lines of all policies. Without them, whoever takes the
 * name later would get its grants.
 *
 * @param to null: nobody; a line that held for the name alone goes
 */
export function renameInPolicies(
  policies: { accountId: string; allowed: string[] }[],
  from: string,
  to: string | null,
): Statement<void>[] {
  return policies.flatMap(({ accountId, allowed }) => {
    const after = allowed.flatMap((line) => renameInLine(line, from, to))
    const isSame =
      after.length === allowed.length && after.every((line, at) => line === allowed[at])
    return isSame ? [] : [updatePolicyLines(accountId, allowed, after)]
  })
}

function renameInLine(text: string, from: string, to: string | null): string[] {
  const { pattern, holdsFor, isTrusted } = parsePolicyLine(text)
  const isNamed = (group: string) => group.toLowerCase() === `@${from.toLowerCase()}`
  if (!holdsFor.some(isNamed)) return [text]
  const groups = holdsFor.flatMap((group) =>
    isNamed(group) ? (to === null ? [] : [`@${to}`]) : [group],
  )
  if (groups.length === 0) return []
  return [`${pattern} for ${groups.join(', ')}${isTrusted ? ' trusted' : ''}`]
}
