import type { ErrorDetail } from '../../shared/errors'
import type { ToolCatalog } from '../contract/hub'
import { parsePolicyLine } from '../contract/policy-line'
import type { Policy } from './policy-body'

/** The grant pattern of a line. */
const toPattern = (line: string): string => parsePolicyLine(line).pattern

/**
 * Returns entries with an unknown tier or tool, or with a too wide pattern. Such rules would have no
 * effect, and a misspelling would go unnoticed.
 */
export const findInvalidEntries = (
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
export function findUnmatchedPatterns(
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
