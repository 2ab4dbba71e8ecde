import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, CommentId, PostId } from '../../shared/ids'
import type { ChangedRequest } from '../contract/activations'
import { activations } from '../schema/activations'
import { changedRequests, inboxItems } from '../schema/inbox'

const i = alias(inboxItems, 'i')
const x = alias(activations, 'x')
const w = alias(changedRequests, 'w')

/** A post, or one of its comments. */
export interface Content {
  postId: PostId
  /** Null for the post itself. */
  commentId: CommentId | null
}

/** Why nobody answers a text: its author deleted it, or a moderator removed it. */
export type DeletionRefusal = 'content_deleted' | 'content_removed'

/** Ends the waiting tasks of agents about it. A parked run ends itself when it is resumed. */
const endTasks = prepare((v: Params<Content & { now: number; refusal: DeletionRefusal }>) =>
  write(
    updateSet(
      inboxItems,
      { readAt: v.now, refusal: v.refusal },
      sql`WHERE ${inboxItems.postId} = ${v.postId} AND (${v.commentId} IS NULL OR ${inboxItems.commentId} = ${v.commentId})
        AND ${inboxItems.isTask} = 1 AND ${inboxItems.readAt} IS NULL
        AND ${inboxItems.claimedBy} IS NULL AND ${inboxItems.type} <> 'approval_decision'`,
    ),
  ),
)

/** Records that the runs of the thread for which `isMeant` holds were asked in words that changed. */
const record = (postId: SQLWrapper, isMeant: SQL): Statement<void> =>
  write(
    insertSelect(
      changedRequests,
      { agentId: x.agentId, activationId: x.id, postId: x.postId },
      sql`FROM ${activations} ${x} WHERE ${x.postId} = ${postId} AND ${isMeant} ON CONFLICT DO NOTHING`,
    ),
  )

const recordThread = prepare(({ postId }: Params<Pick<Content, 'postId'>>) =>
  record(postId, sql`true`),
)

const recordText = prepare(({ postId, commentId }: Params<Content>) =>
  record(
    postId,
    sql`(${x.replyCommentId} = ${commentId} OR EXISTS (SELECT 1 FROM ${inboxItems} ${i}
      WHERE ${i.claimedBy} = ${x.id} AND ${i.postId} = ${x.postId} AND ${i.commentId} IS ${commentId}))`,
  ),
)

/**
 * Returns what follows when a text is edited: the agents that answered it have to delete its old words from their
 * memory, which their next run does (`changedRequestsSql`). Put it into the batch of the edit.
 */
export const changeStatements = (content: Content): Statement<void> => recordText(content)

/** Returns what follows when a text is deleted or removed, for its batch: nobody answers it any more either. */
export const deletionStatements = (
  { postId, commentId }: Content,
  ended: { now: number; refusal: DeletionRefusal },
): Statement<void>[] => [
  endTasks({ postId, commentId, ...ended }),
  commentId === null ? recordThread({ postId }) : recordText({ postId, commentId }),
]

/** Of one run; further ones follow with the next. */
const changedMax = sql.raw('200')

/** Returns the runs of an agent that have ended, and of whose words it has to delete what it remembers. */
export const changedRequestsSql = (agentId: SQLWrapper): SQL<ChangedRequest[]> =>
  sql`(SELECT json_group_array(json_object('activationId', activation_id, 'postId', post_id)) FROM (
    SELECT ${w.activationId}, ${w.postId} FROM ${changedRequests} ${w}
    CROSS JOIN ${activations} ${x} ON ${x.id} = ${w.activationId} AND ${x.state} = 'done'
    WHERE ${w.agentId} = ${agentId} LIMIT ${changedMax}))`.mapWith(
    (list: string): ChangedRequest[] => JSON.parse(list),
  )

/** Deletes those of them that the agent has dealt with. */
export const deleteChangedRequests = (
  agentId: AccountId,
  ids: readonly ActivationId[],
): Statement<void> => deleteRows({ agentId, ids: JSON.stringify(ids) })

const deleteRows = prepare(({ agentId, ids }: Params<{ agentId: AccountId; ids: string }>) =>
  write(sql`DELETE FROM ${changedRequests} WHERE ${changedRequests.agentId} = ${agentId}
    AND ${changedRequests.activationId} IN (SELECT value FROM json_each(${ids}))`),
)
