import type { ErrorDetail } from '../../errors'
import type { CallPolicy, KnownTools } from '../contract'

type Policy = Omit<CallPolicy, 'requested'>

/**
 * Entries that name a tier or a tool that is not there: a rule that is misspelt would hold for nothing
 * and nobody would know (M7, M8).
 */
export const findUnknownNames = (
  { allowed, requireApproval, rateLimits }: Policy,
  known: KnownTools,
): ErrorDetail[] => [
  ...allowed.flatMap((pattern, index) =>
    explain(`body.allowed.${index}`, known.isTooWide(pattern) ? sayTooWide(pattern) : null),
  ),
  ...requireApproval.flatMap((entry, index) =>
    explain(`body.require_approval.${index}`, findUnknownName(entry, known)),
  ),
  ...rateLimits.flatMap(({ tool }, index) =>
    explain(`body.rate_limits.${index}.tool`, tool ? findUnknownTool(tool, known) : null),
  ),
]

const sayTooWide = (pattern: string): string =>
  `${pattern} would give nothing: grants of ${pattern.split(':')[0]} name their resource, e.g. aws:s3:read:my-bucket`

const explain = (path: string, message: string | null): ErrorDetail[] =>
  message === null ? [] : [{ path, message }]

function findUnknownName(entry: string, known: KnownTools): string | null {
  const { kind, name } = splitEntry(entry)
  if (kind === 'tool') return findUnknownTool(name, known)
  if (kind !== 'tier' || known.tiers.includes(name)) return null
  return `there is no tier ${name}; there are ${known.tiers.join(', ')}`
}

/** Names the tools of the same server, when there is such a server. */
function findUnknownTool(tool: string, { names }: KnownTools): string | null {
  if (names.includes(tool)) return null
  const near = names.filter((name) => name.startsWith(`${tool.split('_')[0]}_`))
  return `there is no tool ${tool}${near.length > 0 ? `; there are ${near.join(', ')}` : ''}`
}

function splitEntry(entry: string): { kind: 'tier' | 'tool' | 'grant'; name: string } {
  const [, kind, name = ''] = /^(tier|tool):(.*)$/.exec(entry) ?? []
  return kind === 'tier' || kind === 'tool' ? { kind, name } : { kind: 'grant', name: entry }
}

/** Patterns that no tool needs as yet; a server that comes later may, so they only warn. */
export function warnOfPatterns(
  { allowed, denied, requireApproval, rateLimits }: Policy,
  { names, needsSome }: KnownTools,
): ErrorDetail[] {
  const check = (path: string, pattern: string) => {
    if (needsSome(pattern)) return []
    const tool = names.includes(pattern) ? `: for the tool, say tool:${pattern}` : ''
    return [{ path, message: `${pattern} matches the grant of no tool here${tool}` }]
  }
  const checkAll = (field: string, patterns: string[]) =>
    patterns.flatMap((pattern, index) => check(`body.${field}.${index}`, pattern))
  return [
    ...checkAll('allowed', allowed),
    ...checkAll('denied', denied),
    ...requireApproval.flatMap((entry, index) =>
      splitEntry(entry).kind === 'grant' ? check(`body.require_approval.${index}`, entry) : [],
    ),
    ...rateLimits.flatMap(({ grant }, index) =>
      grant === undefined ? [] : check(`body.rate_limits.${index}.grant`, grant),
    ),
  ]
}
