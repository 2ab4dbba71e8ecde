import type { TurnNews } from '../../agents/contract'
import type { AccountId, CommentId } from '../../ids'
import type { CommitAnswer, CommitRequest } from '../contract'
import type { Db } from '../db'
import { describeCommit } from '../exploration/tell-scheduler'
import { findMentions } from '../mentions/find-mentions'
import { findCredential, maskCredentials } from '../posts/credential-shapes'
import { type CommitResultRow, commitStatements, type Names } from './commit-queries'
import { maskTrace } from './mask-trace'

type Reply = NonNullable<CommitRequest['reply']>

const withheldNotice =
  'I had an answer, but it held text shaped like a credential, so I keep it to myself. ' +
  'Ask an admin to look at my activation.'

/**
 * COMMIT: answer, settlement, consumption of the claimed items, audit and trace in one round trip.
 * Repeating it is harmless; a repeat reads what the first one did.
 */
export async function commit(
  db: Db,
  request: CommitRequest,
  keyPrefix: string,
): Promise<{ answer: CommitAnswer; turn: TurnNews | null; hasCrossed: boolean }> {
  const safe = maskCredentialsIn(request, keyPrefix)
  const withheld = safe.reply?.content === request.reply?.content ? null : 'credential_withheld'
  const names = findNames(safe.reply)
  const { statements, resultAt } = commitStatements(db, safe, names, withheld)
  const results = await db.d1.batch<unknown>(statements)
  const row = results[resultAt]?.results[0] as CommitResultRow | undefined
  const waiting = (results[resultAt + 1]?.results ?? []) as { id: AccountId }[]
  const answer: CommitAnswer = {
    kind: row?.state === 'done' ? 'done' : 'lost',
    replyId: (row?.replyId ?? null) as CommentId | null,
    replyRefusal: row?.replyRefusal ?? null,
    waiting: waiting.map(({ id }) => id),
  }
  return { answer, turn: describeCommit(request, row), hasCrossed: row?.hasCrossed === 1 }
}

/** Names who asked, as every reply does, and calls none of them (L6, H11). */
function withhold(reply: Reply): Reply {
  const askers = reply.askers ?? reply.addressed ?? []
  const content = [...askers.map((name) => `@${name}`), withheldNotice].join(' ')
  return { ...reply, content, addressed: askers }
}

function findNames(reply: CommitRequest['reply']): Names {
  const mentioned = reply ? findMentions(reply.content) : []
  const addressed = new Set(reply?.addressed?.map((name) => name.toLowerCase()))
  return { mentioned, called: mentioned.filter((name) => !addressed.has(name.toLowerCase())) }
}

/**
 * Keeps what is shaped like a credential out of everything that is shown. The asker gets a reply all
 * the same, and it says why it is not the answer (H14, L37).
 */
function maskCredentialsIn(request: CommitRequest, keyPrefix: string): CommitRequest {
  const mask = (text: string) => maskCredentials(text, keyPrefix)
  const { reply, report, error } = request
  const isShowable = !reply || findCredential(reply.content, keyPrefix) === null
  return {
    ...request,
    reply: isShowable ? reply : withhold(reply),
    error: error && { ...error, message: mask(error.message) },
    report: report && { ...report, title: mask(report.title), content: mask(report.content) },
    trace: maskTrace(request.trace, keyPrefix),
  }
}
