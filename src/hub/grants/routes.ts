import * as z from 'zod'
import { knownFields } from '../../shared/known-fields'
import type { ToolAccess } from '../contract/hub'
import { presenterOf, warningsAnswer } from '../http/answers'
import { type Call, type Route, routesOf } from '../http/route'
import { personAnswer } from '../rules/people'
import { type PolicyUpdate, readPolicies, setPolicy } from './actions'
import { policyAnswer, policyBody, presentPolicy, toPolicy } from './policy'
import { findNotGranted, type PolicyChange } from './preview'
import { type AccountPolicyRow, selectVisiblePolicies, toEffectivePolicy } from './queries'

const route = routesOf('tools')

const verdictAnswer = z
  .object({
    name: z.string(),
    server: z.string(),
    description: z.string(),
    tier: z.string().describe('read, write or destructive; several when calls differ.'),
    grant: z.string().describe('Required grant, or the pattern that all its grants match.'),
    is_allowed: z.boolean(),
    reason: z.string().nullable().describe('Why the tool is not allowed.'),
    grants: z.array(z.string()).describe('The granted part of the grant.'),
    needs_approval: z
      .enum(['never', 'some', 'always'])
      .describe('some: depends on the arguments of a call.'),
  })
  .meta({ id: 'ToolAccess' })

const presentVerdict = ({
  tool,
  isAllowed,
  reason,
  grants,
  approval,
}: ToolAccess): z.input<typeof verdictAnswer> => ({
  name: tool.name,
  server: tool.server,
  description: tool.description,
  tier: tool.tier,
  grant: tool.grant,
  is_allowed: isAllowed,
  reason,
  grants,
  needs_approval: approval,
})

const rowAnswer = z.object({
  grants: z.object({
    requested: z
      .array(z.string())
      .nullable()
      .describe('By its definition; null for people and external agents: all grants.'),
    allowed: z
      .array(z.string())
      .describe(
        'Lines such as `hub:read for guests`; a line holds for members unless it says for whom.',
      ),
    denied: z.array(z.string()),
  }),
  require_approval: policyAnswer.shape.require_approval,
  rate_limits: policyAnswer.shape.rate_limits,
  own: policyAnswer.nullable().describe('Null: the default policy applies.'),
  dropped: z.array(z.string()).describe('Requested but not granted.'),
})

const changeAnswer = z.object({
  account: personAnswer.nullable().describe('Null: all accounts without their own policy.'),
  requested_by: z
    .enum(['member', 'guest', 'moderator'])
    .describe('Who requests: an account can have a change for each.'),
  community: z
    .string()
    .nullable()
    .describe('The community that the moderators moderate; null for others.'),
  gains: z.array(z.string()).describe('Tools that become usable.'),
  loses: z.array(z.string()),
  asks: z.array(z.string()).describe('Tools that require approval for more calls than before.'),
  asks_no_more: z
    .array(z.string())
    .describe('Tools that require approval for fewer calls than before.'),
})

const policyUpdateAnswer = rowAnswer.extend({
  warnings: warningsAnswer,
  changes: z.array(changeAnswer),
})

/** Presents the policy that applies to an account, and the account's own part of it. */
function presentRow(
  { context: { tools } }: Call<unknown, unknown>,
  row: AccountPolicyRow,
): z.input<typeof rowAnswer> {
  const policy = toEffectivePolicy(row)
  const { requested, denied, requireApproval, rateLimits } = policy
  const { own } = row
  return {
    grants: { requested, allowed: (own ?? row.default)?.allowed ?? [], denied },
    require_approval: requireApproval,
    rate_limits: rateLimits,
    own: own && presentPolicy(own),
    dropped: findNotGranted(policy, tools),
  }
}

const presentChange = presenterOf(changeAnswer).from<PolicyChange>({
  asks: ({ moreApproval }) => moreApproval,
  asks_no_more: ({ lessApproval }) => lessApproval,
})

const presentSet = ({ warnings, changes }: PolicyUpdate) => ({
  warnings,
  changes: changes.map(presentChange),
})

const dryRun = knownFields({
  dry_run: z
    .enum(['true', 'false'])
    .default('false')
    .describe('true returns the changes without saving them'),
})

async function writePolicy(
  call: Call<z.output<typeof dryRun>, unknown>,
  policy: ReturnType<typeof toPolicy> | null,
): Promise<z.input<typeof policyUpdateAnswer>> {
  const name = call.param('name')
  const isDryRun = call.query.dry_run === 'true'
  const done = await setPolicy(call.context, { name, policy, by: call.viewer(), isDryRun })
  const { target } = await readPolicies(call.context, name)
  return { ...presentRow(call, target), ...presentSet(done) }
}

export const grantRoutes: Route[] = [
  route({
    method: 'get',
    path: '/agents/:name/grants',
    summary:
      'Returns the requested, allowed and denied grants of an account, its own policy, and its grants that are requested but not granted (admin)',
    access: 'admin',
    answer: rowAnswer,
    handle: async (call) => {
      const { target } = await readPolicies(call.context, call.param('name'))
      return presentRow(call, target)
    },
  }),
  route({
    method: 'put',
    path: '/agents/:name/grants',
    summary:
      "Sets an account's own policy, or the default policy (*), from the next tool call on. Returns the gained and lost tools (admin)",
    access: 'admin',
    query: dryRun,
    body: policyBody,
    answer: policyUpdateAnswer,
    handle: (call) => writePolicy(call, toPolicy(call.body)),
  }),
  route({
    method: 'delete',
    path: '/agents/:name/grants',
    summary: "Deletes an account's own policy, so that the default policy applies (admin)",
    access: 'admin',
    query: dryRun,
    answer: policyUpdateAnswer,
    handle: (call) => writePolicy(call, null),
  }),
  route({
    method: 'get',
    path: '/tools',
    summary: 'Lists tools with their grants and tiers, and whether you can use them',
    access: 'own',
    answer: z.object({ tools: z.array(verdictAnswer) }),
    handle: async ({ context: { clock, tools }, credential, read }) => {
      const policies = selectVisiblePolicies({ credential, now: clock.now() })
      const { viewer, answers } = await read({ policies })
      const rows = answers.policies
      const row = rows.find(({ id }) => id === viewer?.id) ?? rows.find(({ id }) => id === '*')
      if (row) await tools.refresh(toEffectivePolicy(row))
      return { tools: row ? tools.evaluatePolicy(toEffectivePolicy(row)).map(presentVerdict) : [] }
    },
  }),
]
