import type { FC } from 'hono/jsx'
import { AppError } from '../../errors'
import type { FormProblem } from '../web/frame'
import { Problem } from '../web/problem'
import { limitMax } from './inputs'
import type { PageBudget } from './page-queries'

/** What was typed into the form of a budget, and why it could not be taken. */
export interface TypedLimit {
  budgetId: string
  text: string
  problem: FormProblem
}

const MICROUSD = 1_000_000
/** To the micro-dollar; no commas, which are decimals in one country and thousands in another. */
const dollarsForm = /^\$?(\d{1,10})(?:\.(\d{1,6}))?$/

/**
 * A limit as it is typed, in whole micro-dollars; null for an empty field, which means no limit.
 *
 * @throws VALIDATION
 */
export function readLimit(text: string): number | null {
  const typed = text.trim()
  if (typed === '') return null
  const [, dollars, rest = ''] = dollarsForm.exec(typed) ?? []
  const microusd = Number(dollars) * MICROUSD + Number(rest.padEnd(6, '0'))
  if (dollars === undefined || microusd > limitMax) {
    throw new AppError('VALIDATION', 'That limit is not an amount of dollars.', {
      hint: 'Write a number such as 25 or 12.50; leave it empty for no limit.',
    })
  }
  return microusd
}

/** `58.00`, `0.0005`: as `readLimit` reads it back. */
export const writeLimit = (microusd: number | null): string =>
  microusd === null ? '' : (microusd / MICROUSD).toFixed(6).replace(/0{1,4}$/, '')

const limitPath = (budgetId: string): string => `/budgets/${encodeURIComponent(budgetId)}`

/** Where an admin sets what a budget may cost. It opens by itself with a problem in it. */
export const LimitForm: FC<{
  budget: PageBudget
  name: string
  typed: TypedLimit | null
}> = ({ budget, name, typed }) => {
  const field = `limit-${budget.id}`
  return (
    <details class="limit up" {...(typed ? { open: true } : {})}>
      <summary>
        Change the limit
        <span class="vh">
          {' '}
          of {name} a {budget.period}
        </span>
      </summary>
      <Problem problem={typed?.problem ?? null} />
      <form class="form up2" method="post" action={limitPath(budget.id)}>
        <label for={field}>Dollars a {budget.period}</label>
        <div class="acts">
          <input
            id={field}
            name="limit_dollars"
            inputmode="decimal"
            autocomplete="off"
            maxlength={20}
            placeholder="no limit"
            value={typed?.text ?? writeLimit(budget.limitMicrousd)}
            aria-describedby={`${field}-note`}
            {...(typed ? { 'aria-invalid': 'true', autofocus: true } : {})}
          />
          <button type="submit" class="btn">
            Set
          </button>
        </div>
        <p class="meta" id={`${field}-note`}>
          Empty means no limit in dollars.
        </p>
      </form>
    </details>
  )
}
