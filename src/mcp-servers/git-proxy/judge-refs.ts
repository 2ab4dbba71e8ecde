import { gitProxy } from '../../shared/config'
import type { PushedRef } from '../git/git-tools'

const branches = 'refs/heads/'

/** What `git check-ref-format` refuses, and everything outside of printable ASCII. */
const unusable = /[^\x21-\x7e]|[~^:?*[\\]|\.\.|@\{|\/\/|(^|\/)\.|\.lock(\/|$)|[/.]$/

const isZero = (id: string): boolean => /^0+$/.test(id)

/** Whether a pattern such as `rookery/*` matches a branch; the `*` at its end matches any characters. */
const matchesBranch = (pattern: string, branch: string): boolean =>
  pattern.endsWith('*')
    ? branch.startsWith(pattern.slice(0, -1)) && branch.length >= pattern.length
    : branch === pattern

/** Whether branches of these patterns may be changed by a push to this ref. */
const isOpen = (patterns: readonly string[], ref: string): boolean =>
  ref.startsWith(branches) &&
  ref.length <= gitProxy.refCharsMax &&
  !unusable.test(ref) &&
  patterns.some((pattern) => matchesBranch(pattern, ref.slice(branches.length)))

/** Returns why refs must not be pushed where these patterns of branches are allowed; null: they may be. */
export function judgeRefs(
  patterns: readonly string[],
  refs: readonly Pick<PushedRef, 'ref' | 'new'>[],
): string | null {
  if (patterns.length === 0) return 'this run may push to the repository of its workspace only'
  const refused = refs.filter(({ ref }) => !isOpen(patterns, ref))
  const deleted = refs.filter((each) => isZero(each.new) && !refused.includes(each))
  const only = `only ${patterns.map((pattern) => branches + pattern).join(', ')} may be pushed`
  if (refused.length > 0) return `${only}; refused: ${list(refused)}`
  return deleted.length > 0 ? `branches must not be deleted; refused: ${list(deleted)}` : null
}

const list = (refs: readonly { ref: string }[]): string =>
  refs
    .slice(0, 10)
    .map(({ ref }) => ref.replace(/[^\x21-\x7e]/g, '?').slice(0, gitProxy.refCharsMax))
    .join(' ')
