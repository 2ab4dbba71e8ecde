import { formatCount, formatMoney, formatPlural } from '../../shared/format'
import type { SpendingAgent } from './day-queries'
import { findUnusualUse, type UnusualUse } from './find-unusual-use'
import { formatAgentLink } from './link-agent'
import type { Report } from './report-queries'

/** Formats the alert about an agent with unusually high use; null when its use is usual. */
export function formatUnusualUse(agent: SpendingAgent): Omit<Report, 'postId'> | null {
  const history = agent.history.map(([costMicrousd, tokens]) => ({ costMicrousd, tokens }))
  const unusual = findUnusualUse(agent, history)
  if (!unusual) return null
  const today = formatUse(unusual, agent[unusual.measure])
  return {
    key: `unusual:${agent.day}:${agent.agentId}`,
    community: 'agent-status',
    title: `Unusual usage: ${agent.name} has used ${formatCount(Math.floor(unusual.times))} times its daily median`,
    content:
      `${formatAgentLink(agent.name)} has used ${today} today (UTC). Its median is ` +
      `${formatUse(unusual, unusual.usual)} per day, over the last ${formatPlural(history.length, 'day', 'days')} ` +
      'with runs. Check its runs or pause the agent on its page, or set a limit in [budgets](/budgets).',
    notifiesAdmins: true,
  }
}

const formatUse = ({ measure }: UnusualUse, amount: number): string =>
  measure === 'costMicrousd'
    ? formatMoney(Math.round(amount), 'thread')
    : formatPlural(Math.round(amount), 'token', 'tokens')
