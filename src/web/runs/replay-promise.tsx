import type { FC } from 'hono/jsx'
import { formatPayers } from '../../hub/budgets/usage-view'
import type { ReplayPromise } from '../../hub/replays/actions'
import { formatCount, formatMoney } from '../../shared/format'
import { TextLink } from '../parts/links'

/** Says what something that replays runs can cost, after what it does, and whose budgets pay. */
export function describePromise(
  what: string,
  promise: Pick<ReplayPromise, 'costMaxMicrousd' | 'isPriced' | 'tokensMax' | 'paidBy'>,
): string {
  const { costMaxMicrousd, isPriced, tokensMax, paidBy } = promise
  const tokens = `${formatCount(tokensMax)} tokens`
  const most =
    isPriced && costMaxMicrousd > 0
      ? `${formatMoney(costMaxMicrousd, 'trace')} or ${tokens}`
      : tokens
  const cost = isPriced && costMaxMicrousd === 0 ? ', costs nothing,' : ''
  const whole = `${what}${cost} and takes at most ${most}.`
  const left = paidBy.flatMap(({ scope, name, leftMicrousd }) =>
    leftMicrousd === null
      ? []
      : [`${formatPayers([{ scope, name }])} (${formatMoney(leftMicrousd, 'budget')} left)`],
  )
  const others = formatPayers(paidBy.filter(({ leftMicrousd }) => leftMicrousd === null))
  const payers = [...left, ...(others === '' ? [] : [others])].join(', ')
  return payers === '' ? whole : `${whole} Budgets that pay: ${payers}.`
}

/** Says what a trial of a change of the prompt cannot show. */
export const OfflineNote: FC = () => (
  <p class="note up3">
    The built-in offline model answers by rules and follows no instructions: a change of the prompt
    does not change its answers. <TextLink href="/models">Add a model</TextLink>
  </p>
)

/** Says how often something runs. */
export const formatTimes = (count: number): string => (count === 1 ? 'once' : `${count} times`)

/** The choices of how often something runs, by value. */
export const listRepeats = (max: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: max }, (_, at) => [String(at + 1), formatTimes(at + 1)]))

/** Returns how often something runs; a form that was changed by hand gets the bounds. */
export const toRepeats = (text: string, max: number): number =>
  Math.min(max, Math.max(1, Math.trunc(Number(text)) || 1))
