import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import { insertAuditEntry } from '../audit/queries'
import type { Actor, AuditEntry } from '../contract/hub'
import { type IdempotentResult, runActionOnce } from '../idempotency/run-once'
import { sha256 } from '../sha256'
import { repairWindows, selectDifferences, type WindowDifference } from './audit-queries'

/** Returns the windows whose counters differ from the usage events, at most `differencesMax`. */
export const auditBudgets = ({ db }: ActionContext): Promise<WindowDifference[]> =>
  run(db, selectDifferences({}))

/**
 * Corrects the counters from the usage events and returns the corrected windows. The audit entry
 * holds the previous counters. Changes nothing when all counters agree.
 */
export function repairBudgets(
  context: ActionContext,
  actor: Actor,
): Promise<IdempotentResult<WindowDifference[]>> {
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'budgets.repair', input: null }
  return runActionOnce(context.db, once, context.clock.now(), () => repair(context, accountId))
}

async function repair(context: ActionContext, accountId: AccountId): Promise<WindowDifference[]> {
  const { db, clock } = context
  const differences = await auditBudgets(context)
  const recorded = recordAdminAction(context, accountId, {
    action: 'budget.repair',
    targetType: 'hub',
    targetId: 'budgets',
    after: { repaired: differences.length },
  })
  if (differences.length === 0) {
    await run(db, recorded)
    return []
  }
  const id = clock.newId()
  const text = JSON.stringify({ before: differences })
  const now = clock.now()
  const entry: AuditEntry = {
    callId: id,
    tool: 'budget_repair',
    grant: 'hub:admin',
    arguments: text,
    at: now,
    argumentsHash: await sha256(text),
    decision: 'allowed',
    outcome: 'ok',
    durationMs: null,
    resultBytes: null,
  }
  await batch(db, {
    entry: insertAuditEntry(id, accountId, entry, null),
    recorded,
    repair: repairWindows(),
  })
  return differences
}
