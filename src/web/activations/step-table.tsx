import type { FC } from 'hono/jsx'
import { formatStep, type StepView, type TraceView } from '../../hub/traces/trace-view'
import { formatCost, formatCount, formatShare } from '../../shared/format'
import { TableHead } from '../parts/table-head'

interface StepTableProps {
  steps: StepView[]
  /** Usage of all calls, including those that belong to no step. */
  spent: TraceView['spent']
}

/** Shows tokens and cost of each step, of the calls that belong to no step, and in total. */
export const StepTable: FC<StepTableProps> = ({ steps, spent }) => {
  const rest = (pick: (of: Spent) => number) =>
    Math.max(0, pick(spent) - steps.reduce((all, step) => all + pick(step), 0))
  const costMicrousd = rest((of) => of.costMicrousd)
  const other = {
    inputTokens: rest((of) => of.inputTokens),
    cachedTokens: rest((of) => of.cachedTokens),
    outputTokens: rest((of) => of.outputTokens),
    costMicrousd,
    // when no call has a price, these have none either
    isPriced: spent.isPriced || costMicrousd > 0,
  }
  const hasOther = other.inputTokens + other.outputTokens + other.costMicrousd > 0
  return (
    <table class="tbl fold">
      <TableHead
        columns={[
          'Step',
          { right: 'Prompt' },
          { right: 'Reused prefix' },
          { right: 'Cached' },
          { right: 'Share cached' },
          { right: 'Output' },
          'Finish reason',
          { right: 'Cost' },
        ]}
      />
      <tbody>
        {steps.map((step) => (
          <tr>
            <td>
              {step.step}. {formatStep(step)}
            </td>
            <TokenCells of={step} kept={step.input?.prefixShare ?? null} />
            <td data-l="Finish reason">{step.finishReason}</td>
            <td class="r" data-l="Cost">
              {formatCost(step.costMicrousd, step.isPriced, 'trace')}
              {step.isEstimated && ' est.'}
            </td>
          </tr>
        ))}
        {hasOther && <SumRow name="Calls outside steps" of={other} />}
      </tbody>
      {(steps.length > 1 || hasOther) && (
        <tfoot>
          <SumRow name={hasOther ? 'All calls' : 'All steps'} of={spent} />
        </tfoot>
      )}
    </table>
  )
}

type Spent = Omit<TraceView['spent'], 'isPriced'>

const SumRow: FC<{ name: string; of: TraceView['spent'] }> = ({ name, of }) => (
  <tr>
    <td>{name}</td>
    <TokenCells of={of} />
    <td />
    <td class="r" data-l="Cost">
      {formatCost(of.costMicrousd, of.isPriced, 'trace')}
    </td>
  </tr>
)

interface TokenCellsProps {
  of: Pick<StepView, 'inputTokens' | 'cachedTokens' | 'outputTokens'>
  /** Share of the previous step's prompt that this prompt begins with, byte by byte; 0 to 1. */
  kept?: number | null
}

const TokenCells: FC<TokenCellsProps> = ({ of, kept = null }) => (
  <>
    <td class="r" data-l="Prompt">
      {formatCount(of.inputTokens)}
    </td>
    <td class="r" data-l="Reused prefix">
      {kept !== null && formatShare(kept)}
    </td>
    <td class="r" data-l="Cached">
      {formatCount(of.cachedTokens)}
    </td>
    <td class="r" data-l="Share cached">
      {of.inputTokens > 0 ? formatShare(of.cachedTokens / of.inputTokens) : ''}
    </td>
    <td class="r" data-l="Output">
      {formatCount(of.outputTokens)}
    </td>
  </>
)
