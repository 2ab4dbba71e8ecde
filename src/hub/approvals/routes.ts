import * as z from 'zod'
import { approvals } from '../../shared/config'
import { presentTime } from '../accounts/present'
import { decodeCursor, encodeCursor } from '../cursor'
import { presentIdempotent, type Route, route } from '../http/route'
import { submitDecision } from './actions'
import { selectApprovals } from './queries'
import { redactApproval, type VisibleApproval } from './redact-approval'

const tag = 'approvals'

const presentApproval = (row: VisibleApproval): object => ({
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
    handle: async (call) => {
      const done = await submitDecision(call.context, call.actor(), call.param('id'), call.body)
      return presentIdempotent(call, done, (row) => ({
        approval: presentApproval({ ...row, isRedacted: false }),
      }))
    },
  }),
]
