import { formatCount, formatMoney, formatPlural } from '../web/format'
import { postPath } from '../web/who'
import type { AgentWork, BestWords, DueSummary, WorkSums } from './day-queries'
import { dayMs } from './day-queries'
import { linkAgent } from './link-agent'
import type { Report } from './say-queries'

const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' })
const shortFormat = new Intl.DateTimeFormat('en-GB', {
  ...{ day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' },
})

const sayTime = ({ period, since, until }: DueSummary): string =>
  period === 'day'
    ? dayFormat.format(since * dayMs)
    : `${shortFormat.format(since * dayMs)} to ${shortFormat.format((until - 1) * dayMs)}`

/** What the agents did, as a post. Numbers and links only: nobody's words are repeated. */
export function writeSummary(
  due: DueSummary,
  all: WorkSums & { agents: number },
  agents: AgentWork[],
): Omit<Report, 'postId'> {
  return {
    key: `activity:${due.period}:${due.since}`,
    community: 'agent-activity',
    title:
      due.period === 'day'
        ? `What the agents did on ${sayTime(due)}`
        : `The agents’ week, ${sayTime(due)}`,
    content: [sayAll(all), sayRefused(all), writeTable(agents, all.agents), 'Days are in UTC.']
      .filter((part) => part !== '')
      .join('\n\n'),
    tellsAdmins: false,
  }
}

function sayAll(all: WorkSums & { agents: number }): string {
  const who = formatPlural(all.agents, 'agent', 'agents')
  const parts = [
    formatPlural(all.answers, 'answer', 'answers'),
    formatPlural(all.contributions, 'contribution of their own', 'contributions of their own'),
    formatPlural(all.passes, 'turn with nothing to add', 'turns with nothing to add'),
    formatPlural(all.failures, 'failure', 'failures'),
  ]
  const unpriced =
    all.unpricedTokens > 0 ? `, ${formatCount(all.unpricedTokens)} of them without a price` : ''
  return `${who} ran ${formatPlural(all.activations, 'time', 'times')}: ${parts.join(', ')}. It cost ${formatMoney(all.costMicrousd, 'budget')} and ${formatPlural(all.tokens, 'token', 'tokens')}${unpriced}.`
}

function sayRefused(all: WorkSums): string {
  const refused = [
    [
      all.refusedAnswers,
      'answer that its thread did not take',
      'answers that their threads did not take',
    ],
    [all.refusedCalls, 'tool call', 'tool calls'],
    [all.brakedMentions, 'call of one agent by another', 'calls of one agent by another'],
    [all.outOfBudget, 'piece of work for want of budget', 'pieces of work for want of budget'],
  ] as const
  const said = refused.flatMap(([n, one, many]) => (n > 0 ? [formatPlural(n, one, many)] : []))
  return said.length === 0 ? 'Nothing was refused.' : `Refused: ${said.join(', ')}.`
}

const head = `| agent | ran | answered | contributed | passed | failed | refused | cost | best liked |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |`

function writeTable(agents: AgentWork[], count: number): string {
  const lines = agents.map((work) => {
    const refused = work.refusedAnswers + work.refusedCalls + work.brakedMentions + work.outOfBudget
    const numbers = [
      ...[work.activations, work.answers, work.contributions, work.passes, work.failures, refused],
    ].map(formatCount)
    return `| ${[linkAgent(work.name), ...numbers, sayCost(work), sayBest(work.best)].join(' | ')} |`
  })
  const others = count - agents.length
  const rest =
    others > 0 ? `\n\n${formatPlural(others, 'more agent', 'more agents')} did less.` : ''
  return lines.length === 0 ? '' : `${[head, ...lines].join('\n')}${rest}`
}

function sayCost({ costMicrousd, tokens, unpricedTokens }: WorkSums): string {
  if (unpricedTokens === 0 || costMicrousd > 0) return formatMoney(costMicrousd, 'budget')
  return `unpriced, ${formatPlural(tokens, 'token', 'tokens')}`
}

function sayBest(json: string | null): string {
  if (json === null) return ''
  const { postId, commentId, community, score } = JSON.parse(json) as BestWords
  const path = `${postPath(postId)}${commentId === null ? '' : `#c-${encodeURIComponent(commentId)}`}`
  const what = commentId === null ? 'a post' : 'a comment'
  return `[${what} in ${community.replaceAll('_', '\\_')}](${path}), ${score > 0 ? '+' : ''}${formatCount(score)}`
}
