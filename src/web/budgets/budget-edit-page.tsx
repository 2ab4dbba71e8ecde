import type { FC } from 'hono/jsx'
import { formatBudgetOwner, periodLabels } from '../../hub/budgets/budget-labels'
import type { PageBudget } from '../../hub/budgets/page-queries'
import { formatBudgetMoney, formatCount } from '../../shared/format'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { BudgetForm, type ScopeSuggestion } from './budget-form'
import {
  BudgetName,
  formatBudgetConsequence,
  formatBudgetPeriod,
  formatBudgetUsage,
} from './budget-list'
import { budgetPath, deleteBudgetPath, newBudgetPath } from './budget-paths'
import type { BudgetFormState } from './form-values'

interface NewBudgetPageProps {
  frame: Frame
  form: BudgetFormState
  names: ScopeSuggestion[]
  /** The existing budget with the same scope and period. */
  duplicate: PageBudget | null
}

export const NewBudgetPage: FC<NewBudgetPageProps> = ({ frame, form, names, duplicate }) => (
  <Layout frame={frame} title="New budget" place="budgets" sheet="admin">
    <h1>New budget</h1>
    <p class="lede">
      A budget limits what the model calls of its scope can cost. Where several budgets apply, the
      tightest limit counts. Spending since the start of the current period is included.
    </p>
    <div class="up4">
      <ErrorSummary problem={form.problem} />
      {duplicate && (
        <p>
          <a class="ul" href={budgetPath(duplicate.id)}>
            Edit the {periodLabels[duplicate.period]} budget of {formatBudgetOwner(duplicate)}
          </a>
        </p>
      )}
    </div>
    <BudgetForm form={form} names={names} action={newBudgetPath} />
  </Layout>
)

interface EditBudgetPageProps {
  frame: Frame
  budget: PageBudget
  form: BudgetFormState
}

export const EditBudgetPage: FC<EditBudgetPageProps> = ({ frame, budget, form }) => (
  <Layout
    frame={frame}
    title={`Budget of ${formatBudgetOwner(budget)}`}
    place="budgets"
    sheet="admin"
  >
    <h1>Edit budget</h1>
    <BudgetTitle budget={budget} />
    <p class="lede">
      {formatBudgetUsage(budget)}. {formatBudgetConsequence(budget)}
    </p>
    {budget.madeBy === 'definition' && (
      <p class="lede">
        The definition of {formatBudgetOwner(budget)} sets the limit in dollars. A limit that you
        set here applies until the next version of the definition.
      </p>
    )}
    <div class="up4">
      <ErrorSummary problem={form.problem} />
    </div>
    <BudgetForm form={form} names={null} action={budgetPath(budget.id)} />
    <p class="meta up6">
      Scope and period can’t be changed. To use others,{' '}
      <a href={newBudgetPath}>create a new budget</a> and{' '}
      <a href={deleteBudgetPath(budget.id)}>delete this budget</a>.
    </p>
  </Layout>
)

const BudgetTitle: FC<{ budget: PageBudget }> = ({ budget }) => (
  <p class="by up2">
    <BudgetName budget={budget} /> <span class="meta">{formatBudgetPeriod(budget)}</span>
  </p>
)

interface RemoveBudgetPageProps {
  frame: Frame
  budget: PageBudget
  /** All budgets, including this one. */
  budgets: PageBudget[]
  problem: FormProblem | null
}

/** Asks for confirmation before a budget is deleted, or says why it can't be deleted. */
export const DeleteBudgetPage: FC<RemoveBudgetPageProps> = (props) => {
  const { frame, budget, budgets, problem } = props
  const others = budgets.filter(
    ({ id, scope, scopeId }) =>
      id !== budget.id && scope === budget.scope && scopeId === budget.scopeId,
  )
  const isLast = budget.scope === 'hub' && others.length === 0
  const isDefined = budget.madeBy === 'definition' && budget.limitMicrousd !== null
  return (
    <Layout
      frame={frame}
      title={`Delete the budget of ${formatBudgetOwner(budget)}`}
      place="budgets"
      sheet="admin"
    >
      <h1>
        {isLast
          ? 'The hub’s last budget can’t be deleted'
          : isDefined
            ? 'A limit set by a definition can’t be deleted'
            : 'Delete this budget?'}
      </h1>
      <BudgetTitle budget={budget} />
      <div class="up4">
        <ErrorSummary problem={problem} />
      </div>
      {isLast || isDefined ? (
        <DeletionRefusal budget={budget} />
      ) : (
        <DeleteForm budget={budget} others={others} />
      )}
    </Layout>
  )
}

const DeletionRefusal: FC<{ budget: PageBudget }> = ({ budget }) => (
  <>
    <p class="lede">
      {budget.madeBy === 'definition'
        ? `The definition of ${formatBudgetOwner(budget)} sets this limit. Remove brain.max_cost_per_day from the definition, or change it there.`
        : 'Without a budget no agent can spend. Remove the limits of this budget instead.'}
    </p>
    <p class="acts up4">
      <a class="btn" href={budgetPath(budget.id)}>
        Edit budget
      </a>
      <a class="ul" href="/budgets">
        Back to budgets
      </a>
    </p>
  </>
)

const DeleteForm: FC<{ budget: PageBudget; others: PageBudget[] }> = ({ budget, others }) => (
  <form class="form wide" method="post" action={deleteBudgetPath(budget.id)}>
    <ul class="lede">
      <li>{formatRemovedLimits(budget)} Recorded usage and charts stay.</li>
      <li>{formatOtherBudgets(budget, others)}</li>
      {budget.madeBy === 'definition' && (
        <li>
          The definition of {formatBudgetOwner(budget)} created this budget. The next version that
          sets brain.max_cost_per_day creates it again.
        </li>
      )}
    </ul>
    <div class="acts up2">
      <button type="submit" class="btn">
        Delete budget
      </button>
      <a class="ul" href="/budgets">
        Cancel
      </a>
    </div>
  </form>
)

function formatRemovedLimits({ limitMicrousd, limitTokens }: PageBudget): string {
  const limits = [
    ...(limitMicrousd === null ? [] : [formatBudgetMoney(limitMicrousd, limitMicrousd)]),
    ...(limitTokens === null ? [] : [`${formatCount(limitTokens)} tokens`]),
  ]
  if (limits.length === 0) return 'This budget has no limit.'
  return `The limit of ${limits.join(' and ')} no longer applies.`
}

function formatOtherBudgets(budget: PageBudget, others: PageBudget[]): string {
  if (others.length === 0) {
    return `${formatBudgetOwner(budget)} has no other budget. Budgets of other scopes still apply.`
  }
  const periods = [...new Set(others.map(({ period }) => periodLabels[period]))]
  return `${formatBudgetOwner(budget)} still has ${others.length === 1 ? 'another budget' : 'other budgets'}: ${periods.join(', ')}.`
}
