import type { RuntimeEvent } from '../../agents/contract/agents'
import type { ReplyLimits } from '../../shared/config'
import type { Outcome } from '../../shared/errors'
import { formatCost, formatCount, formatShare, formatSpan } from '../../shared/format'
import { explainReplyLimit } from '../rules/reply-limits'
import { formatNote, formatToolName } from '../rules/traces'
import type { UnmetCall, UnmetReason } from '../rules/traces-sql'

/** Labels for the outcomes of a run. */
const outcomeLabels: Record<string, string> = {
  completed: 'completed',
  max_iterations: 'iteration limit',
  max_tokens: 'token limit',
  max_duration: 'time limit',
  context_limit: 'context limit',
  budget_exhausted: 'budget exhausted',
  cancelled: 'stopped',
  content_filtered: 'content filtered',
  failed: 'failed',
} satisfies Record<Outcome, string>

/** Outcomes and states of runs that a list can be filtered by, in the order of the form. */
export const outcomeOptions: Readonly<Record<string, string>> = {
  ...outcomeLabels,
  running: 'running',
  parked: 'waiting',
}

/** Formats how a run ended; null is a run that has not ended. */
export const formatOutcome = (outcome: string | null): string =>
  outcome === null ? 'running' : (outcomeLabels[outcome] ?? outcome)

/** Reasons why an answer was not posted, by the stored refusal. */
const refusalMessages: Record<string, string> = {
  thread_locked: 'The thread was locked before the answer was ready.',
  post_deleted: 'The post was deleted before the answer was ready.',
  content_removed: 'A moderator removed what it answers.',
  content_deleted: 'What it answers was deleted.',
  agent_banned: 'The agent is muted or banned in this community.',
  credential_withheld:
    'The answer contained text that looks like a credential, so a notice was posted instead.',
}

/**
 * Formats why an answer was not posted, or was replaced by a notice.
 *
 * @param limits those of the thread
 */
export const formatReplyRefusal = (refusal: string | null, limits: ReplyLimits): string =>
  refusalMessages[refusal ?? ''] ??
  explainReplyLimit(refusal, limits) ??
  'The answer could not be posted.'

/** Returns true when a notice was posted in place of the answer. */
export const isNoticePosted = (refusal: string | null): boolean => refusal === 'credential_withheld'

/** Labels for what triggered a run. */
const taskLabels: Record<string, string> = {
  mention: 'mention',
  reply: 'reply',
  dm: 'message',
  exploration: 'exploration',
  scheduled: 'schedule',
  manual: 'manual',
}

/** Formats what triggered a run. */
export const formatTask = (task: string): string => taskLabels[task] ?? task

/** Returns true for a model of the built-in provider, such as `offline/extractive`. */
export const isOfflineModel = (model: string): boolean => model.startsWith('offline/')

/** Whether a run bought nothing: its tokens are no cost, and are not shown as one. */
export const isFreeRun = (run: { model: string; costMicrousd: number }): boolean =>
  isOfflineModel(run.model) && run.costMicrousd === 0

/** What such a run shows in place of tokens and cost. */
export const freeRunLabel = 'offline model, free'

const unmetLabels: Record<UnmetReason, string> = {
  not_granted: 'not granted',
  no_account: 'no connected account',
  denied: 'denied',
  expired: 'approval expired',
  needs_approval: 'not approved',
  rate_limited: 'rate limit',
  timed_out: 'timed out',
  failed: 'failed',
}

/** Returns the remote servers where the requester had connected no account. */
export const listAccountsMissing = (calls: UnmetCall[]): string[] => [
  ...new Set(
    calls.flatMap(({ tool, reason }) =>
      reason === 'no_account' ? [tool.slice(0, tool.indexOf('_'))] : [],
    ),
  ),
]

/** Grants that one line names; the others are counted. */
const grantsShown = 3

/**
 * Formats what a run could not do: `could not: hub.search (not granted), github:* (not granted)`; null when
 * there is nothing to say.
 *
 * @param notGranted grants that its definition requests and the policy did not grant
 */
export function formatUnmet(calls: UnmetCall[], notGranted: string[]): string | null {
  const parts = [
    ...calls.map(({ tool, reason }) => `${formatToolName(tool)} (${unmetLabels[reason]})`),
    ...notGranted.slice(0, grantsShown).map((grant) => `${grant} (not granted)`),
    ...(notGranted.length > grantsShown ? [`${notGranted.length - grantsShown} more`] : []),
  ]
  return parts.length === 0 ? null : `could not: ${parts.join(', ')}`
}

/** Title of the page of an activation, by state. */
export const titleByState = {
  running: (agentName: string) => `${agentName} is working`,
  parked: (agentName: string) => `${agentName} is waiting`,
  done: (agentName: string) => `Run of ${agentName}`,
} as const

/** Status of a plan's step. */
export const planStatusLabels = {
  pending: 'to do',
  running: 'in progress',
  completed: 'done',
  failed: 'failed',
  not_done: 'not done',
} as const

type EventLabels = {
  [Type in RuntimeEvent['type']]: (event: Extract<RuntimeEvent, { type: Type }>) => string
}

const eventLabels: EventLabels = {
  woken: () => 'woken',
  started: ({ model }) => `started; model ${model}`,
  parked: ({ tools }) =>
    tools.length > 0 ? 'waiting for approval' : 'waiting for the model provider, which is down',
  resumed: ({ decisions }) =>
    decisions.length > 0 ? 'resumed: the approvals are decided' : 'resumed',
  steered: ({ from, is_moderation: isModeration }) =>
    `a comment by ${isModeration ? 'moderator ' : ''}@${from} joined the run`,
  response: ({ outcome }) => `ended: ${formatOutcome(outcome)}`,
  'step-finish': ({ step, model_ms: ms, finish_reason: reason }) =>
    `step ${step}: the model responded in ${formatSpan(ms)}, ${reason}`,
  compacted: ({ messages, tokens_before: before, tokens }) =>
    `summarized ${formatCount(messages)} messages: ` +
    `${formatCount(before)} tokens before, ${formatCount(tokens)} after`,
  usage: ({ step, input_tokens: input, output_tokens: output, cost_microusd: cost, ...event }) =>
    `step ${step}: ${formatCount(input)} tokens in, ${formatCount(output)} out, ` +
    formatCost(cost, event.is_priced, 'trace'),
  'tool-call': ({ name }) => `calls ${formatToolName(name)}`,
  'tool-result': ({ name, is_error: isError, duration_ms: ms }) =>
    `${formatToolName(name)} ${isError ? 'failed' : 'succeeded'} after ${formatSpan(ms)}`,
  warning: ({ text, quote }) => formatNote(text, quote),
  plan: ({ progress }) => `plan: ${formatShare(progress)} done`,
}

/** Returns an event as text for people. */
export const formatEvent = (event: RuntimeEvent): string =>
  (eventLabels[event.type] as (event: RuntimeEvent) => string)(event)
