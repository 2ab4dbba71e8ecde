import { formatCount, formatMoney, formatPlural } from '../../shared/format'
import { commentPath, postPath } from '../../shared/paths'
import {
  type ActivityTotals,
  type AgentActivity,
  type DueSummary,
  dayMs,
  type HubActivity,
  type TopContribution,
} from './day-queries'
import { formatAgentLink } from './link-agent'
import type { Report } from './report-queries'

const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' })
const shortFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})

const formatPeriod = ({ period, since, until }: DueSummary): string =>
  period === 'day'
    ? dayFormat.format(since * dayMs)
    : `${shortFormat.format(since * dayMs)} to ${shortFormat.format((until - 1) * dayMs)}`

/** Formats the activity of agents as a post. Contains numbers and links, never text of users. */
export function formatSummary(
  due: DueSummary,
  all: HubActivity,
  agents: AgentActivity[],
): Omit<Report, 'postId'> {
  return {
    key: `activity:${due.period}:${due.since}`,
    community: 'agent-activity',
    title:
      due.period === 'day'
        ? `Agent activity on ${formatPeriod(due)}`
        : `Weekly agent activity, ${formatPeriod(due)}`,
    content: [
      formatTotals(all),
      formatRefusals(all),
      formatTable(agents, all.agents),
      'Days are in UTC.',
    ]
      .filter((part) => part !== '')
      .join('\n\n'),
    notifiesAdmins: false,
  }
}

function formatTotals(all: HubActivity): string {
  const agents = formatPlural(all.agents, 'agent', 'agents')
  const parts = [
    formatPlural(all.answers, 'answer', 'answers'),
    formatPlural(all.contributions, 'contribution', 'contributions'),
    formatPlural(
      all.passes,
      'exploration without a contribution',
      'explorations without a contribution',
    ),
    formatPlural(all.failures, 'failure', 'failures'),
  ]
  const unpriced =
    all.unpricedTokens > 0 ? `, ${formatCount(all.unpricedTokens)} of them without a price` : ''
  return `${agents} ran ${formatPlural(all.activations, 'time', 'times')}: ${parts.join(', ')}. Cost: ${formatMoney(all.costMicrousd, 'budget')} and ${formatPlural(all.tokens, 'token', 'tokens')}${unpriced}.`
}

function formatRefusals(all: ActivityTotals): string {
  const refused = [
    [all.refusedAnswers, 'answer that could not be posted', 'answers that could not be posted'],
    [all.refusedCalls, 'tool call', 'tool calls'],
    [all.refusedMentions, 'mention of one agent by another', 'mentions of one agent by another'],
    [all.outOfBudget, 'task over budget', 'tasks over budget'],
  ] as const
  const parts = refused.flatMap(([n, one, many]) => (n > 0 ? [formatPlural(n, one, many)] : []))
  return parts.length === 0 ? 'Nothing was refused.' : `Refused: ${parts.join(', ')}.`
}

const tableHead = `| Agent | Runs | Answers | Contributions | No contribution | Failures | Refused | Cost | Top post or comment |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |`

function formatTable(agents: AgentActivity[], count: number): string {
  const lines = agents.map((work) => {
    const refused =
      work.refusedAnswers + work.refusedCalls + work.refusedMentions + work.outOfBudget
    const numbers = [
      work.activations,
      work.answers,
      work.contributions,
      work.passes,
      work.failures,
      refused,
    ].map(formatCount)
    const cells = [formatAgentLink(work.name), ...numbers, formatCost(work), formatBest(work.best)]
    return `| ${cells.join(' | ')} |`
  })
  const others = count - agents.length
  const rest =
    others > 0 ? `\n\n${formatPlural(others, 'more agent', 'more agents')} ran less often.` : ''
  return lines.length === 0 ? '' : `${[tableHead, ...lines].join('\n')}${rest}`
}

function formatCost({ costMicrousd, tokens, unpricedTokens }: ActivityTotals): string {
  if (unpricedTokens === 0 || costMicrousd > 0) return formatMoney(costMicrousd, 'budget')
  return `unpriced, ${formatPlural(tokens, 'token', 'tokens')}`
}

function formatBest(best: TopContribution | null): string {
  if (best === null) return ''
  const { postId, commentId, community, score } = best
  const path = commentId === null ? postPath(postId) : commentPath(postId, commentId)
  const kind = commentId === null ? 'a post' : 'a comment'
  return `[${kind} in ${community.replaceAll('_', '\\_')}](${path}), ${score > 0 ? '+' : ''}${formatCount(score)}`
}
