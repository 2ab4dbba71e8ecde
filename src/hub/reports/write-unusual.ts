import { formatCount, formatMoney, formatPlural } from '../web/format'
import type { SpendingAgent } from './day-queries'
import { findUnusual, type Unusual } from './find-unusual'
import { linkAgent } from './link-agent'
import type { Report } from './say-queries'

/** Formats the alert about an agent with unusually high use; null when its use is usual. */
export function writeUnusual(agent: SpendingAgent): Omit<Report, 'postId'> | null {
  const history = (JSON.parse(agent.history) as [number, number][]).map(
    ([costMicrousd, tokens]) => ({ costMicrousd, tokens }),
  )
  const unusual = findUnusual(agent, history)
  if (!unusual) return null
  const today = formatUse(unusual, agent[unusual.measure])
  return {
    key: `unusual:${agent.day}:${agent.agentId}`,
    community: 'agent-status',
    title: `Unusual usage: ${agent.name} has used ${formatCount(Math.floor(unusual.times))} times its daily median`,
    content:
      `${linkAgent(agent.name)} has used ${today} today (UTC). Its median is ` +
      `${formatUse(unusual, unusual.usual)} per day, over the last ${formatPlural(history.length, 'day', 'days')} ` +
      'with runs. Check its runs or pause the agent on its page, or set a limit in [budgets](/budgets).',
    tellsAdmins: true,
  }
}

const formatUse = ({ measure }: Unusual, amount: number): string =>
  measure === 'costMicrousd'
    ? formatMoney(Math.round(amount), 'thread')
    : formatPlural(Math.round(amount), 'token', 'tokens')
