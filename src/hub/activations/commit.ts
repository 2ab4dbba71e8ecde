import type { ExplorationOutcome } from '../../agents/contract/agents'
import { batch } from '../../shared/db/batch'
import type { PostId } from '../../shared/ids'
import type { KeyPrefixes } from '../../shared/settings'
import type { ActionContext } from '../action-context'
import type { CommitRequest, CommitResult } from '../contract/hub'
import { toCommitEvent } from '../exploration/scheduler-events'
import { renderText } from '../markdown/render-text'
import { findCredential, maskCredentials } from '../posts/credential-patterns'
import { maskTrace } from '../traces/mask-trace'
import { commitStatements } from './commit-queries'
import type { ReplyText } from './reply-queries'

type Reply = NonNullable<CommitRequest['reply']>

const withheldNotice =
  'My reply contained text that looks like a credential, so it was not posted. ' +
  'Ask an admin to review my activation.'

/**
 * Commits an activation: reply, settlement, consumption of the claimed items, audit and trace in one
 * round trip. Idempotent: a repeat returns the result of the first call.
 */
export async function commit(
  { db, clock, settings }: Pick<ActionContext, 'db' | 'clock' | 'settings'>,
  request: CommitRequest,
): Promise<{
  answer: CommitResult
  exploration: ExplorationOutcome | null
  hasCrossed: boolean
  isPushed: boolean
  /** Whether the thread of the reply can have watchers. */
  isWatched: boolean
}> {
  const safe = maskCredentialsIn(request, settings)
  const withheld = safe.reply?.content === request.reply?.content ? null : 'credential_withheld'
  const text = safe.reply ? renderReply(safe.reply) : null
  const { result, waiting, isPushed, isWatched } = await batch(
    db,
    commitStatements(safe, text, withheld, clock.newId<PostId>(request.now)),
  )
  const answer: CommitResult = {
    kind: result?.state === 'done' ? 'done' : 'lost',
    replyId: result?.replyId ?? null,
    replyRefusal: result?.replyRefusal ?? null,
    waiting,
  }
  return {
    answer,
    exploration: toCommitEvent(request, result),
    hasCrossed: result?.hasCrossed === true,
    isPushed: isPushed === true,
    isWatched: isWatched === true,
  }
}

/**
 * Returns a notice in place of the reply. It addresses the requesters, as every reply does, and wakes
 * none of them.
 */
function toWithheldNotice(reply: Reply): Reply {
  const requesters = reply.requesters ?? reply.addressed ?? []
  const content = [...requesters.map((name) => `@${name}`), withheldNotice].join(' ')
  return { ...reply, content, addressed: requesters }
}

function renderReply(reply: Reply): ReplyText {
  const { columns, names: mentioned } = renderText('comments', reply)
  const addressed = new Set(reply.addressed?.map((name) => name.toLowerCase()))
  return {
    ...columns,
    mentioned,
    toWake: mentioned.filter((name) => !addressed.has(name.toLowerCase())),
  }
}

/**
 * Masks credentials in everything that the commit publishes. A reply with a credential is replaced by a
 * notice, so that the requester still gets a reply, with the reason.
 */
function maskCredentialsIn(request: CommitRequest, keys: KeyPrefixes): CommitRequest {
  const mask = (text: string) => maskCredentials(text, keys)
  const { reply, report, error } = request
  const canPost = !reply || findCredential(reply.content, keys) === null
  return {
    ...request,
    reply: canPost ? reply : toWithheldNotice(reply),
    error: error && { ...error, message: mask(error.message) },
    report: report && { ...report, title: mask(report.title), content: mask(report.content) },
    trace: maskTrace(request.trace, keys),
  }
}
