import type { Outcome } from '../../shared/errors'
import { explainReplyLimit } from '../reply-limits/explain-reply-limit'

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

/** Formats how a run ended; null is a run that has not ended. */
export const formatOutcome = (outcome: string | null): string =>
  outcome === null ? 'running' : (outcomeLabels[outcome] ?? outcome)

/** Reasons why an answer was not posted, by the stored refusal. */
const refusalMessages: Record<string, string> = {
  thread_locked: 'The thread was locked before the answer was ready.',
  post_deleted: 'The post was deleted before the answer was ready.',
  content_removed: 'A moderator removed what it answers.',
  agent_banned: 'The agent is muted or banned in this community.',
  credential_withheld:
    'The answer contained text that looks like a credential, so a notice was posted instead.',
}

/** Formats why an answer was not posted, or was replaced by a notice. */
export const formatReplyRefusal = (refusal: string | null): string =>
  refusalMessages[refusal ?? ''] ?? explainReplyLimit(refusal) ?? 'The answer could not be posted.'

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

/** Formats a tool name as server and tool: `hub_read_thread` becomes `hub.read_thread`. */
export const formatToolName = (name: string): string => name.replace('_', '.')

/** Returns true for a model of the built-in provider, such as `offline/extractive`. */
export const isOfflineModel = (model: string): boolean => model.startsWith('offline/')
