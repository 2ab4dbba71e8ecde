import type { AccountId, CommentId } from '../../ids'
import type { CommitAnswer, CommitRequest } from '../contract'
import type { Db } from '../db'
import { findMentions } from '../mentions/find-mentions'
import { findCredential } from '../posts/credential-shapes'
import { type CommitResultRow, commitStatements } from './commit-queries'

const withheld =
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
): Promise<CommitAnswer> {
  const safe = withholdCredential(request, keyPrefix)
  const named = safe.reply ? findMentions(safe.reply.content) : []
  const { statements, resultAt } = commitStatements(db, safe, named)
  const results = await db.d1.batch<unknown>(statements)
  const row = results[resultAt]?.results[0] as CommitResultRow | undefined
  const waiting = (results[resultAt + 1]?.results ?? []) as { id: AccountId }[]
  return {
    kind: row?.state === 'done' ? 'done' : 'lost',
    replyId: (row?.replyId ?? null) as CommentId | null,
    replyRefusal: row?.replyRefusal ?? null,
    waiting: waiting.map(({ id }) => id),
  }
}

/** The asker gets a reply all the same, and it says why it is not the answer (H14, L37). */
function withholdCredential(request: CommitRequest, keyPrefix: string): CommitRequest {
  if (!request.reply || findCredential(request.reply.content, keyPrefix) === null) return request
  return { ...request, reply: { ...request.reply, content: withheld } }
}
