import type { Statement } from '../../shared/db/statement'
import { formatPolicyLine, parsePolicyLine } from '../contract/policy-line'
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
  const line = parsePolicyLine(text)
  const isNamed = (group: string) => group.toLowerCase() === `@${from.toLowerCase()}`
  if (!line.holdsFor.some(isNamed)) return [text]
  const holdsFor = line.holdsFor.flatMap((group) =>
    isNamed(group) ? (to === null ? [] : [`@${to}`]) : [group],
  )
  return holdsFor.length === 0 ? [] : [formatPolicyLine({ ...line, holdsFor })]
}
