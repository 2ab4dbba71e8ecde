import type { ActionContext } from '../action-context'
import type { Db } from '../db'
import {
  type AgentWork,
  type DueSummary,
  type SpendingAgent,
  selectDueSummaries,
  selectSpendingAgents,
  summaryStatements,
  type WorkSums,
} from './day-queries'
import { type ChangedBudget, rememberLevels, selectChangedBudgets } from './level-queries'
import { type Report, sayStatements } from './say-queries'
import { writeBudget } from './write-budget'
import { writeSummary } from './write-summary'
import { writeUnusual } from './write-unusual'

type Context = Pick<ActionContext, 'db' | 'clock'>

/** What a sweep asks to find out whether there is something to say; no more on an idle day (S10). */
export const findReports = (db: Db, now: number): D1PreparedStatement[] => [
  selectDueSummaries(db, now),
  selectSpendingAgents(db, now),
  selectChangedBudgets(db, now),
]

/**
 * Says what `findReports` found, each thing once, whoever else sweeps and wherever the last one died.
 * No round trip when there is nothing to say.
 */
export async function sayReports(
  context: Context,
  found: D1Result<unknown>[],
  now: number,
): Promise<void> {
  const summaries = (found[0]?.results ?? []) as DueSummary[]
  const agents = (found[1]?.results ?? []) as SpendingAgent[]
  const texts = [
    ...(await writeSummaries(context.db, summaries)),
    ...agents.flatMap((agent) => writeUnusual(agent) ?? []),
  ]
  await say(context, texts, (found[2]?.results ?? []) as ChangedBudget[], now)
}

/** Says at once what a commit did to the budgets; what dies on the way, the next sweep says. */
export async function sayBudgets(context: Context): Promise<void> {
  const now = context.clock.now()
  const { results } = await selectChangedBudgets(context.db, now).all<ChangedBudget>()
  await say(context, [], results, now)
}

async function say(
  { db, clock }: Context,
  texts: Omit<Report, 'postId'>[],
  budgets: ChangedBudget[],
  now: number,
): Promise<void> {
  const all = [...texts, ...budgets.flatMap((budget) => writeBudget(budget) ?? [])]
  const reports = all.map((text) => ({ ...text, postId: clock.newId() }))
  const statements = [
    ...sayStatements(db, reports, now),
    ...(budgets.length > 0 ? [rememberLevels(db, budgets)] : []),
  ]
  if (statements.length > 0) await db.d1.batch(statements)
}

async function writeSummaries(db: Db, due: DueSummary[]): Promise<Omit<Report, 'postId'>[]> {
  if (due.length === 0) return []
  const results = await db.d1.batch(due.flatMap((each) => summaryStatements(db, each)))
  return due.flatMap((each, at) => {
    const all = results[2 * at]?.results[0] as (WorkSums & { agents: number }) | undefined
    const agents = (results[2 * at + 1]?.results ?? []) as AgentWork[]
    return all ? [writeSummary(each, all, agents)] : []
  })
}
