import type { Hono } from 'hono'
import type { ActivationRow } from '../activations/page-queries'
import type { HubEnv } from '../http/hub-env'
import { page, readPage, rowsOf, sendPage } from '../web/answer-page'
import { BudgetsPage } from './budgets-page'
import {
  budgetStatements,
  type PageBudget,
  selectUsageLines,
  type UsageLine,
  type UsageRow,
} from './page-queries'
import { writeUsageCsv } from './usage-csv'

/** `GET /budgets` and `GET /budgets.csv`. */
export function registerBudgetPages(app: Hono<HubEnv>): void {
  app.get(
    '/budgets',
    page(async (c) => {
      const { db, clock } = c.var.context
      const read = await readPage(c, budgetStatements(db, clock.now()))
      return sendPage(
        c,
        <BudgetsPage
          frame={read.frame}
          budgets={rowsOf<PageBudget>(read, 0)}
          byAgent={rowsOf<UsageRow>(read, 1)}
          byModel={rowsOf<UsageRow>(read, 2)}
          activations={rowsOf<ActivationRow>(read, 3)}
        />,
      )
    }),
  )
  app.get(
    '/budgets.csv',
    page(async (c) => {
      const { db, clock } = c.var.context
      const read = await readPage(c, [selectUsageLines(db, clock.now())])
      return c.body(writeUsageCsv(rowsOf<UsageLine>(read, 0)), 200, {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': 'attachment; filename="rookery-usage.csv"',
        'cache-control': 'private, no-cache',
        'x-content-type-options': 'nosniff',
      })
    }),
  )
}
