import * as z from 'zod'
import { approvals } from '../../shared/config'
import { briefPersonAnswer, presentTime } from '../accounts/present'
import { decodeCursor, encodeCursor } from '../cursor'
import { pageFields, timeAnswer } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { submitDecision } from './actions'
import { selectApprovals } from './queries'
import { redactApproval, type VisibleApproval } from './redact-approval'
import { approvals as approvalTable } from './schema'

const tag = 'approvals'

const approvalAnswer = z
  .object({
    id: z.string(),
    status: z.enum(approvalTable.status.enumValues),
    agent: briefPersonAnswer,
    activation_id: z.string().nullable().describe('Null for a call of an external agent.'),
    post_id: z.string().nullable(),
    call_id: z.string(),
    tool: z.string(),
    grant: z.string(),
    tier: z.enum(approvalTable.tier.enumValues),
    arguments: z.string().describe('JSON with masked credentials; empty when redacted.'),
    scope: z
      .enum(approvalTable.scope.enumValues)
      .nullable()
      .describe('once: for this call. activation: for further calls of the tool and grant, too.'),
    decided_by: z.string().nullable().describe('Name of the admin.'),
    note: z.string(),
    is_redacted: z.boolean(),
    created_at: timeAnswer,
    expires_at: timeAnswer,
    decided_at: timeAnswer.nullable(),
  })
  .meta({ id: 'Approval' })

const presentApproval = (row: VisibleApproval): z.input<typeof approvalAnswer> => ({
  id: row.id,
  status: row.status,
  agent: { id: row.agentId, name: row.agentName, kind: row.agentKind },
  activation_id: row.activationId,
  post_id: row.postId,
  call_id: row.callId,
  tool: row.tool,
  grant: row.grant,
  tier: row.tier,
  arguments: row.arguments,
  scope: row.status === 'approved' ? row.scope : null,
  decided_by: row.decidedBy,
  note: row.note,
  is_redacted: row.isRedacted,
  created_at: presentTime(row.createdAt),
  expires_at: presentTime(row.expiresAt),
  decided_at: presentTime(row.decidedAt),
})

export const decisionBody = z.object({
  decision: z
    .enum(['approve', 'approve_activation', 'deny'])
    .describe(
      'approve_activation also approves further calls of the same tool and grant in the activation',
    ),
  note: z.string().trim().max(approvals.noteCharsMax).default('').describe('Shown to the agent'),
})

export const approvalRoutes: Route[] = [
  route({
    method: 'get',
    path: '/approvals',
    summary:
      'Lists calls that require approval, as they would run, with credentials masked. Admins see all calls, others those of their own requests. When is_redacted is true, arguments and note are empty: only admins and the owner of the agent see them',
    tag,
    access: 'own',
    query: z.object({
      status: z
        .enum(['pending', 'approved', 'denied', 'expired', 'cancelled', 'all'])
        .default('pending'),
      limit: z.coerce.number().int().min(1).max(approvals.pageMax).default(approvals.pageDefault),
      cursor: z.string().max(500).optional(),
    }),
    answer: z.object({ approvals: z.array(approvalAnswer), ...pageFields }),
    handle: async ({ context, credential, query, read }) => {
      const cursor = decodeCursor(query.cursor)
      const { viewer, answers } = await read({
        rows: selectApprovals(
          { credential, now: context.clock.now() },
          {
            status: query.status === 'all' ? null : query.status,
            before: Array.isArray(cursor) ? cursor : null,
            limit: query.limit + 1,
          },
        ),
      })
      const { rows } = answers
      const page = rows.slice(0, query.limit)
      const last = page.at(-1)
      const hasMore = rows.length > page.length
      const visitor = viewer && { id: viewer.id, isAdmin: viewer.role === 'admin' }
      return {
        approvals: page.map((row) => presentApproval(redactApproval(row, visitor))),
        has_more: hasMore,
        next_cursor: hasMore && last ? encodeCursor([last.createdAt, String(last.row)]) : null,
      }
    },
  }),
  route({
    method: 'post',
    path: '/approvals/:id',
    summary: 'Approves or denies a pending call; the agent resumes at once (admin)',
    tag,
    access: 'admin',
    body: decisionBody,
    answer: z.object({ approval: approvalAnswer }),
    handle: async (call) => {
      const done = await submitDecision(call.context, call.actor(), call.param('id'), call.body)
      return presentIdempotent(call, done, (row) => ({
        approval: presentApproval({ ...row, isRedacted: false }),
      }))
    },
  }),
]
