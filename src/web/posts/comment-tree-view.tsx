import type { FC } from 'hono/jsx'
import type { Branch } from '../../hub/comments/comment-tree'
import type { FollowingRow } from '../../hub/following/queries'
import type { RemovalRow } from '../../hub/moderation/viewer-queries'
import { formatUnmet, listAccountsMissing } from '../../hub/traces/run-labels'
import { commentPath, postPath } from '../../shared/paths'
import { type FeedbackCounts, FeedbackForm, noFeedback } from '../activations/feedback-form'
import type { Frame } from '../frame/frame'
import { ModerateForm } from '../moderation/moderate-form'
import { RemovedNotice } from '../moderation/removed-notice'
import { AccountLink } from '../parts/account-link'
import { Prose } from '../parts/prose'
import { type Provenance, ProvenanceLine } from '../parts/provenance'
import { RelativeTime } from '../parts/relative-time'
import { VoteForm } from '../votes/vote-form'
import { ReplyComposer } from './composer'
import { ContentLinks } from './content-links'
import { FollowingNote } from './following-note'
import type { ThreadComment } from './page-queries'
import type { ReplyFormState } from './post-forms'

export interface CommentTreeProps {
  branches: Branch<ThreadComment>[]
  /** Names of accounts in lower case; mentions of them become links. */
  knownNames: ReadonlySet<string>
  /** The viewer's own votes by comment id. */
  votes: ReadonlyMap<string, number>
  /** What people think of the answers of runs, by the id of the run. */
  feedback: ReadonlyMap<string, FeedbackCounts>
  frame: Frame
  postId: string
  /** The reply being written, shown below its parent comment; null when there is none. */
  reply: ReplyFormState | null
  isLocked: boolean
  /** What moderators removed, by comment id. */
  removals: ReadonlyMap<string, RemovalRow>
  mayModerate: boolean
  /** Agents that follow the thread, by the id of their newest answer. */
  following: ReadonlyMap<string, FollowingRow>
  /** The branches are not shown below their parents; a parent may be on another page. */
  isRoot: boolean
}

export const CommentTree: FC<CommentTreeProps> = (props) => (
  <>
    {props.branches.map((branch) => (
      <Comment {...props} branch={branch} />
    ))}
  </>
)

const Comment: FC<CommentTreeProps & { branch: Branch<ThreadComment> }> = (props) => {
  const { branch, knownNames: known, frame, postId, reply } = props
  const provenance = provenanceOf(
    branch,
    props.frame.viewer?.id,
    commentPath(props.postId, branch.id),
  )
  const followed = props.following.get(branch.id)
  const hasComposer = reply?.typed.parent_id === branch.id
  return (
    <article
      class="reply"
      id={`c-${branch.id}`}
      data-author={branch.authorName}
      data-parent={branch.parentId ? `c-${branch.parentId}` : undefined}
      data-v={toEntryVersion(branch, props.isLocked)}
      data-row
    >
      <div class="by">
        <AccountLink name={branch.authorName} kind={branch.authorKind} />
        <a href={commentPath(postId, branch.id)}>
          <RelativeTime at={branch.createdAt} now={frame.now} />
        </a>
        {branch.editedAt !== null && <span>edited</span>}
        {props.isRoot && branch.parentId !== null && (
          <a href={commentPath(postId, branch.parentId)}>in reply to an earlier reply</a>
        )}
      </div>
      {branch.deletedAt === null ? (
        <Prose of={branch} knownNames={known} />
      ) : (
        <GoneComment {...props} />
      )}
      {branch.isExcerpt && (
        <p class="meta">
          <a href={commentPath(postId, branch.id)}>
            Show all<span class="vh"> of the reply by {branch.authorName}</span>
          </a>
        </p>
      )}
      {provenance && <ProvenanceLine of={provenance} />}
      {provenance?.outcome && branch.deletedAt === null && (
        <FeedbackForm
          viewer={frame.viewer}
          activationId={provenance.activationId}
          formKey={branch.id}
          agentName={branch.authorName}
          counts={props.feedback.get(provenance.activationId) ?? noFeedback}
          next={commentPath(postId, branch.id)}
        />
      )}
      {followed && <FollowingNote of={followed} postId={postId} />}
      <CommentActions {...props} />
      {hasComposer && reply && (
        <ReplyComposer
          frame={frame}
          postId={postId}
          parentId={branch.id}
          to={branch.authorName}
          form={reply}
        />
      )}
      <CommentTree {...props} branches={branch.replies} isRoot={false} />
    </article>
  )
}

/** Returns what an open page compares to notice that an entry was edited, removed, restored or locked. */
const toEntryVersion = (
  { editedAt, deletedAt }: { editedAt: number | null; deletedAt: number | null },
  isLocked: boolean,
): string => `${editedAt ?? ''}${deletedAt === null ? '' : 'd'}${isLocked ? 'l' : ''}`

/** Vote, links and the form of moderators. */
const CommentActions: FC<CommentTreeProps & { branch: Branch<ThreadComment> }> = (props) => {
  const { branch, frame, postId, isLocked } = props
  return (
    <>
      <div class="more">
        {branch.deletedAt === null && (
          <VoteForm
            viewer={frame.viewer}
            postId={postId}
            commentId={branch.id}
            of={`the reply by ${branch.authorName}`}
            authorName={branch.authorName}
            score={branch.score}
            value={props.votes.get(branch.id) ?? 0}
            next={commentPath(postId, branch.id)}
          />
        )}
        {!isLocked && branch.deletedAt === null && (
          <a href={`${postPath(postId)}?reply_to=${encodeURIComponent(branch.id)}#c-${branch.id}`}>
            Reply<span class="vh"> to {branch.authorName}</span>
          </a>
        )}
        {branch.deletedAt === null && (
          <ContentLinks
            viewer={frame.viewer}
            postId={postId}
            commentId={branch.id}
            authorName={branch.authorName}
          />
        )}
      </div>
      {props.mayModerate && (branch.deletedAt === null || branch.removalReason !== null) && (
        <ModerateForm
          postId={postId}
          commentId={branch.id}
          of={`the reply by ${branch.authorName}`}
          authorName={branch.authorName}
          isRemoved={branch.removalReason !== null}
          next={commentPath(postId, branch.id)}
        />
      )}
    </>
  )
}

const GoneComment: FC<CommentTreeProps & { branch: Branch<ThreadComment> }> = (props) => {
  const { id, removalReason } = props.branch
  return removalReason === null ? (
    <p class="meta">This reply was deleted.</p>
  ) : (
    <RemovedNotice reason={removalReason} removal={props.removals.get(id)} />
  )
}

/** Returns the activation behind a comment; null when a person or an external agent wrote it. */
function provenanceOf(
  comment: ThreadComment,
  viewerId: string | undefined,
  path: string,
): Provenance | null {
  const { activationId, startedAt } = comment
  if (activationId === null || startedAt === null) return null
  return {
    activationId,
    outcome: comment.outcome,
    model: comment.model ?? '',
    program: comment.program,
    unmet: formatUnmet(comment.unmetCalls, comment.notGranted ?? []),
    accountsMissing:
      comment.requesterId === viewerId ? listAccountsMissing(comment.unmetCalls) : [],
    path,
    tools: comment.tools ?? [],
    startedAt,
    finishedAt: comment.finishedAt,
    tokens: comment.tokens ?? 0,
    costMicrousd: comment.costMicrousd ?? 0,
    isPriced: comment.isPriced ?? false,
  }
}
