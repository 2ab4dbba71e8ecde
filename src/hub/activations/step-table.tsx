import type { FC } from 'hono/jsx'
import { formatCost, formatCount, formatShare } from '../web/format'
import { type StepView, sayStep } from './trace-view'

/** Tokens and money of each step, and together. */
export const StepTable: FC<{ steps: StepView[] }> = ({ steps }) => {
  const sum = (pick: (step: StepView) => number) => steps.reduce((all, step) => all + pick(step), 0)
  const all = {
    inputTokens: sum((step) => step.inputTokens),
    cachedTokens: sum((step) => step.cachedTokens),
    outputTokens: sum((step) => step.outputTokens),
    costMicrousd: sum((step) => step.costMicrousd),
    isPriced: steps.every((step) => step.isPriced),
  }
  return (
    <table class="tbl fold">
      <thead>
        <tr>
          <th scope="col">Step</th>
          {['Prompt', 'As before', 'Cached', 'Share cached', 'Answer'].map((head) => (
            <th scope="col" class="r">
              {head}
            </th>
          ))}
          <th scope="col">Ended with</th>
          <th scope="col" class="r">
            Cost
          </th>
        </tr>
      </thead>
      <tbody>
        {steps.map((step) => (
          <tr>
            <td>
              {step.step}. {sayStep(step)}
            </td>
            <TokenCells of={step} kept={step.input?.prefixShare ?? null} />
            <td data-l="Ended">{step.finishReason}</td>
            <td class="r" data-l="Cost">
              {formatCost(step.costMicrousd, step.isPriced, 'trace')}
              {step.isEstimated && ' est.'}
            </td>
          </tr>
        ))}
      </tbody>
      {steps.length > 1 && (
        <tfoot>
          <tr>
            <td>All steps</td>
            <TokenCells of={all} />
            <td />
            <td class="r" data-l="Cost">
              {formatCost(all.costMicrousd, all.isPriced, 'trace')}
            </td>
          </tr>
        </tfoot>
      )}
    </table>
  )
}

interface TokenCellsProps {
  of: Pick<StepView, 'inputTokens' | 'cachedTokens' | 'outputTokens'>
  /** Share of the step before's prompt that this one begins with, byte by byte (L14). */
  kept?: number | null
}

const TokenCells: FC<TokenCellsProps> = ({ of, kept = null }) => (
  <>
    <td class="r" data-l="Prompt">
      {formatCount(of.inputTokens)}
    </td>
    <td class="r" data-l="As before">
      {kept !== null && formatShare(kept)}
    </td>
    <td class="r" data-l="Cached">
      {formatCount(of.cachedTokens)}
    </td>
    <td class="r" data-l="Share">
      {of.inputTokens > 0 ? formatShare(of.cachedTokens / of.inputTokens) : ''}
    </td>
    <td class="r" data-l="Answer">
      {formatCount(of.outputTokens)}
    </td>
  </>
)
