import * as z from 'zod'
import { briefPersonAnswer } from '../accounts/present'
import { countAnswer, microusdAnswer, timeAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'
import type { Call } from '../http/route'
import { approvals as approvalTable } from '../schema/approvals'
import { type ArgumentPart, toText } from './format-arguments'
import type { ApprovalRow } from './queries'
import { redactApproval, type VisibleApproval } from './redact-approval'

const promiseAnswer = z
  .object({
    requesters: z.array(z.string()).describe('For whom the run acts; empty: for the hub.'),
    account: z
      .object({ service: z.string(), is_connected: z.boolean() })
      .nullable()
      .describe(
        'The account of the only requester that the call uses; null: a credential of the hub, or none.',
      ),
    is_exhausted: z.boolean().describe('A budget is used up, so that no model is called.'),
    reserved_microusd: microusdAnswer
      .nullable()
      .describe(
        'What the next model call can cost at most. Null where several requesters share it.',
      ),
    most_microusd: microusdAnswer.nullable().describe('The same of the rest of the run.'),
    paid_by: z.array(z.object({ scope: z.string(), name: z.string().nullable() })),
  })
  .meta({ id: 'ApprovalPromise' })

/** An approval as the API returns it. */
export const approvalAnswer = z
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
    promise: promiseAnswer
      .nullable()
      .describe('What approving does; null for a call that is decided, or outside of a run.'),
    created_at: timeAnswer,
    expires_at: timeAnswer,
    decided_at: timeAnswer.nullable(),
  })
  .meta({ id: 'Approval' })

type ShownArguments = Pick<z.input<typeof approvalAnswer>, 'arguments' | 'masked'>

function presentArguments(parts: ArgumentPart[]): ShownArguments {
  const masked: ShownArguments['masked'] = []
  let text = ''
  for (const part of parts) {
    const start = text.length
    text += toText([part])
    if (part.kind === 'secret') masked.push({ start, end: text.length, value: part.text })
  }
  return { arguments: text, masked }
}

/** What resuming the run would cost, as the API returns it. */
export type ApprovalPromise = z.input<typeof promiseAnswer>

interface ApprovalView extends VisibleApproval, ShownArguments {
  promise: ApprovalPromise | null
}

const presentView = presenterOf(approvalAnswer).from<ApprovalView>({
  agent: (row) => ({ id: row.agentId, name: row.agentName, kind: row.agentKind }),
  scope: (row) => (row.status === 'approved' ? row.scope : null),
  reasons: (row) =>
    row.reasons.map((reason) => ({
      kind: reason.kind,
      entry: reason.kind === 'policy' ? reason.entry : null,
      community: reason.kind === 'community' ? reason.community : null,
    })),
})

/** @param promise null for a call that is decided, or of no run */
export const presentApproval = (
  row: VisibleApproval,
  promise: ApprovalPromise | null,
): z.input<typeof approvalAnswer> =>
  presentView({ ...row, ...presentArguments(row.showArguments(0)), promise })

/** Presents an approval for an admin, who can decide it. */
export const presentForAdmin = (
  { context, viewer }: Pick<Call<unknown, unknown>, 'context' | 'viewer'>,
  row: ApprovalRow,
): z.input<typeof approvalAnswer> =>
  presentApproval(redactApproval(row, { id: viewer().id, isAdmin: true }, context.settings), null)
