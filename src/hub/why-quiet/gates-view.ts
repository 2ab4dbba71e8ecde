import { replyLimits } from '../../shared/config'
import { formatCount, formatExact, formatPlural } from '../../shared/format'
import { accountPath, activationPath, commentPath, postPath } from '../../shared/paths'
import { explainReplyLimit, unreadableRefusal } from '../reply-limits/explain-reply-limit'
import { addPause } from '../scheduler/read-board'
import { formatExplorationReason } from '../scheduler/scheduler-labels'
import { formatReplyRefusal } from '../traces/run-labels'
import { makeBudgetGate } from './budget-gates-view'
import { type GateKey, gateKeys } from './gate-labels'
import { closed, type Gate, type GateContext, type Made, type Maker, open } from './gate-view'
import type { QuietFacts } from './queries'

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
export const listGates = (context: GateContext): Gate[] =>
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
