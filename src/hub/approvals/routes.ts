import * as z from 'zod'
import { approvals } from '../../shared/config'
import { briefPersonAnswer } from '../accounts/present'
import { decodeCursor, encodeCursor } from '../cursor'
import { countAnswer, pageFields, presentTime, timeAnswer } from '../http/answers'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import { approvals as approvalTable } from '../schema/approvals'
import { ruleInput } from '../standing-rules/inputs'
import { presentScope, ruleScopeAnswer } from '../standing-rules/present'
import { submitDecision, submitDecisions } from './actions'
import { type ArgumentPart, toText } from './format-arguments'
import { decisionBody, decisionsBody } from './inputs'
import { prepareRule } from './prepare-rule'
import { type ApprovalRow, selectApprovals } from './queries'
import { redactApproval, type VisibleApproval } from './redact-approval'

const tag = 'approvals'

const approvalAnswer = z
  .object({
    id: z.string(),
    status: z.enum(approvalTable.status.enumValues),
    agent: briefPersonAnswer,
    activation_id: z.string().nullable().describe('Null for an external call.'),
    run_id: z
      .string()
      .nullable()
      .describe(
        'The run whose token an external program called with; its approval holds there only.',
      ),
    post_id: z.string().nullable(),
    call_id: z.string(),
    tool: z.string(),
    grant: z.string(),
    tier: z.enum(approvalTable.tier.enumValues),
    arguments: z
      .string()
      .describe(
        'JSON of the whole call. Whole secrets are masked, characters that cannot be seen are escaped. Empty when redacted.',
      ),
    masked: z
      .array(
        z.object({
          start: countAnswer.describe('Offset of the mask in arguments.'),
          end: countAnswer,
          value: z.string().describe('What the mask stands for, escaped like arguments.'),
        }),
      )
      .describe('The masked secrets of a pending call; empty for those who cannot decide it.'),
    scope: z
      .enum(approvalTable.scope.enumValues)
      .nullable()
      .describe(
        'once: for this call. activation: for other calls of the tool and grant in the activation, too.',
      ),
    decided_by: z.string().nullable().describe('Name of the admin.'),
    note: z.string(),
    reasons: z
      .array(
        z.object({
          kind: z.enum(['policy', 'untrusted', 'community']),
          entry: z.string().nullable().describe('The entry of the policy.'),
          community: z.string().nullable().describe('The closed community that it leaves.'),
        }),
      )
      .describe('Why the call requires approval.'),
    is_redacted: z.boolean(),
    created_at: timeAnswer,
    expires_at: timeAnswer,
    decided_at: timeAnswer.nullable(),
  })
  .meta({ id: 'Approval' })

function presentArguments(
  parts: ArgumentPart[],
): Pick<z.input<typeof approvalAnswer>, 'arguments' | 'masked'> {
  const masked: z.input<typeof approvalAnswer>['masked'] = []
  let text = ''
  for (const part of parts) {
    const start = text.length
    text += toText([part])
    if (part.kind === 'secret') masked.push({ start, end: text.length, value: part.text })
  }
  return { arguments: text, masked }
}

const presentApproval = (row: VisibleApproval): z.input<typeof approvalAnswer> => ({
  id: row.id,
  status: row.status,
  agent: { id: row.agentId, name: row.agentName, kind: row.agentKind },
  activation_id: row.activationId,
  run_id: row.runId,
  post_id: row.postId,
  call_id: row.callId,
  tool: row.tool,
  grant: row.grant,
  tier: row.tier,
  ...presentArguments(row.showArguments(0)),
  scope: row.status === 'approved' ? row.scope : null,
  decided_by: row.decidedBy,
  note: row.note,
  reasons: row.reasons.map((reason) => ({
    kind: reason.kind,
    entry: reason.kind === 'policy' ? reason.entry : null,
    community: reason.kind === 'community' ? reason.community : null,
  })),
  is_redacted: row.isRedacted,
  created_at: presentTime(row.createdAt),
  expires_at: presentTime(row.expiresAt),
  decided_at: presentTime(row.decidedAt),
})

/** Presents an approval for an admin, who can decide it. */
const presentForAdmin = (
  { context, viewer }: Pick<Call<unknown, unknown>, 'context' | 'viewer'>,
  row: ApprovalRow,
): z.input<typeof approvalAnswer> =>
  presentApproval(redactApproval(row, { id: viewer().id, isAdmin: true }, context.settings))

export const approvalRoutes: Route[] = [
  route({
    method: 'get',
    path: '/approvals',
    summary:
      'Lists calls that require approval, as they would run, with whole secrets masked. Admins see all calls, others those of their own requests. When is_redacted is true, arguments and note are empty: only admins and the owner of the agent see them',
    tag,
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
        approvals: page.map((row) =>
          presentApproval(redactApproval(row, visitor, context.settings)),
        ),
        has_more: hasMore,
        next_cursor: hasMore && last ? encodeCursor([last.createdAt, String(last.row)]) : null,
      }
    },
  }),
  route({
    method: 'post',
    path: '/approvals',
    summary: 'Approves or denies several pending calls at once; the agents resume at once (admin)',
    tag,
    access: 'admin',
    rate: 'write',
    body: decisionsBody,
    answer: z.object({ approvals: z.array(approvalAnswer) }),
    handle: async (call) => {
      const { ids, ...decision } = call.body
      const done = await submitDecisions(call.context, call.actor(), ids, decision)
      return presentIdempotent(call, done, (rows) => ({
        approvals: rows.map((row) => presentForAdmin(call, row)),
      }))
    },
  }),
  route({
    method: 'post',
    path: '/approvals/:id',
    summary:
      'Approves or denies a pending call; the agent resumes at once. With standing_rule also creates a rule for such calls (admin)',
    tag,
    access: 'admin',
    rate: 'write',
    body: decisionBody,
    answer: z.object({
      approval: approvalAnswer,
      standing_rule: ruleScopeAnswer.nullable().describe('What the created rule covers.'),
    }),
    handle: async (call) => {
      const done = await submitDecision(call.context, call.actor(), call.param('id'), call.body)
      return presentIdempotent(call, done, ({ row, rule }) => ({
        approval: presentForAdmin(call, row),
        standing_rule: rule && presentScope(rule),
      }))
    },
  }),
  route({
    method: 'post',
    path: '/approvals/:id/rule-preview',
    summary: 'Returns what a standing rule created with this approval would cover (admin)',
    tag,
    access: 'admin',
    rate: 'write',
    body: ruleInput,
    answer: z.object({ standing_rule: ruleScopeAnswer }),
    handle: async (call) => ({
      standing_rule: presentScope(
        await prepareRule(call.context, call.actor(), call.param('id'), call.body),
      ),
    }),
  }),
]
