import type { ActionContext } from '../action-context'
import type { Db } from '../db'
import {
  type ActivityTotals,
  type AgentActivity,
  type DueSummary,
  type SpendingAgent,
  selectDueSummaries,
  selectSpendingAgents,
  summaryStatements,
} from './day-queries'
import { formatBudgetAlert } from './format-budget-alert'
import { formatSummary } from './format-summary'
import { formatUnusualUse } from './format-unusual-use'
import { type ChangedBudget, selectChangedBudgets, updateReportedLevels } from './level-queries'
import { postReportStatements, type Report } from './report-queries'

type Context = Pick<ActionContext, 'db' | 'clock'>

/** Selects what a sweep has to report: due summaries, unusual use, changed budgets. */
export const reportStatements = (db: Db, now: number): D1PreparedStatement[] => [
  selectDueSummaries(db, now),
  selectSpendingAgents(db, now),
  selectChangedBudgets(db, now),
]

/**
 * Posts reports from the results of `findReports`. Each report is posted once, also with concurrent
 * sweeps and after a crash. Makes no round trip when there is nothing to report.
 */
export async function publishReports(
  context: Context,
  found: D1Result<unknown>[],
  now: number,
): Promise<void> {
  const summaries = (found[0]?.results ?? []) as DueSummary[]
  const agents = (found[1]?.results ?? []) as SpendingAgent[]
  const drafts = [
    ...(await readSummaries(context.db, summaries)),
    ...agents.flatMap((agent) => formatUnusualUse(agent) ?? []),
  ]
  await postReports(context, drafts, (found[2]?.results ?? []) as ChangedBudget[], now)
}

/** Posts budget alerts right after a commit. After a crash the next sweep posts them. */
export async function publishBudgetAlerts(context: Context): Promise<void> {
  const now = context.clock.now()
  const { results } = await selectChangedBudgets(context.db, now).all<ChangedBudget>()
  await postReports(context, [], results, now)
}

async function postReports(
  { db, clock }: Context,
  drafts: Omit<Report, 'postId'>[],
  budgets: ChangedBudget[],
  now: number,
): Promise<void> {
  const all = [...drafts, ...budgets.flatMap((budget) => formatBudgetAlert(budget) ?? [])]
  const reports = all.map((draft) => ({ ...draft, postId: clock.newId() }))
  const statements = [
    ...postReportStatements(db, reports, now),
    ...(budgets.length > 0 ? [updateReportedLevels(db, budgets)] : []),
  ]
  if (statements.length > 0) await db.d1.batch(statements)
}

async function readSummaries(db: Db, due: DueSummary[]): Promise<Omit<Report, 'postId'>[]> {
  if (due.length === 0) return []
  const results = await db.d1.batch(due.flatMap((each) => summaryStatements(db, each)))
  return due.flatMap((each, at) => {
    const all = results[2 * at]?.results[0] as (ActivityTotals & { agents: number }) | undefined
    const agents = (results[2 * at + 1]?.results ?? []) as AgentActivity[]
    return all ? [formatSummary(each, all, agents)] : []
  })
}
