import { reports } from '../../shared/config'
import { type Answers, batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { formatCount, formatDay, formatMoney, formatPlural, formatShare } from '../../shared/format'
import type { PostId } from '../../shared/ids'
import { keep } from '../../shared/keep'
import { accountPath, commentPath, postPath } from '../../shared/paths'
import { chooseStarter, starterAgent, toQuestionPath } from '../../shared/starter-agent'
import type { ActionContext } from '../database/action-context'
import { presentTime } from '../http/answers'
import { computeUsedShares, toLevel } from '../rules/budget-levels'
import { queueHubReports } from '../webhooks/queue-queries'
import { deferDeliveries } from '../webhooks/send-actions'
import {
  type ActivityTotals,
  type AgentActivity,
  type ChangedBudget,
  type DueSummary,
  dayMs,
  type HubActivity,
  markReported,
  postReportStatements,
  type Report,
  type SpendingAgent,
  selectActivity,
  selectAgentNames,
  selectChangedBudgets,
  selectDueSummaries,
  selectSpendingAgents,
  selectUsedUpAccounts,
  type TopContribution,
  type UsedUpAccount,
  updateReportedLevels,
} from './report-queries'
import { periodLabels } from './usage-view'

/** Consequence of each budget level, from healthy to critical. */
const levelConsequences = [
  'Agents run and explore as usual.',
  'Nothing is restricted yet.',
  'Explorations that use the budget are paused until it resets or is raised. Agents still answer mentions.',
  'Tasks that use the budget are refused until it resets or is raised.',
] as const

/** Consequence of the critical level for a budget of which something is left. */
const refusingConsequence =
  'It refused a call, because too little is left. Tasks that need more are refused until it resets or is raised.'

/** Consequence of the critical level for a budget that keeps a share for critical tasks. */
const criticalOnlyConsequence =
  'Tasks that use the budget are refused until it resets or is raised, except tasks of critical priority.'

/** Formats a Markdown link to an agent. A link does not wake the agent, as a mention would. */
const formatAgentLink = (name: string): string =>
  `[${name.replaceAll('_', '\\_')}](${accountPath(name)})`

/** Critical tasks can use the share that the budget keeps for them, but nothing beyond the limit. */
function formatConsequence(budget: ChangedBudget): string {
  if (budget.isRefusing) return refusingConsequence
  const hasCriticalShare = budget.allowsCritical && computeUsedShare(budget) < 1
  if (budget.level >= 3 && hasCriticalShare) return criticalOnlyConsequence
  return levelConsequences[budget.level] ?? ''
}

/** Formats the alert about a changed budget; null when its state was already reported. */
function formatBudgetAlert(budget: ChangedBudget): Omit<Report, 'postId'> | null {
  const { id, level, startsAt, updatedAt } = budget
  const change = detectChange(budget)
  if (!change) return null
  const title = `${formatOwner(budget)} ${change.isWorse ? formatUsedShare(budget) : 'is available again'}`
  return {
    // `updatedAt` makes the same level reportable again after an admin changed the budget.
    key: `budget:${id}:${startsAt}:${level}:${updatedAt}`,
    community: 'agent-status',
    title,
    content: [
      change.reason,
      `${formatScope(budget)}: ${formatSpent(budget)}. Resets on ${formatDay(budget.endsAt)}.`,
      formatConsequence(budget),
      'Admins can change the limit in [budgets](/budgets).',
    ]
      .filter((part) => part !== '')
      .join(' '),
    notifiesAdmins: change.isWorse,
    level: { ...presentLevel(budget), title },
  }
}

/** Returns what webhooks are sent of a budget whose level has changed. */
const presentLevel = (budget: ChangedBudget) => ({
  id: budget.id,
  scope: budget.scope,
  scope_id: budget.scopeId,
  period: budget.period,
  level: toLevel(budget.level),
  spent_microusd: budget.spentMicrousd,
  spent_tokens: budget.spentTokens,
  limit_microusd: budget.limitMicrousd,
  limit_tokens: budget.limitTokens,
  resets_at: presentTime(budget.endsAt),
})

/** Formats the alert about an account that has used up the budget of its role, without its name. */
function formatAccountAlert(account: UsedUpAccount): Omit<Report, 'postId'> {
  const { id, accountId, startsAt, updatedAt, scope, period, endsAt, isRefusing } = account
  const role = scope === 'role:guest' ? 'guest' : 'member'
  return {
    key: `budget:${id}:${accountId}:${startsAt}:${updatedAt}`,
    community: 'agent-status',
    title: isRefusing
      ? `Too little is left for a ${role} of the ${periodLabels[period]} budget per ${role}`
      : `A ${role} has used up the ${periodLabels[period]} budget per ${role}`,
    content: [
      `${formatSpent(account)}. It resets on ${formatDay(endsAt)}.`,
      `Tasks of this ${role}${isRefusing ? ' that need more' : ''} are refused until then. Others are not affected.`,
      'Admins see who it is in [budgets](/budgets), where they can change the limit or create a budget for the account.',
    ].join(' '),
    notifiesAdmins: true,
  }
}

/** Compares a budget with its last report; null when there is nothing to report. */
function detectChange(budget: ChangedBudget): { isWorse: boolean; reason: string } | null {
  const { level, reportedLevel, period } = budget
  const isNewPeriod = budget.startsAt !== budget.reportedStartsAt
  if (level === reportedLevel && (level === 0 || !isNewPeriod)) return null
  if (level > (isNewPeriod ? 0 : reportedLevel)) return { isWorse: true, reason: '' }
  return {
    isWorse: false,
    reason: isNewPeriod
      ? `A new ${period} has started.`
      : 'The limit or the thresholds were changed.',
  }
}

const formatCommunity = (name: string | null): string =>
  name === null ? 'a community' : `m/${name}`

function formatOwner({ scope, scopeId, name, period }: ChangedBudget): string {
  const adjective = periodLabels[period]
  if (scope === 'hub') return `The hub’s ${adjective} budget`
  if (scope === 'agent') return `The ${adjective} budget of ${name ?? 'an agent'}`
  if (scope === 'community') return `The ${adjective} budget of ${formatCommunity(name)}`
  if (scope === 'requester') return `The ${adjective} budget of a requester`
  if (scope === 'guests') return `The ${adjective} budget of all guests`
  if (scope === 'replay') return `The ${adjective} budget of replays`
  return `The ${adjective} budget of the ${scope} ${scopeId}`
}

function formatScope({ scope, scopeId, name }: ChangedBudget): string {
  if (scope === 'hub') return 'All agents'
  if (scope === 'agent') return name === null ? 'An agent' : formatAgentLink(name)
  if (scope === 'requester') return 'Runs for one account'
  if (scope === 'guests') return 'Runs for guests'
  if (scope === 'replay') return 'Replays'
  return scope === 'community'
    ? `Runs in ${formatCommunity(name)}`
    : `\`${scopeId.replaceAll('`', '')}\``
}

function formatSpent(budget: ChangedBudget | UsedUpAccount): string {
  const { limitMicrousd, limitTokens, spentMicrousd, spentTokens } = budget
  const parts = [
    ...(limitMicrousd === null
      ? []
      : [`${formatMoney(spentMicrousd, 'budget')} of ${formatMoney(limitMicrousd, 'budget')}`]),
    ...(limitTokens === null
      ? []
      : [
          `${formatPlural(spentTokens, 'token', 'tokens')} of ${limitTokens.toLocaleString('en-US')}`,
        ]),
  ]
  return parts.length === 0 ? 'no limit' : `${parts.join(' and ')} spent`
}

function formatUsedShare(budget: ChangedBudget): string {
  if (budget.isRefusing) return 'has too little left for a call'
  const share = computeUsedShare(budget)
  return share >= 1 ? 'is used up' : `is ${formatShare(share)} used`
}

const computeUsedShare = (budget: ChangedBudget): number => computeUsedShares(budget)?.used ?? 0

const inBritish = (options: Intl.DateTimeFormatOptions) =>
  keep(() => new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' }))

const dayFormat = inBritish({ dateStyle: 'full' })
const shortFormat = inBritish({ day: 'numeric', month: 'long', year: 'numeric' })

const formatPeriod = ({ period, since, until }: DueSummary): string =>
  period === 'day'
    ? dayFormat().format(since * dayMs)
    : `${shortFormat().format(since * dayMs)} to ${shortFormat().format((until - 1) * dayMs)}`

/** Formats the activity of agents as a post. Contains numbers and links, never text of users. */
function formatSummary(
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

/** Use of an agent on one day. */
interface DailyUse {
  costMicrousd: number
  tokens: number
}

interface UnusualUse {
  measure: keyof DailyUse
  /** Median of the days with use, in micro-dollars or tokens. */
  usual: number
  /** Today's use divided by `usual`. */
  times: number
}

/**
 * Returns how far today's use exceeds the agent's usual use; null when it does not. Usual use is the
 * median of the days with use, so a few extreme days do not raise it and idle days do not lower it.
 * Compares cost first, then tokens for models without a price.
 *
 * @param history earlier days with use, in any order
 */
export function findUnusualUse(today: DailyUse, history: readonly DailyUse[]): UnusualUse | null {
  if (history.length < reports.usualDaysMin || today.tokens < reports.unusualTokensMin) return null
  for (const measure of ['costMicrousd', 'tokens'] as const) {
    const usual = median(history.map((day) => day[measure]))
    if (usual > 0 && today[measure] >= reports.unusualFactor * usual) {
      return { measure, usual, times: today[measure] / usual }
    }
  }
  return null
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2
}

/** Formats the alert about an agent with unusually high use; null when its use is usual. */
function formatUnusualUse(agent: SpendingAgent): Omit<Report, 'postId'> | null {
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

/**
 * Formats the first thread of a hub: what to do, with questions that fill the form of a new post. Agents quote it: so no
 * line has a name after an @ or a question, which they take for one to answer, and links stand in sentences of their own.
 *
 * @param agent the name of an agent to ask
 */
const formatWelcome = (agent: string): Omit<Report, 'postId'> => ({
  key: 'welcome',
  community: 'general',
  title: 'Welcome: how to use this hub',
  content: `* **Questions:**
  To ask something, write @ and the name ${agent}, with your question, in a post or a reply. The answer appears below it.
* **Models:**
  To add a model, save the key of a provider on the page Models. Until then everything runs on the built-in offline model, which quotes posts and is free. [Open Models](/models)
* **Budgets:**
  To limit spending, set a budget for the hub or for one account on the page Budgets. Without money left, nothing runs. [Open Budgets](/budgets)
* **Agents:**
  To make an agent, choose a template on the page of a new agent and change its text. [Open New agent](/agents/new)
* **People:**
  To invite people, make a link on the page People and send it to one person. [Open People](/admin/people#invite)

Try it. Each link fills the form of a new post, which you send:

* [Ask how to add a model](${toQuestionPath(agent, 'model')})
* [Ask how to limit spending](${toQuestionPath(agent, 'spending')})
* [Ask how to make an agent](${toQuestionPath(agent, 'agent')})`,
  notifiesAdmins: false,
  isFirst: true,
})

type Context = Parameters<typeof deferDeliveries>[0]

/** Selects the budgets to report, and the accounts that used up the budget of their role. */
const alertStatements = (now: number) => ({
  changedBudgets: selectChangedBudgets({ now }),
  usedUpAccounts: selectUsedUpAccounts({}),
})

/** Selects what a sweep has to report. */
export const reportStatements = (now: number) => ({
  dueSummaries: selectDueSummaries(now),
  spendingAgents: selectSpendingAgents(now),
  ...alertStatements(now),
})

/**
 * Posts reports from the answers of `reportStatements`. Each report is posted once, also with concurrent
 * sweeps and after a crash. Makes no round trip when there is nothing to report.
 */
export async function publishReports(
  context: Context,
  found: Answers<ReturnType<typeof reportStatements>>,
  now: number,
): Promise<void> {
  const drafts = [
    ...(await readSummaries(context.db, found.dueSummaries)),
    ...found.spendingAgents.flatMap((agent) => formatUnusualUse(agent) ?? []),
  ]
  await postReports(context, drafts, found, now)
}

/** Posts budget alerts right after a commit. After a crash the next sweep posts them. */
export async function publishBudgetAlerts(context: Context): Promise<void> {
  const now = context.clock.now()
  await postReports(context, [], await batch(context.db, alertStatements(now)), now)
}

/**
 * Posts the welcome thread in a hub in which nothing was ever posted. One that was deleted or removed is not posted again,
 * and a hub with restored or imported posts has none.
 */
export async function postWelcome({
  db,
  clock,
}: Pick<ActionContext, 'db' | 'clock'>): Promise<void> {
  const names = await run(db, selectAgentNames())
  const draft = formatWelcome(chooseStarter(names) ?? starterAgent)
  const report = { ...draft, postId: clock.newId<PostId>() }
  await batch(db, { posts: postReportStatements([report], clock.now()) })
}

async function postReports(
  context: Context,
  drafts: Omit<Report, 'postId'>[],
  { changedBudgets, usedUpAccounts }: Answers<ReturnType<typeof alertStatements>>,
  now: number,
): Promise<void> {
  const { db, clock } = context
  const all = [
    ...drafts,
    ...changedBudgets.flatMap((budget) => formatBudgetAlert(budget) ?? []),
    ...usedUpAccounts.map(formatAccountAlert),
  ]
  const reports = all.map((draft) => ({ ...draft, postId: clock.newId() }))
  const { isQueued } = await batch(db, {
    posts: postReportStatements(reports, now),
    isQueued: reports.length > 0 ? queueHubReports(reports, now) : null,
    levels: changedBudgets.length > 0 ? updateReportedLevels(changedBudgets) : null,
    accounts: usedUpAccounts.length > 0 ? markReported(usedUpAccounts) : null,
  })
  deferDeliveries(context, isQueued)
}

async function readSummaries(db: Db, due: DueSummary[]): Promise<Omit<Report, 'postId'>[]> {
  const selected = due.map(selectActivity)
  const { all, agents } = await batch(db, {
    all: selected.map((each) => each.all),
    agents: selected.map((each) => each.agents),
  })
  return due.flatMap((each, at) => {
    const totals = all[at]
    return totals ? [formatSummary(each, totals, agents[at] ?? [])] : []
  })
}
