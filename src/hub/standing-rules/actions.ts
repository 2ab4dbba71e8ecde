import { batch } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import { recordIfChanged } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { actorReader } from '../viewers/reader'
import { ruleErrors } from './errors'
import { revokeRule, selectRule } from './queries'
import { type RuleStates, readRuleStates } from './read-rules'

/**
 * Revokes a standing rule: from the next call on it covers nothing. Revoking a rule that has ended is
 * harmless.
 *
 * @throws NOT_FOUND
 */
export async function endRule(
  context: ActionContext,
  { accountId }: Pick<Actor, 'accountId'>,
  id: string,
): Promise<RuleStates[number]> {
  const { row } = await batch(context.db, {
    isRevoked: revokeRule(id),
    entry: recordIfChanged(context, accountId, {
      action: 'standing_rule.revoke',
      targetType: 'standing_rule',
      targetId: id,
    }),
    row: selectRule({
      id,
      now: context.clock.now(),
      reader: actorReader({ accountId, activationId: null }),
    }),
  })
  const [found] = await readRuleStates(context, row ? [row] : [])
  if (!found) throw ruleErrors.notFound()
  return found
}
