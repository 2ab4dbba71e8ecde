import type { ActionContext } from '../action-context'
import type { RuleRow } from './queries'

/** Whether a rule holds, or why not. */
export type RuleState = 'active' | 'expired' | 'revoked' | 'creator' | 'tool_changed'

/** Rules with their states, in the order of the rows. */
export type RuleStates = { row: RuleRow; state: RuleState }[]

/** Returns the state of each rule, with the tools as they are now. */
export async function readRuleStates(
  { clock, tools }: Pick<ActionContext, 'clock' | 'tools'>,
  rows: RuleRow[],
): Promise<RuleStates> {
  const now = clock.now()
  const [first] = rows
  if (first)
    await tools.refresh(first.toolsVersion === null ? {} : { toolsVersion: first.toolsVersion })
  return Promise.all(
    rows.map(async (row) => ({
      row,
      state: findState(row, await tools.hashTool(row.tool), now),
    })),
  )
}

function findState(row: RuleRow, toolHash: string | null, now: number): RuleState {
  if (row.ended !== null) return row.ended
  if (row.endsAt <= now) return 'expired'
  if (row.canStillApprove !== 1) return 'creator'
  return row.toolHash === toolHash ? 'active' : 'tool_changed'
}
