import * as z from 'zod'
import { decodeKeyset, splitPage, toPageFields, toTimeKey } from '../../shared/cursor'
import { notFound } from '../../shared/errors'
import { countAnswer, pageFields, presenterOf, timeAnswer } from '../http/answers'
import { requireAdmin } from '../http/authenticate'
import { type Route, routesOf } from '../http/route'
import { personAnswer } from '../rules/people'
import { activations } from '../schema/activations'
import { selectFiles } from './archive-queries'
import { readRecords, toArchiveView } from './archive-view'
import {
  type AdminLogRow,
  type AuditRow,
  selectAdminLog,
  selectAudit,
  selectAuditEntry,
} from './audit-queries'
import { adminLogFilter, archivedFile, auditFilter, logPage, readCallContents } from './audit-view'

const route = routesOf('tools')

const entryAnswer = z
  .object({
    id: z.string(),
    at: timeAnswer,
    account: personAnswer,
    activation_id: z.string().nullable(),
    task: z
      .enum(activations.task.enumValues)
      .nullable()
      .describe('Task of the activation; null for a call of an external agent or program.'),
    asked_by: personAnswer
      .nullable()
      .describe('The requester of the task; null for a run that is private to others.'),
    call_id: z.string(),
    tool: z.string(),
    grant: z.string().nullable(),
    arguments_hash: z.string(),
    decision: z.enum([
      'allowed',
      'denied',
      'invalid',
      'unknown_tool',
      'needs_approval',
      'rate_limited',
    ]),
    reason: z
      .string()
      .nullable()
      .describe('Why the call was refused; null for a run that is private to others.'),
    outcome: z.enum(['ok', 'error', 'timeout', 'cancelled']).nullable(),
    duration_ms: countAnswer.nullable(),
    result_bytes: countAnswer.nullable(),
  })
  .meta({ id: 'AuditEntry' })

const entryDetailAnswer = entryAnswer.extend({
  arguments: z.string().nullable().describe('JSON; null when not stored.'),
  result: z.string().nullable().describe('Null when not stored.'),
  is_redacted: z
    .boolean()
    .describe('Whether both are left out: the run is private. POST /openings opens it.'),
})

const presentEntry = presenterOf(entryAnswer).from<AuditRow>({
  grant: (row) => row.grant || null,
})

export const auditRoutes: Route[] = [
  route({
    method: 'get',
    path: '/audit',
    summary:
      'Lists tool calls, newest first, with account, tool, grant, decision and outcome; admins see all, others their own and those of their agents',
    access: 'own',
    query: auditFilter.extend({ ...logPage, archived: archivedFile }),
    answer: z.object({
      entries: z.array(entryAnswer),
      ...pageFields,
      archives: z
        .array(z.object({ name: z.string(), day: z.string() }))
        .describe(
          'The newest files of older calls, for the parameter archived; since and until apply.',
        ),
    }),
    handle: async ({ context: { clock, archive }, credential, list, query, read }) => {
      const { limit, cursor, archived, ...filter } = query
      const caller = { credential, now: clock.now() }
      const before = decodeKeyset(list, cursor)
      const file = archived && (await readRecords(archive, 'audit', archived))
      const { answers } = await read({
        rows: selectAudit(caller, {
          ...filter,
          before,
          limit: limit + 1,
          archived: file || undefined,
        }),
        files: selectFiles('audit', filter),
      })
      const { page, next } = splitPage(answers.rows, limit, list, toTimeKey)
      return {
        entries: page.map(presentEntry),
        ...toPageFields(next),
        archives: answers.files.map((each) => toArchiveView('audit', each)),
      }
    },
  }),
  route({
    method: 'get',
    path: '/audit/:id',
    summary: 'Returns one tool call with its arguments and its result, if they are still stored',
    access: 'own',
    query: z.object({ archived: archivedFile }),
    answer: z.object({ entry: entryDetailAnswer }),
    handle: async ({ context, credential, param, query, read }) => {
      const { clock, archive } = context
      const file = query.archived && (await readRecords(archive, 'audit', query.archived))
      const { viewer, answers } = await read({
        row: selectAuditEntry({ credential, now: clock.now() }, param('id'), file || undefined),
      })
      const { row } = answers
      if (!row) throw notFound('audit entry')
      const visitor = viewer && { id: viewer.id, isAdmin: viewer.role === 'admin' }
      const { isClosed, ...contents } = await readCallContents(context, visitor, row)
      return { entry: { ...presentEntry(row), ...contents, is_redacted: isClosed } }
    },
  }),
]

const settings = z.record(z.string(), z.unknown()).nullable()

const adminEntryAnswer = z
  .object({
    id: z.string(),
    at: timeAnswer,
    account_id: z.string(),
    account: personAnswer.nullable().describe('Null when the account is deleted.'),
    action: z.string().describe('Such as policy.set.'),
    target_type: z.string(),
    target_id: z.string(),
    target: personAnswer.nullable().describe('The account that the target is.'),
    reason: z.string().nullable(),
    before: settings.describe('The settings before, without secrets.'),
    after: settings.describe('The settings after, without secrets.'),
  })
  .meta({ id: 'AdminLogEntry' })

const presentAdminEntry = presenterOf(adminEntryAnswer).from<AdminLogRow>({})

export const adminLogRoutes: Route[] = [
  route({
    method: 'get',
    path: '/admin/log',
    summary:
      'Lists what admins and moderators did, newest first: who, what, and the settings before and after (admin)',
    tag: 'people',
    // The rows are read together with the viewer, in one round trip.
    access: 'own',
    query: adminLogFilter.extend(logPage),
    answer: z.object({ entries: z.array(adminEntryAnswer), ...pageFields }),
    handle: async ({ context: { clock }, credential, list, query, read }) => {
      const { limit, cursor, ...filter } = query
      const before = decodeKeyset(list, cursor)
      const request = { ...filter, before, limit: limit + 1 }
      const { viewer, answers } = await read({
        rows: selectAdminLog({ credential, now: clock.now() }, request),
      })
      if (viewer) requireAdmin(viewer)
      const { page, next } = splitPage(answers.rows, limit, list, toTimeKey)
      return { entries: page.map(presentAdminEntry), ...toPageFields(next) }
    },
  }),
]
