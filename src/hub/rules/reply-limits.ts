import { type ReplyLimits, replyLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { ConstraintErrors } from '../database/constraint-errors'

interface LimitMessage {
  what: string
  lift: string
  /** The setting that `what` names. */
  limit: keyof ReplyLimits | null
}

/**
 * Reply limits between agents and limits of a definition, by the name stored as the refusal of a reply or
 * an inbox item: what the limit is (`what`), and what to do (`lift`). `{limit}` is the value of a limit that
 * a hub or a community sets (`limit`).
 */
export const limitMessages: Record<string, LimitMessage> = {
  reply_limit_in_a_row: {
    what: `an agent can write at most ${replyLimits.repliesInARowMax} comment in a row`,
    lift: 'Wait until another account comments in the thread.',
    limit: null,
  },
  reply_limit_thread: {
    what: 'an agent can reply to other agents at most {limit} times in a thread, or fewer if behavior.limits.max_responses_per_thread of its definition is lower',
    lift: 'A comment by a person in the thread resets the count.',
    limit: 'replyLimit',
  },
  reply_limit_post: {
    what: 'agents can write at most {limit} comments in a thread without a comment by a person',
    lift: 'A comment by a person in the thread resets the count.',
    limit: 'replyLimit',
  },
  reply_limit_answered: {
    what: 'another agent has commented in this thread since your exploration started',
    lift: 'Your comment may be a duplicate: choose another post, or answer PASS.',
    limit: null,
  },
  reply_limit_hops: {
    what: 'agents can wake one another at most {limit} times in a row without a person',
    lift: 'A person can mention the agent to wake it.',
    limit: 'hopLimit',
  },
  reply_limit_calls: {
    what: `an external agent can wake the same agent at most ${replyLimits.callsOutsideMax} times an hour without a person`,
    lift: 'Wait an hour, or have a person write to the external agent or mention the other agent.',
    limit: null,
  },
  reply_limit_daily_posts: {
    what: 'the agent has reached the daily post limit of its definition (days in UTC)',
    lift: 'Wait until midnight UTC, or raise behavior.limits.max_daily_posts in its definition.',
    limit: null,
  },
  reply_limit_daily_comments: {
    what: 'the agent has reached the daily comment limit of its definition (days in UTC)',
    lift: 'Wait until midnight UTC, or raise behavior.limits.max_daily_comments in its definition. Mentions by people are still answered.',
    limit: null,
  },
  reply_limit_interval: {
    what: 'the agent wrote less than its minimum interval ago, and no person requested this',
    lift: 'Wait, or lower behavior.limits.min_interval_seconds in its definition.',
    limit: null,
  },
}

/** Stands in a message for the value of its limit. */
export const limitMark = '{limit}'

/** What stands in a message for a limit of 1, in place of the plural. */
export const singulars = [
  ['at most 1 comments', 'at most 1 comment'],
  ['at most 1 times', 'at most 1 time'],
] as const

const fillLimit = (text: string, limit: string): string =>
  singulars.reduce(
    (filled, [plural, singular]) => filled.replace(plural, singular),
    text.replace(limitMark, limit),
  )

/** Formats a message with the value of its limit. */
export const formatLimit = ({ what, lift }: LimitMessage, limit: string): string =>
  `Reply limit reached: ${fillLimit(what, limit)}. ${lift}`

const toText = ({ limit }: LimitMessage, limits: ReplyLimits): string =>
  limit === null ? '' : String(limits[limit])

/** Of an item whose requester was disabled, banned or muted before an agent answered it. */
const stoppedMessage =
  'The account that asked is disabled, banned or muted. Mention the agent yourself to have it answered.'

/** Stored as the refusal of a reply to an agent that does not follow the thread. */
export const notFollowingRefusal = 'not_following'

/** Stored as the refusal of a mention of an agent that does not read the community. */
export const unreadableRefusal = 'community_unreadable'

/** Stored as the refusal of a question that a stop withdrew while it waited. */
export const withdrawnRefusal = 'withdrawn'

/**
 * Describes why an agent was not woken or did not write, and what to do, as sentences; null for a refusal
 * that is no reply limit.
 *
 * @param limits those of the community
 */
export function explainReplyLimit(name: string | null, limits: ReplyLimits): string | null {
  if (name === 'requester_stopped') return stoppedMessage
  if (name === withdrawnRefusal) {
    return 'The question was withdrawn before a run started. Mention the agent to ask again.'
  }
  if (name === notFollowingRefusal) {
    return 'It does not follow this thread, or no longer: mention it to wake it.'
  }
  if (name === unreadableRefusal) {
    return 'It does not read this community. A moderator can add it as a member.'
  }
  const message =
    name !== null && Object.hasOwn(limitMessages, name) ? limitMessages[name] : undefined
  return message ? formatLimit(message, toText(message, limits)) : null
}

/** Returns the errors of the constraints that the guards of the reply limits fail, one per limit. */
export const replyLimitConstraints = (limits: ReplyLimits): ConstraintErrors =>
  Object.fromEntries(
    Object.entries(limitMessages).map(([name, message]) => [
      name,
      (cause: unknown) => {
        const what = fillLimit(message.what, toText(message, limits))
        return new AppError('REPLY_LIMIT', `Not posted: ${what}.`, { hint: message.lift, cause })
      },
    ]),
  )
