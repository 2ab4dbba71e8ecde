import * as z from 'zod'
import { audit } from '../../shared/config'
import { AppError, type ErrorDetail, notFound } from '../../shared/errors'
import type { ActionContext } from '../database/action-context'
import { pageParameters } from '../http/answers'
import { isClosedToAdmin, isOfOthersAccount, readTrace, type TraceViewer } from '../rules/traces'
import { archiveName, openStoredTrace } from './archive-view'
import type { AuditDetail } from './audit-queries'

/** Errors of the audit pages, as users read them. */
export const auditErrors = {
  signIn: () => new AppError('UNAUTHORIZED', 'Sign in to see the audit log.'),
  callNotFound: () =>
    notFound('call', 'Check the address. Only its owner and admins can see a call.'),
  filter: (details: ErrorDetail[]) =>
    new AppError('VALIDATION', 'The filter is not valid.', { details }),
  csvFilter: (message: string, hint: string) => new AppError('VALIDATION', message, { hint }),
}

const decisions = [
  'allowed',
  'denied',
  'needs_approval',
  'rate_limited',
  'invalid',
  'unknown_tool',
] as const
const outcomes = ['ok', 'error', 'timeout', 'cancelled'] as const

/** A day such as `2026-11-21`, which means its start in UTC, or a time; in milliseconds since the epoch. */
const time = z
  .string()
  .max(40)
  .regex(
    /^\d{4}-\d{2}-\d{2}([T ][\d:.]+(Z|[+-]\d{2}:\d{2})?)?$/,
    'Must be a day such as 2026-11-21, or a time',
  )
  .transform((text, check) => {
    const at = Date.parse(
      /[T ]/.test(text) && !/(Z|[+-]\d{2}:\d{2})$/.test(text) ? `${text}Z` : text,
    )
    if (!Number.isNaN(at)) return at
    check.addIssue('Must be a valid day or time')
    return z.NEVER
  })

/** Query parameters of one page of a log in the API. */
export const logPage = {
  ...pageParameters(audit.pageMax, audit.pageDefault),
}

/** The times of a log's entries; `until` is exclusive. */
export const timeRange = {
  since: time.optional().describe('from this day or time on, UTC'),
  until: time.optional().describe('before this day or time, UTC'),
}

/** The name of a file of the archive, instead of what is in the database. */
export const archivedFile = z
  .string()
  .regex(archiveName, 'Must be the name of an archived file')
  .optional()
  .describe('name of a file of the archive, to list its calls')

/** Filters of the audit list, in the API and in the form of the page. */
export const auditFilter = z.object({
  account: z.string().trim().max(100).optional().describe('name of an account'),
  tool: z
    .string()
    .trim()
    .max(64)
    .regex(/^[a-z0-9_]*\*?$/, 'Must be the name of a tool, or a prefix and *')
    .optional()
    .describe('name of a tool such as hub_search, or github_* for those of a server'),
  decision: z.enum(decisions).optional(),
  outcome: z.enum(outcomes).optional(),
  ...timeRange,
})

/** Filters of the admin log, in the API and in the form of the page. */
export const adminLogFilter = z.object({
  account: z.string().trim().max(100).optional().describe('name or id of the account that acted'),
  action: z
    .string()
    .trim()
    .max(64)
    .regex(/^[a-z_.]*\*?$/, 'Must be an action such as policy.set, or a prefix and *')
    .optional()
    .describe('such as policy.set, or budget.* for all of budgets'),
  target: z.string().trim().max(200).optional().describe('id of the target, or name of an account'),
  ...timeRange,
})

/** Arguments and result of a call; null when not stored. */
export interface CallContents {
  arguments: string | null
  result: string | null
  /** Whether they are left out until an admin opens the run. */
  isClosed: boolean
}

/**
 * Returns arguments and result of a call: of a hosted agent from its trace, where they are truncated
 * and masked, of an external caller the stored arguments. An admin opens a private run first.
 */
export async function readCallContents(
  { agents, archive }: Pick<ActionContext, 'agents' | 'archive'>,
  viewer: TraceViewer | null,
  row: AuditDetail,
): Promise<CallContents> {
  const { arguments: stored, trace, callId } = row
  if (row.activationId !== null && isClosedToAdmin(viewer, row)) {
    return { arguments: null, result: null, isClosed: true }
  }
  // An admin can have opened it, nobody else can.
  if (viewer?.isAdmin !== true && isOfOthersAccount(viewer, row)) {
    return { arguments: null, result: null, isClosed: false }
  }
  const log = await openStoredTrace(archive, trace)
  const steps = readTrace(agents, log, 'all', row)?.steps ?? []
  const tool = steps.flatMap(({ tools }) => tools).find((each) => each.callId === callId)
  return {
    arguments: stored ?? tool?.arguments ?? null,
    result: tool?.result ?? null,
    isClosed: false,
  }
}
