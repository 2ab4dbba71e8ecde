import * as z from 'zod'
import type { ArgumentRule } from '../contract/hub'
import { countAnswer, microusdAnswer, presenterOf, timeAnswer } from '../http/answers'
import type { Call } from '../http/route'
import { personAnswer, presentPerson } from '../rules/people'
import { placeAnswer } from '../rules/places'
import { approvals as approvalTable } from '../schema/approvals'
import type { ComposedRule, RuleStates } from './actions'
import { type ArgumentPart, redactApproval, toText, type VisibleApproval } from './arguments'
import type { ApprovalRow } from './queries'

const promiseAnswer = z
  .object({
    requesters: z.array(personAnswer).describe('For whom the run acts; empty: for the hub.'),
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
    agent: personAnswer,
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
    decided_by: personAnswer.nullable().describe('The admin.'),
    note: z.string(),
    reasons: z
      .array(
        z.object({
          kind: z.enum(['policy', 'untrusted', 'community']),
          entry: z.string().nullable().describe('The entry of the policy.'),
          community: placeAnswer.nullable().describe('The closed community that it leaves.'),
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
  agent: (row) =>
    presentPerson({
      id: row.agentId,
      name: row.agentName,
      kind: row.agentKind,
      displayName: row.agentDisplayName,
    }),
  scope: (row) => (row.status === 'approved' ? row.scope : null),
  reasons: (row) =>
    row.reasons.map((reason) => ({
      kind: reason.kind,
      entry: reason.kind === 'policy' ? reason.entry : null,
      community: reason.kind === 'community' ? row.leaves : null,
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

const argumentAnswer = z.object({
  name: z.string(),
  equals: z.string().nullable().describe('The exact value, as JSON.'),
  begins_with: z.string().nullable(),
})

const presentArgument = (rule: ArgumentRule): z.input<typeof argumentAnswer> => ({
  name: rule.name,
  equals: rule.kind === 'exact' ? JSON.stringify(rule.value) : null,
  begins_with: rule.kind === 'prefix' ? rule.prefix : null,
})

/** The names alone, for whoever may not see the values. */
const presentName = ({ name }: ArgumentRule): z.input<typeof argumentAnswer> => ({
  name,
  equals: null,
  begins_with: null,
})

/** What a rule covers. */
export const ruleScopeAnswer = z.object({
  arguments: z.array(argumentAnswer).describe('There must be no further argument.'),
  is_anywhere: z.boolean().describe('In any community, and outside of communities.'),
  community: placeAnswer.nullable().describe('Null: outside of communities, unless anywhere.'),
  requester: personAnswer.nullable().describe('Null: whoever requests.'),
  ends_at: timeAnswer,
})

export const presentScope = presenterOf(ruleScopeAnswer).from<ComposedRule>({
  arguments: (rule) => rule.arguments.map(presentArgument),
})

export const ruleAnswer = ruleScopeAnswer
  .extend({
    id: z.string(),
    agent: personAnswer,
    tool: z.string(),
    grant: z.string(),
    tier: z.enum(['read', 'write', 'destructive']),
    is_redacted: z
      .boolean()
      .describe('The values are left out: its call was of a run that you have not opened.'),
    created_by: personAnswer,
    created_at: timeAnswer,
    state: z
      .enum(['active', 'expired', 'revoked', 'creator', 'tool_changed'])
      .describe(
        'creator: whoever created it can no longer approve. tool_changed: the definition of the tool is another one.',
      ),
    uses: countAnswer.describe('Calls of runs count when the run ends.'),
    last_used_at: timeAnswer.nullable(),
  })
  .meta({ id: 'StandingRule' })

const presentRow = presenterOf(ruleAnswer).from<
  RuleStates[number]['row'] & Pick<RuleStates[number], 'state'>
>({
  arguments: (row) => row.arguments.map(row.isHidden ? presentName : presentArgument),
  is_redacted: (row) => row.isHidden,
})

export const presentRule = ({ row, state }: RuleStates[number]): z.input<typeof ruleAnswer> =>
  presentRow({ ...row, state })
