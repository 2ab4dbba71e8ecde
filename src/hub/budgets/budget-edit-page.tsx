import type { FC } from 'hono/jsx'
import { formatCount, formatMoney } from '../web/format'
import type { FormProblem, Frame } from '../web/frame'
import { Layout } from '../web/layout'
import { Problem } from '../web/problem'
import { BudgetForm, type ScopeName } from './budget-form'
import { BudgetName, nameBudget, sayConsequence, sayPeriods, sayUse } from './budget-list'
import { budgetPath, newBudgetPath, removalPath } from './budget-paths'
import type { PageBudget } from './page-queries'
import type { FieldProblems, TypedBudget } from './typed-budget'

/** What was typed, and why it could not be taken. */
export interface BudgetTry {
  typed: TypedBudget
  problems: FieldProblems
  /** What is wrong with no single field. */
  problem: FormProblem | null
}

/** Above the form, for who does not see the fields. */
const Failure: FC<{ attempt: BudgetTry }> = ({ attempt: { problems, problem } }) => {
  const count = Object.keys(problems).length
  const hint = `What is wrong is said at the ${count === 1 ? 'field' : 'fields'} below.`
  return (
    <Problem problem={problem ?? (count > 0 ? { message: 'Nothing is saved yet.', hint } : null)} />
  )
}

interface NewBudgetPageProps {
  frame: Frame
  attempt: BudgetTry
  names: ScopeName[]
  /** The budget that stands where the typed one would. */
  twin: PageBudget | null
}

export const NewBudgetPage: FC<NewBudgetPageProps> = ({ frame, attempt, names, twin }) => (
  <Layout frame={frame} title="A new budget" place="budgets" sheet="admin">
    <h1>A new budget</h1>
    <p class="lede">
      It pays for the model calls of its scope and holds beside those there are: the tighter one
      bites. It counts from the beginning of its period, what is already spent included.
    </p>
    <div class="up4">
      <Failure attempt={attempt} />
      {twin && (
        <p>
          <a class="ul" href={budgetPath(twin.id)}>
            Change the budget of {nameBudget(twin)} a {twin.period}
          </a>
        </p>
      )}
    </div>
    <BudgetForm
      typed={attempt.typed}
      problems={attempt.problems}
      names={names}
      action={newBudgetPath}
    />
  </Layout>
)

interface EditBudgetPageProps {
  frame: Frame
  budget: PageBudget
  attempt: BudgetTry
}

export const EditBudgetPage: FC<EditBudgetPageProps> = ({ frame, budget, attempt }) => (
  <Layout frame={frame} title={`Budget of ${nameBudget(budget)}`} place="budgets" sheet="admin">
    <h1>Change a budget</h1>
    <Whose budget={budget} />
    <p class="lede">
      {sayUse(budget)}. {sayConsequence(budget)}
    </p>
    {budget.madeBy === 'definition' && (
      <p class="lede">
        The definition of {nameBudget(budget)} sets its limit in dollars: what you set here holds
        until the next version of it.
      </p>
    )}
    <div class="up4">
      <Failure attempt={attempt} />
    </div>
    <BudgetForm
      typed={attempt.typed}
      problems={attempt.problems}
      names={null}
      action={budgetPath(budget.id)}
    />
    <p class="meta up6">
      Whom it pays for and when it begins anew stay. For others,{' '}
      <a href={newBudgetPath}>make a new one</a> and{' '}
      <a href={removalPath(budget.id)}>take this one away</a>.
    </p>
  </Layout>
)

const Whose: FC<{ budget: PageBudget }> = ({ budget }) => (
  <p class="by up2">
    <BudgetName budget={budget} /> <span class="meta">{sayPeriods(budget)}</span>
  </p>
)

interface RemoveBudgetPageProps {
  frame: Frame
  budget: PageBudget
  /** All of them, this one too. */
  budgets: PageBudget[]
  problem: FormProblem | null
}

/** The step between wanting to and doing it. */
export const RemoveBudgetPage: FC<RemoveBudgetPageProps> = (props) => {
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
      title={`Take away the budget of ${nameBudget(budget)}`}
      place="budgets"
      sheet="admin"
    >
      <h1>
        {isLast
          ? 'The last budget of the hub stays'
          : isDefined
            ? 'The limit of a definition stays'
            : 'Take this budget away?'}
      </h1>
      <Whose budget={budget} />
      <div class="up4">
        <Problem problem={problem} />
      </div>
      {isLast || isDefined ? (
        <Staying budget={budget} />
      ) : (
        <Removal budget={budget} others={others} />
      )}
    </Layout>
  )
}

const Staying: FC<{ budget: PageBudget }> = ({ budget }) => (
  <>
    <p class="lede">
      {budget.madeBy === 'definition'
        ? `The definition of ${nameBudget(budget)} sets it: take brain.max_cost_per_day out of that, or change it there.`
        : 'Without any budget no agent may spend. You can lift its limits instead.'}
    </p>
    <p class="acts up4">
      <a class="btn" href={budgetPath(budget.id)}>
        Change it
      </a>
      <a class="ul" href="/budgets">
        Back to the budgets
      </a>
    </p>
  </>
)

const Removal: FC<{ budget: PageBudget; others: PageBudget[] }> = ({ budget, others }) => (
  <form class="form wide" method="post" action={removalPath(budget.id)}>
    <ul class="lede">
      <li>{sayLost(budget)} What was spent stays in the books and in the charts.</li>
      <li>{sayHolds(budget, others)}</li>
      {budget.madeBy === 'definition' && (
        <li>
          The definition of {nameBudget(budget)} made it, and the next version that names a cost of
          a day makes it again.
        </li>
      )}
    </ul>
    <div class="acts up2">
      <button type="submit" class="btn">
        Take it away
      </button>
      <a class="ul" href="/budgets">
        Keep it
      </a>
    </div>
  </form>
)

function sayLost({ limitMicrousd, limitTokens }: PageBudget): string {
  const limits = [
    ...(limitMicrousd === null ? [] : [formatMoney(limitMicrousd, 'budget')]),
    ...(limitTokens === null ? [] : [`${formatCount(limitTokens)} tokens`]),
  ]
  if (limits.length === 0) return 'It has no limit, so it holds nobody back.'
  return `Its limit of ${limits.join(' and ')} will hold nobody back.`
}

function sayHolds(budget: PageBudget, others: PageBudget[]): string {
  if (others.length === 0) {
    return `It is the only budget of ${nameBudget(budget)}; those that pay for more still hold.`
  }
  const periods = [...new Set(others.map(({ period }) => `a ${period}`))]
  return `${others.length === 1 ? 'Another budget of it still holds' : 'Other budgets of it still hold'}: ${periods.join(', ')}.`
}
