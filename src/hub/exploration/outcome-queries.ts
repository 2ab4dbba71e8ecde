/** Columns of a committed activation `x` that are reported to the scheduler. */
export const explorationOutcomeSql = `
  EXISTS (SELECT 1 FROM explorers e WHERE e.account_id = x.agent_id AND e.weight > 0) AS isExplorer,
  x.task = 'exploration' AND NOT EXISTS (SELECT 1 FROM contributions n WHERE n.activation_id = x.id) AS hasPassed`

export interface ExplorationOutcomeRow {
  isExplorer: number
  hasPassed: number
}
