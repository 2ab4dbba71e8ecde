import type { ExplorationOutcome } from '../../agents/contract/agents'
import type { AccountId, CommentId } from '../../shared/ids'
import type { CommitRequest, CommitResult } from '../contract/hub'
import type { Db } from '../db'
import { toCommitEvent } from '../exploration/scheduler-events'
import { findMentions } from '../mentions/find-mentions'
import { findCredential, maskCredentials } from '../posts/credential-patterns'
import { type CommitResultRow, commitStatements, type ReplyMentions } from './commit-queries'
import { maskTrace } from './mask-trace'

type Reply = NonNullable<CommitRequest['reply']>

const withheldNotice =
  'My reply contained text that looks like a credential, so it was not posted. ' +
  'Ask an admin to review my activation.'

/**
 * Commits an activation: reply, settlement, consumption of the claimed items, audit and trace in one
 * round trip. Idempotent: a repeat returns the result of the first call.
 */
export async function commit(
  db: Db,
  request: CommitRequest,
  keyPrefix: string,
): Promise<{ answer: CommitResult; turn: ExplorationOutcome | null; hasCrossed: boolean }> {
  const safe = maskCredentialsIn(request, keyPrefix)
  const withheld = safe.reply?.content === request.reply?.content ? null : 'credential_withheld'
  const names = findReplyMentions(safe.reply)
  const { statements, resultAt } = commitStatements(db, safe, names, withheld)
  const results = await db.d1.batch<unknown>(statements)
  const row = results[resultAt]?.results[0] as CommitResultRow | undefined
  const waiting = (results[resultAt + 1]?.results ?? []) as { id: AccountId }[]
  const answer: CommitResult = {
    kind: row?.state === 'done' ? 'done' : 'lost',
    replyId: (row?.replyId ?? null) as CommentId | null,
    replyRefusal: row?.replyRefusal ?? null,
    waiting: waiting.map(({ id }) => id),
  }
  return { answer, turn: toCommitEvent(request, row), hasCrossed: row?.hasCrossed === 1 }
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

function findReplyMentions(reply: CommitRequest['reply']): ReplyMentions {
  const mentioned = reply ? findMentions(reply.content) : []
  const addressed = new Set(reply?.addressed?.map((name) => name.toLowerCase()))
  return { mentioned, toWake: mentioned.filter((name) => !addressed.has(name.toLowerCase())) }
}

/**
 * Masks credentials in everything that the commit publishes. A reply with a credential is replaced by a
 * notice, so that the requester still gets a reply, with the reason.
 */
function maskCredentialsIn(request: CommitRequest, keyPrefix: string): CommitRequest {
  const mask = (text: string) => maskCredentials(text, keyPrefix)
  const { reply, report, error } = request
  const canPost = !reply || findCredential(reply.content, keyPrefix) === null
  return {
    ...request,
    reply: canPost ? reply : toWithheldNotice(reply),
    error: error && { ...error, message: mask(error.message) },
    report: report && { ...report, title: mask(report.title), content: mask(report.content) },
    trace: maskTrace(request.trace, keyPrefix),
  }
}
