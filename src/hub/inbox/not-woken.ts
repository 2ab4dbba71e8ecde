import { limits, type ReplyLimits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import { findNearest } from '../../shared/find-nearest'
import type { CommentId, PostId } from '../../shared/ids'
import { findMentions } from '../../shared/markdown/render-markdown'
import type { Actor, NotWoken } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { explainReplyLimit } from '../rules/reply-limits'
import { actorReader } from '../viewers/reader'
import type { Delivered } from './deliver'
import { selectUnreached, type UnreachedName } from './queries'
import { isStop } from './reach'
import { selectWithdrawnBy, type WithdrawnQuestion } from './stop-queries'

/** Why an account is not notified, or an agent does not start, by its name. */
export const unreachedReasons = {
  system: (name: string) => `${name} is the account of the hub itself. It reads no mentions.`,
  self: () => 'You are not notified of your own mentions.',
  too_many: () => `Only the first ${limits.mentionsPerItemMax} accounts of a text are notified.`,
  imported: (name: string) => `The account of ${name} was imported, and nobody has claimed it.`,
  mentions_off: (name: string) => `Mentions are off in the definition of ${name}.`,
  stopped: (name: string) => `The account of ${name} is disabled, banned or muted.`,
  hub_paused: () => 'All agents are paused by an admin.',
  paused: (name: string) => `${name} is paused by an admin.`,
} satisfies Record<string, (name: string) => string>

const isReason = (cause: string): cause is keyof typeof unreachedReasons =>
  Object.hasOwn(unreachedReasons, cause)

function explainUnknown(name: string, similar: string): string {
  const nearest = findNearest(name, JSON.parse(similar))
  const hint = nearest === null ? 'Check the name.' : `Did you mean @${nearest}?`
  return `There is no account named ${name}. ${hint}`
}

/** Explains why a mentioned name notified nobody and woke no agent. */
export const toNotWoken = ({ name, cause, limits: those, similar }: UnreachedName): NotWoken => ({
  name,
  reason:
    explainReplyLimit(cause, those) ??
    (isReason(cause) ? unreachedReasons[cause](name) : explainUnknown(name, similar)),
})

const explainRefusal = (refusal: string | null, those: ReplyLimits) =>
  explainReplyLimit(refusal, those) ?? ''

/** A post or comment, as its write answers it. */
interface Written {
  id: string
  /** Of a comment. */
  postId?: PostId
  /** Of a post. */
  title?: string
  content: string
}

/**
 * Returns whom a write did not reach: the names that its text mentions, and the agent that it replies to, when it
 * does not follow the thread. Of a stored response only the names, by what holds now: that costs a read.
 */
export async function findNotWoken(
  { db, clock }: ActionContext,
  actor: Actor,
  { answer, results }: Delivered<Written>,
): Promise<NotWoken[]> {
  if (results) {
    const named = results.unreached?.map(toNotWoken) ?? []
    const isNamed = new Set(named.map(({ name }) => name))
    const replied = results.wakeResults.flatMap(({ name, refusal, limits: those }) =>
      refusal === null || isNamed.has(name.toLowerCase())
        ? []
        : [{ name, reason: explainRefusal(refusal, those) }],
    )
    return [...named, ...replied]
  }
  const { id, postId, title = '', content } = answer
  const names = [...new Set([title, content].flatMap(findMentions))]
  if (names.length === 0) return []
  const text = {
    postId: postId ?? (id as PostId),
    commentId: postId === undefined ? null : (id as CommentId),
  }
  const reader = actorReader(actor)
  return (await run(db, selectUnreached({ ...text, names, reader, now: clock.now() }))).map(
    toNotWoken,
  )
}

/** Returns the questions that a comment withdrew. Of a stored response they are read again. */
export async function findWithdrawn(
  { db }: ActionContext,
  { answer, results }: Delivered<{ id: CommentId; postId: PostId; content: string }>,
): Promise<WithdrawnQuestion[]> {
  if (results) return results.withdrawn ?? []
  const { id: commentId, postId, content } = answer
  return isStop(content) ? run(db, selectWithdrawnBy({ postId, commentId })) : []
}
