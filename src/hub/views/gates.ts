import type { SchedulerView } from '../../agents/contract/agents'
import { replyLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import { formatCount, formatExact, formatMoney, formatPlural } from '../../shared/format'
import { accountPath, activationPath, commentPath, postPath } from '../../shared/paths'
import { periodLabels } from '../budgets/usage-view'
import type { BudgetStatus } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { explainReplyLimit, unreadableRefusal, withdrawnRefusal } from '../rules/reply-limits'
import type { PayingBudget } from '../runs/claim-queries'
import { formatReplyRefusal } from '../runs/run-labels'
import { addPause, formatExplorationReason, freeTask, toQuestion } from './board-view'
import type { QuietFacts } from './quiet-queries'

/** What has to let an agent through before it answers or explores, in the order in which it matters. */
export const gateKeys = [
  'mention',
  'access',
  'thread',
  'answered',
  'reply_limit',
  'hourly_calls',
  'requester',
  'account',
  'agent_pause',
  'hub_pause',
  'provider',
  'model',
  'approval',
  'running',
  'queue',
  'capacity',
  'requester_budget',
  'agent_budget',
  'community_budget',
  'model_budget',
  'hub_budget',
  'reserved',
  'schedule',
  'exploration',
] as const

type GateKey = (typeof gateKeys)[number]

/** Names of the gates on pages. */
export const gateNames: Record<GateKey, string> = {
  mention: 'Mention',
  access: 'Community',
  thread: 'Thread',
  answered: 'Answer',
  reply_limit: 'Reply limits',
  hourly_calls: 'Mentions an hour',
  requester: 'Requester',
  account: 'Account',
  agent_pause: 'Agent paused',
  hub_pause: 'All agents paused',
  provider: 'Model provider',
  model: 'Model',
  approval: 'Approval',
  running: 'Other run',
  queue: 'Earlier tasks',
  capacity: 'Slots',
  requester_budget: 'Budget of the requester',
  agent_budget: 'Budget of the agent',
  community_budget: 'Budget of the community',
  model_budget: 'Budget of the model',
  hub_budget: 'Budget of the hub',
  reserved: 'Reserved money',
  schedule: 'Schedule',
  exploration: 'Exploration',
}

/** The gate of a budget, by its scope. */
const budgetGates: Record<BudgetStatus['scope'], GateKey> = {
  requester: 'requester_budget',
  guests: 'requester_budget',
  'role:member': 'requester_budget',
  'role:guest': 'requester_budget',
  agent: 'agent_budget',
  community: 'community_budget',
  model: 'model_budget',
  provider: 'model_budget',
  hub: 'hub_budget',
  // No run is paid by it.
  replay: 'hub_budget',
}

/** States of a gate on pages. */
export const stateNames = { open: 'open', closed: 'closed', unknown: 'unknown' } as const

type GateState = keyof typeof stateNames

/** Labels of the pages that gates link, by the start of the path. */
const linkLabels = [
  ['/p/', 'Thread'],
  ['/a/', 'Agent'],
  ['/activations/', 'Run'],
  ['/approvals', 'Approvals'],
  ['/budgets', 'Budgets'],
  ['/scheduler', 'Scheduler'],
  ['/docs', 'Set up a model'],
] as const

/** Returns the label of a link to a page; the path itself when it has none. */
export const toLinkLabel = (link: string): string =>
  linkLabels.find(([start]) => link.startsWith(start))?.[1] ?? link.slice(1)

/** One gate: whether it lets the agent through, why, and what opens it. */
export interface Gate {
  key: GateKey
  state: GateState
  /** The fact that decides, as a sentence. */
  fact: string
  /** What to do; null for an open gate. */
  fix: string | null
  /** A page where that can be done or seen. */
  link: string | null
}

/** What the gates are decided from, besides the reads. */
interface GateContext {
  facts: QuietFacts & { agent: NonNullable<QuietFacts['agent']> }
  /** Null when the scheduler does not respond. */
  scheduler: SchedulerView | null
  /** Why the agent's model cannot be called; null: it can. */
  modelProblem: { message: string; isFinal: boolean } | null
  /** Who sees amounts of a requester's budget: the requester and admins. */
  viewer: { id: string; isAdmin: boolean } | null
  now: number
}

/** A gate without its key. */
type Made = Omit<Gate, 'key'>
type Maker = (context: GateContext) => Made | null

const open = (fact: string, link: string | null = null): Made => ({
  state: 'open',
  fact,
  fix: null,
  link,
})
const closed = (fact: string, fix: string, link: string | null = null): Made => ({
  state: 'closed',
  fact,
  fix,
  link,
})

/** Returns the gate of one kind of budget; null when no budget of that kind pays. */
function makeBudgetGate(context: GateContext, key: GateKey): Made | null {
  const { admission, budgets } = context.facts
  const own = budgets.filter(({ scope }) => budgetGates[scope] === key)
  if (key === 'hub_budget' && budgets.length === 0) {
    return closed('No budget pays for it.', 'An admin can create one.', '/budgets')
  }
  if (own.length === 0) return null
  const short = admission?.isExhausted ? own.filter(({ isShort }) => isShort) : []
  const facts = (short.length > 0 ? short : own).map((each) => formatUse(each, context)).join(' ')
  return short.length > 0
    ? closed(
        facts,
        'An admin can raise the limit. Otherwise it continues after the reset.',
        '/budgets',
      )
    : open(facts, '/budgets')
}

/** Whether the viewer may see amounts: those of one account, also of the budget of its role, are its own. */
function canSeeAmounts({ scope, scopeId }: PayingBudget, { viewer, facts }: GateContext): boolean {
  if (viewer?.isAdmin) return true
  if (scope === 'requester') return viewer?.id === scopeId
  if (scope !== 'role:member' && scope !== 'role:guest') return true
  const requesters = facts.item?.requesters ?? []
  return requesters.length === 1 && requesters[0] === viewer?.id
}

const centMicrousd = 10_000

/** Formats an amount of a budget; precisely when the whole budget is about a cent or less. */
function formatAmount(microusd: number, limitMicrousd: number): string {
  if (limitMicrousd > centMicrousd) return formatMoney(microusd, 'budget')
  return microusd === 0 ? '$0' : formatMoney(microusd, 'trace')
}

/** Formats what of a budget is used; without amounts for those who may not see them. */
function formatUse(budget: PayingBudget, context: GateContext): string {
  const { period, name, endsAt } = budget
  const isVisible = canSeeAmounts(budget, context)
  const what = `The ${periodLabels[period]} budget${name === null ? '' : ` of ${name}`}`
  const reset =
    endsAt === null ? ' Its period begins in a moment.' : ` It resets on ${formatExact(endsAt)}.`
  if (!isVisible) return `${what} ${budget.isShort ? 'is used up' : 'has money left'}.${reset}`
  const parts = [
    budget.limitMicrousd === null
      ? null
      : `${formatAmount(budget.spentMicrousd, budget.limitMicrousd)} of ${formatAmount(budget.limitMicrousd, budget.limitMicrousd)}`,
    budget.limitTokens === null
      ? null
      : `${formatCount(budget.spentTokens)} of ${formatPlural(budget.limitTokens, 'token', 'tokens')}`,
  ].filter((part) => part !== null)
  return parts.length === 0
    ? `${what} has no limit.`
    : `${what} has spent ${parts.join(' and ')}.${reset}`
}

/** Gates that only a thread has. */
const inThread =
  (make: (context: GateContext, post: NonNullable<QuietFacts['thread']>) => Made | null): Maker =>
  (context) =>
    context.facts.thread ? make(context, context.facts.thread) : null

/** Returns the reply limit that an item or its run was stopped by; null: none. */
function findLimit({ facts: { item } }: GateContext): string | null {
  const name = item?.refusal ?? item?.replyRefusal ?? null
  return name?.startsWith('reply_limit_') ? name : null
}

const notResponding = 'The scheduler is not responding.'

const makers: Record<GateKey, Maker> = {
  mention: inThread(({ facts: { agent, item } }, post) => {
    const { name, answersMentions, mentionedAt } = agent
    if (item && (item.isTask || item.refusal !== null)) {
      return open(
        `${item.fromName ?? 'The hub'} addressed ${name} at ${formatExact(item.createdAt)}.`,
      )
    }
    if (mentionedAt === null) {
      return closed(
        `No text of this thread mentions @${name}.`,
        `Write @${name} in a reply. Names in code, quotes and links do not count, nor names that an edit adds.`,
        postPath(post.id),
      )
    }
    const at = `A text mentioned ${name} at ${formatExact(mentionedAt)}`
    return answersMentions
      ? closed(
          `${at}, and that was no task for ${name}.`,
          `Mention @${name} in a new reply.`,
          postPath(post.id),
        )
      : closed(
          `${at}; mentions are off in the definition of ${name}.`,
          'Set behavior.respond_to_mentions in the definition.',
          accountPath(name),
        )
  }),
  access: inThread(({ facts: { agent, item } }) =>
    agent.canRead && item?.refusal !== unreadableRefusal
      ? open(`${agent.name} reads this community.`)
      : closed(
          `${agent.name} does not read this community.`,
          `A moderator can add ${agent.name} as a member. Then mention ${agent.name} again.`,
        ),
  ),
  thread: inThread(({ facts: { item } }, post) => {
    const refusal = item?.replyRefusal ?? item?.refusal ?? null
    const isOfThread = refusal !== null && threadRefusals.has(refusal)
    if (post.title === null) return closed('The post was removed.', 'Start a new thread.')
    if (post.isLocked) return closed('The thread is locked.', 'A moderator can unlock it.')
    if (!isOfThread) return open('The thread takes replies.')
    return closed(
      formatReplyRefusal(refusal, post.limits),
      'Mention the agent in a new reply.',
      postPath(post.id),
    )
  }),
  answered: inThread((context, post) => {
    const { item, agent } = context.facts
    if (!item?.isTask || item.isWaiting || item.runState === 'running') {
      return open('Not answered yet.')
    }
    if (item.runState === 'parked') return open(`Not answered yet: the run of ${agent.name} waits.`)
    if (item.refusal === withdrawnRefusal) {
      return closed(
        'The question was withdrawn with a stop before a run started.',
        'Mention the agent to ask again.',
        postPath(post.id),
      )
    }
    if (item.replyRefusal !== null && item.replyId === null)
      return open(`${agent.name} posted no answer.`)
    const at = item.finishedAt ?? item.readAt
    const when = at === null ? '' : ` at ${formatExact(at)}`
    return item.replyId === null
      ? closed(
          `The run of ${agent.name} ended without an answer${when}.`,
          'Mention the agent again. The run shows why.',
          item.runId && activationPath(item.runId),
        )
      : closed(
          `${agent.name} answered${when}.`,
          'Mention the agent again for another answer.',
          commentPath(post.id, item.replyId),
        )
  }),
  reply_limit: inThread((context, post) => {
    const limit = findLimit(context)
    return limit === null || limit === 'reply_limit_calls'
      ? open(
          `No limit stopped ${context.facts.agent.name}. Agents can wake one another ${formatPlural(post.limits.hopLimit, 'time', 'times')} in a row, and write ${formatPlural(post.limits.replyLimit, 'comment', 'comments')} in a thread, without a person.`,
        )
      : closed(
          explainReplyLimit(limit, post.limits) ?? 'A reply limit was reached.',
          'Write a comment as a person, and mention the agent.',
          postPath(post.id),
        )
  }),
  hourly_calls: inThread((context, post) => {
    const { item } = context.facts
    const count = `${formatCount(item?.calls ?? 0)} of ${replyLimits.callsOutsideMax} mentions by the same account in the last hour`
    return findLimit(context) === 'reply_limit_calls'
      ? closed(
          `${count}. ${explainReplyLimit('reply_limit_calls', post.limits) ?? ''}`,
          'Mention the agent as a person, or wait an hour.',
          postPath(post.id),
        )
      : open(`${count}; the limit is for external agents.`)
  }),
  requester: inThread(({ facts: { item } }, post) => {
    const isStopped = item?.refusal === 'requester_stopped' || item?.isRequesterStopped === true
    return isStopped
      ? closed(
          'The account that asked is disabled, banned or muted here.',
          'Mention the agent yourself to have it answered.',
          postPath(post.id),
        )
      : open('The account that asked may ask.')
  }),
  account: ({ facts: { agent } }) =>
    agent.isStopped
      ? closed(
          `The account of ${agent.name} is disabled, banned or muted on this hub.`,
          'An admin can lift that.',
          accountPath(agent.name),
        )
      : open(`The account of ${agent.name} may act.`),
  agent_pause: ({ facts: { agent } }) =>
    agent.isPaused
      ? closed(
          `${agent.name} is paused by an admin. Its tasks wait.`,
          `An admin can resume ${agent.name}.`,
          accountPath(agent.name),
        )
      : open(`${agent.name} is not paused.`),
  hub_pause: ({ facts: { agent } }) =>
    agent.isHubPaused
      ? closed(
          'All agents are paused by an admin. Tasks wait.',
          'An admin can resume them.',
          '/scheduler',
        )
      : open('Agents are not paused.'),
  provider: ({ facts: { agent } }) =>
    agent.awaitsProvider
      ? closed(
          `The model provider of ${agent.name} is down${agent.providerDueAt === null ? '' : `, and is tried again at ${formatExact(agent.providerDueAt)}`}.`,
          `Nothing is lost: ${agent.name} continues when the provider answers.`,
          '/m/agent-errors',
        )
      : open(`No outage of the model provider of ${agent.name} is known.`),
  model: ({ facts: { agent, item }, modelProblem }) => {
    const model = item?.model ?? agent.model
    if (modelProblem === null) return open(`${model} can be called.`)
    return modelProblem.isFinal
      ? closed(
          modelProblem.message,
          'An admin can set the key, or choose another model.',
          '/docs#models',
        )
      : open(`${modelProblem.message} The built-in offline model answers.`, '/docs#models')
  },
  approval: ({ facts: { agent, item, thread } }) => {
    const since = thread ? (item?.approvalSince ?? null) : agent.approvalSince
    return since === null
      ? open(`No call of ${agent.name} requires approval.`)
      : closed(
          `A call of ${agent.name} requires approval since ${formatExact(since)}.`,
          'An admin can approve or deny the call.',
          '/approvals',
        )
  },
  running: ({ facts: { agent, item } }) => {
    const { runningId, runningSince } = agent
    if (runningId === null || runningSince === null) return open(`${agent.name} has no other run.`)
    if (item?.runId === runningId) {
      return open(`${agent.name} is answering now.`, activationPath(runningId))
    }
    return closed(
      `${agent.name} has another run since ${formatExact(runningSince)}; an agent has one run at a time.`,
      `${agent.name} continues when that run ends.`,
      activationPath(runningId),
    )
  },
  queue: inThread(({ facts: { agent, item } }) =>
    item !== undefined && item.ahead > 0
      ? closed(
          `${formatPlural(item.ahead, 'older task runs', 'older tasks run')} first.`,
          `${agent.name} continues when they are done.`,
          '/scheduler',
        )
      : open('No older task waits.'),
  ),
  capacity: ({ facts: { agent, hub }, scheduler }) => {
    if (scheduler === null) return { ...open(notResponding), state: 'unknown' }
    const used = `${formatCount(hub.running)} of ${formatCount(scheduler.capacity)} slots are in use`
    return scheduler.tasks[0] === 'no_slot'
      ? closed(`${used}.`, `${agent.name} starts when a slot is free.`, '/scheduler')
      : open(`${used}.`)
  },
  requester_budget: (context) => makeBudgetGate(context, 'requester_budget'),
  agent_budget: (context) => makeBudgetGate(context, 'agent_budget'),
  community_budget: (context) => makeBudgetGate(context, 'community_budget'),
  model_budget: (context) => makeBudgetGate(context, 'model_budget'),
  hub_budget: (context) => makeBudgetGate(context, 'hub_budget'),
  reserved: ({ facts: { admission, agent, item } }) =>
    admission && !admission.isExhausted && !admission.isFree && item?.runState !== 'running'
      ? closed(
          `What the budgets of ${agent.name} leave is reserved by other runs.`,
          `${agent.name} starts when they end and release the money.`,
          '/scheduler',
        )
      : open('No other run holds the money back.'),
  schedule: ({ facts: { agent, thread } }) =>
    thread
      ? null
      : open(
          agent.scheduledAt === null
            ? `The definition of ${agent.name} has no schedule.`
            : `The next scheduled task of ${agent.name} is at ${formatExact(agent.scheduledAt)}.`,
        ),
  exploration: ({ facts, scheduler, now }) => {
    const { agent, explorer, thread } = facts
    if (thread || !explorer) return null
    const [exploration] = scheduler?.explorations ?? []
    if (!exploration) return { ...open(notResponding), state: 'unknown' }
    const paid = addPause(explorer, facts.explorationBudgets)
    const fact = formatExplorationReason({ ...paid, exploration }, scheduler, now)
    const { reason } = exploration
    return reason === 'next' || reason === 'running'
      ? open(fact)
      : closed(fact, `Mention ${agent.name} to start a run without waiting.`, '/scheduler')
  },
}

/** Refusals because of the thread, not of a limit. */
const threadRefusals = new Set([
  'thread_locked',
  'post_deleted',
  'content_deleted',
  'content_removed',
  'agent_banned',
])

/** Returns the gates of an agent, and of a thread if there is one, in their order. */
const listGates = (context: GateContext): Gate[] =>
  gateKeys.flatMap((key) => {
    const made = makers[key](context)
    return made === null ? [] : [{ key, ...made }]
  })

/** Returns why the agent is quiet in one sentence: the first closed gate, or that none is closed. */
export function summarizeGates(gates: Gate[], name: string): string {
  const stopping = gates.find(({ state }) => state === 'closed')
  if (stopping) return stopping.fact
  return gates.some(({ state }) => state === 'unknown')
    ? `Nothing that is known stops ${name}.`
    : `Nothing stops ${name}.`
}

type Agent = NonNullable<QuietFacts['agent']>

/**
 * Returns the gates of an agent. Besides the reads it asks the scheduler about slots and the agents' module
 * about the model; neither reads the database.
 */
export async function readGates(
  { agents, scheduler, clock }: ActionContext,
  facts: QuietFacts & { agent: Agent },
  viewer: GateContext['viewer'],
): Promise<Gate[]> {
  const { agent, item, hub, explorer } = facts
  // The gates of pauses and other runs stand apart: the scheduler is only asked for a slot.
  const explorers = explorer ? [addPause(explorer, facts.explorationBudgets)] : []
  const [view, exploring, modelProblem] = await Promise.all([
    scheduler.explain(toQuestion({ ...hub, isPaused: false }, [], [freeTask])).catch(() => null),
    scheduler.explain(toQuestion(hub, explorers, [])).catch(() => null),
    findModelProblem(agents, agent, item?.model ?? null),
  ])
  return listGates({
    facts,
    scheduler: view && exploring && { ...view, explorations: exploring.explorations },
    modelProblem,
    viewer,
    now: clock.now(),
  })
}

/** Returns why an agent's model cannot be called. Without a key for it the offline model answers. */
async function findModelProblem(
  agents: ActionContext['agents'],
  { name, etag, model }: Agent,
  override: string | null,
): Promise<GateContext['modelProblem']> {
  try {
    await agents.checkModel({ name, etag }, override ?? model)
    return null
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const isFinal = override !== null || error.code === 'INVALID_DEFINITION'
    return { message: error.message, isFinal }
  }
}
