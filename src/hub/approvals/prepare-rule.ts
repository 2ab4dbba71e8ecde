import { standingRules } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import type { ActionContext } from '../action-context'
import { recordIfChanged } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { type ComposedRule, composeRule } from '../standing-rules/compose-rule'
import { ruleErrors } from '../standing-rules/errors'
import type { RuleInput } from '../standing-rules/inputs'
import {
  guardRuleCount,
  insertRule,
  type RuleScope,
  selectRuleScope,
} from '../standing-rules/queries'
import { actorReader } from '../viewers/reader'
import { approvalErrors } from './errors'
import { type ApprovalRow, selectApproval } from './queries'
import { toRefusal } from './to-refusal'
import type { ApprovalUpdate } from './write-queries'

/** The rule that an approval would create, for the definition of its tool as it is now. */
export interface PreparedRule extends ComposedRule {
  agentName: string
  tool: string
  grant: string
  toolHash: string
}

/**
 * Returns the rule that approving a pending call would create. Writes nothing.
 *
 * @throws NOT_FOUND; CONFLICT for a call that is not pending; VALIDATION and FORBIDDEN for a rule that
 *   cannot be created
 */
export async function prepareRule(
  context: ActionContext,
  { accountId, kind }: Pick<Actor, 'accountId' | 'kind'>,
  id: string,
  input: RuleInput,
): Promise<PreparedRule> {
  if (kind !== 'human') throw ruleErrors.personOnly()
  const { row, scope } = await batch(context.db, {
    row: selectApproval(id, actorReader({ accountId, activationId: null })),
    scope: selectRuleScope({ approvalId: id }),
  })
  if (!row || !scope) throw approvalErrors.notFound()
  return previewRule(context, row, scope, input)
}

/** The same for an approval that has been read already. */
export async function previewRule(
  { clock, settings, tools }: Pick<ActionContext, 'clock' | 'settings' | 'tools'>,
  row: ApprovalRow,
  scope: RuleScope,
  input: RuleInput,
): Promise<PreparedRule> {
  const now = clock.now()
  if (row.status !== 'pending' || row.expiresAt <= now) throw toRefusal(row, { scope: 'once', now })
  if (scope.rulesOfAgent >= standingRules.perAgentMax) throw ruleErrors.tooMany(scope.agentName)
  const { agentName, toolsVersion } = scope
  await tools.refresh(toolsVersion === null ? {} : { toolsVersion })
  const toolHash = await tools.hashTool(row.tool)
  if (toolHash === null) throw ruleErrors.unknownTool(row.tool)
  const composed = composeRule(row.arguments, scope, input, { now, keys: settings })
  return { ...composed, agentName, tool: row.tool, grant: row.grant, toolHash }
}

/** Returns the writes of a rule. They follow the decision in its batch. */
export function ruleStatements(
  context: ActionContext,
  { id: approvalId, by, now }: ApprovalUpdate,
  rule: PreparedRule,
): Statement<void>[] {
  const id = context.clock.newId<string>()
  const { community, isAnywhere, requester, endsAt, toolHash, agentName, tool, grant } = rule
  return [
    guardRuleCount(approvalId),
    insertRule(
      {
        id,
        arguments: rule.arguments,
        toolHash,
        communityId: community?.communityId ?? null,
        isAnywhere,
        requesterId: requester?.id ?? null,
        createdBy: by,
        createdAt: now,
        endsAt,
      },
      approvalId,
    ),
    recordIfChanged(context, by, {
      action: 'standing_rule.create',
      targetType: 'standing_rule',
      targetId: id,
      after: {
        agent: agentName,
        tool,
        grant,
        // What the arguments say can be the text of a user.
        arguments: rule.arguments.map(({ name, kind }) => `${name}: ${kind}`),
        community: community?.communityName ?? null,
        requester: requester?.name ?? null,
        ends_at: new Date(endsAt).toISOString(),
      },
    }),
  ]
}
