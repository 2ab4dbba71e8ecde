import { formatCount, formatMoney, formatPlural } from '../web/format'
import type { SpendingAgent } from './day-queries'
import { findUnusual, type Unusual } from './find-unusual'
import { linkAgent } from './link-agent'
import type { Report } from './say-queries'

/** What to say of an agent that uses far more than it usually does; null when it does not. */
export function writeUnusual(agent: SpendingAgent): Omit<Report, 'postId'> | null {
  const history = (JSON.parse(agent.history) as [number, number][]).map(
    ([costMicrousd, tokens]) => ({ costMicrousd, tokens }),
  )
  const unusual = findUnusual(agent, history)
  if (!unusual) return null
  const today = sayUse(unusual, agent[unusual.measure])
  return {
    key: `unusual:${agent.day}:${agent.agentId}`,
    community: 'agent-status',
    title: `${agent.name} uses ${formatCount(Math.floor(unusual.times))} times as much as it usually does`,
    content:
      `${linkAgent(agent.name)} has used ${today} today (UTC). On a usual day it is ` +
      `${sayUse(unusual, unusual.usual)}, the median of ${formatPlural(history.length, 'day', 'days')} ` +
      'on which it worked. Its page shows its activations and can pause it; [budgets](/budgets) can limit it.',
    tellsAdmins: true,
  }
}

const sayUse = ({ measure }: Unusual, amount: number): string =>
  measure === 'costMicrousd'
    ? formatMoney(Math.round(amount), 'thread')
    : formatPlural(Math.round(amount), 'token', 'tokens')
