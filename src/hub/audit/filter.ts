import * as z from 'zod'

const decisions = [
  'allowed',
  'denied',
  'needs_approval',
  'rate_limited',
  'invalid',
  'unknown_tool',
] as const
const outcomes = ['ok', 'error', 'timeout', 'cancelled'] as const

/** `2026-11-21` or a whole time; a day means its beginning in UTC. */
const time = z
  .string()
  .max(40)
  .regex(
    /^\d{4}-\d{2}-\d{2}([T ][\d:.]+(Z|[+-]\d{2}:\d{2})?)?$/,
    'a day like 2026-11-21, or a time',
  )
  .transform((text, check) => {
    const at = Date.parse(
      /[T ]/.test(text) && !/(Z|[+-]\d{2}:\d{2})$/.test(text) ? `${text}Z` : text,
    )
    if (!Number.isNaN(at)) return at
    check.addIssue('is no time')
    return z.NEVER
  })

/** What a list of the audit may be narrowed by, in the API and in the page's form. */
export const auditFilter = z.object({
  account: z.string().trim().max(100).optional().describe('name of an account'),
  tool: z
    .string()
    .trim()
    .max(64)
    .regex(/^[a-z0-9_]*\*?$/, 'name of a tool, or the beginning of one and *')
    .optional()
    .describe('name of a tool such as hub_search, or github_* for those of a server'),
  decision: z.enum(decisions).optional(),
  outcome: z.enum(outcomes).optional(),
  since: time.optional().describe('from this day or time on, UTC'),
  until: time.optional().describe('before this day or time, UTC'),
})
