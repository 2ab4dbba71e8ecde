import * as z from 'zod'
import { approvals } from '../../shared/config'
import { decodeKeyset, splitPage, toPageFields } from '../../shared/cursor'
import { type ApprovalPromise, approvalAnswer, presentApproval } from '../approvals/present'
import { type ApprovalRow, selectApprovals } from '../approvals/queries'
import { redactApproval } from '../approvals/redact-approval'
import { pageFields } from '../http/answers'
import { type Route, route } from '../http/route'
import type { TraceViewer } from '../traces/trace-access'
import { resumeStatements } from './resume-queries'
import { isCostShown, type ResumePromise, toResumePromises } from './resume-view'

function presentPromise(
  promises: ReadonlyMap<string, ResumePromise>,
  { activationId, tool }: ApprovalRow,
  viewer: TraceViewer | null,
): ApprovalPromise | null {
  const promise = promises.get(activationId ?? '')
  if (!promise) return null
  const isShown = isCostShown(promise, viewer?.isAdmin === true)
  const account = promise.findAccount(tool)
  return {
    requesters: promise.requesters,
    account: account && { service: account.service, is_connected: account.isConnected },
    is_exhausted: promise.isExhausted,
    reserved_microusd: isShown ? promise.reservedMicrousd : null,
    most_microusd: isShown ? promise.freeMicrousd : null,
    paid_by: promise.paidBy.map(({ scope, name }) => ({ scope, name })),
  }
}

/** The list of approvals, with what the page says about approving: who pays, and whose account is used. */
export const approvalListRoutes: Route[] = [
  route({
    method: 'get',
    path: '/approvals',
    summary:
      'Lists calls that require approval, as they would run, with whole secrets masked. Admins see all calls, others those of their own requests. When is_redacted is true, arguments and note are empty: only admins and the owner of the agent see them',
    tag: 'tools',
    access: 'own',
    rate: 'read',
    query: z.object({
      status: z
        .enum(['pending', 'approved', 'denied', 'expired', 'cancelled', 'all'])
        .default('pending'),
      limit: z.coerce.number().int().min(1).max(approvals.pageMax).default(approvals.pageDefault),
      cursor: z.string().max(500).optional(),
    }),
    answer: z.object({ approvals: z.array(approvalAnswer), ...pageFields }),
    handle: async ({ context, credential, list, query, read }) => {
      const now = context.clock.now()
      const { viewer, answers } = await read({
        rows: selectApprovals(
          { credential, now },
          {
            status: query.status === 'all' ? null : query.status,
            before: decodeKeyset(list, query.cursor),
            limit: query.limit + 1,
          },
        ),
        ...resumeStatements(credential, now),
      })
      const { page, next } = splitPage(answers.rows, query.limit, list, (row) => [
        row.createdAt,
        String(row.row),
      ])
      const promises = await toResumePromises(answers, context.tools)
      const visitor = viewer && { id: viewer.id, isAdmin: viewer.role === 'admin' }
      return {
        approvals: page.map((row) =>
          presentApproval(
            redactApproval(row, visitor, context.settings),
            row.status === 'pending' ? presentPromise(promises, row, visitor) : null,
          ),
        ),
        ...toPageFields(next),
      }
    },
  }),
]
