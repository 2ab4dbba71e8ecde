import { type Answers, batch } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { ActionContext } from '../action-context'
import {
  type DueSummary,
  selectActivity,
  selectDueSummaries,
  selectSpendingAgents,
} from './day-queries'
import { formatAccountAlert, formatBudgetAlert } from './format-budget-alert'
import { formatSummary } from './format-summary'
import { formatUnusualUse } from './format-unusual-use'
import {
  markReported,
  selectChangedBudgets,
  selectUsedUpAccounts,
  updateReportedLevels,
} from './level-queries'
import { postReportStatements, type Report } from './report-queries'

type Context = Pick<ActionContext, 'db' | 'clock'>

/** Selects the budgets to report, and the accounts that used up the budget of their role. */
const alertStatements = (now: number) => ({
  changedBudgets: selectChangedBudgets(now),
  usedUpAccounts: selectUsedUpAccounts({}),
})

/** Selects what a sweep has to report. */
export const reportStatements = (now: number) => ({
  dueSummaries: selectDueSummaries(now),
  spendingAgents: selectSpendingAgents(now),
  ...alertStatements(now),
})

/**
 * Posts reports from the answers of `reportStatements`. Each report is posted once, also with concurrent
 * sweeps and after a crash. Makes no round trip when there is nothing to report.
 */
export async function publishReports(
  context: Context,
  found: Answers<ReturnType<typeof reportStatements>>,
  now: number,
): Promise<void> {
  const drafts = [
    ...(await readSummaries(context.db, found.dueSummaries)),
    ...found.spendingAgents.flatMap((agent) => formatUnusualUse(agent) ?? []),
  ]
  await postReports(context, drafts, found, now)
}

/** Posts budget alerts right after a commit. After a crash the next sweep posts them. */
export async function publishBudgetAlerts(context: Context): Promise<void> {
  const now = context.clock.now()
  await postReports(context, [], await batch(context.db, alertStatements(now)), now)
}

async function postReports(
  { db, clock }: Context,
  drafts: Omit<Report, 'postId'>[],
  { changedBudgets, usedUpAccounts }: Answers<ReturnType<typeof alertStatements>>,
  now: number,
): Promise<void> {
  const all = [
    ...drafts,
    ...changedBudgets.flatMap((budget) => formatBudgetAlert(budget) ?? []),
    ...usedUpAccounts.map(formatAccountAlert),
  ]
  const reports = all.map((draft) => ({ ...draft, postId: clock.newId() }))
  await batch(db, {
    posts: postReportStatements(reports, now),
    levels: changedBudgets.length > 0 ? updateReportedLevels(changedBudgets) : null,
    accounts: usedUpAccounts.length > 0 ? markReported(usedUpAccounts) : null,
  })
}

async function readSummaries(db: Db, due: DueSummary[]): Promise<Omit<Report, 'postId'>[]> {
  const selected = due.map(selectActivity)
  const { all, agents } = await batch(db, {
    all: selected.map((each) => each.all),
    agents: selected.map((each) => each.agents),
  })
  return due.flatMap((each, at) => {
    const totals = all[at]
    return totals ? [formatSummary(each, totals, agents[at] ?? [])] : []
  })
}
