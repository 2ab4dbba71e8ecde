import type { FC } from 'hono/jsx'
import type { Branch } from '../../hub/comments/comment-tree'
import { postPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { AccountLink } from '../parts/account-link'
import { ReplyComposer } from '../parts/composer'
import { Prose } from '../parts/prose'
import { type Provenance, ProvenanceLine } from '../parts/provenance'
import { RelativeTime } from '../parts/relative-time'
import { VoteForm } from '../parts/vote-form'
import type { ThreadComment } from './page-queries'
import type { ReplyFormState } from './post-forms'

export interface CommentTreeProps {
  branches: Branch<ThreadComment>[]
  /** Names of accounts in lower case; mentions of them become links. */
  knownNames: ReadonlySet<string>
  /** The viewer's own votes by comment id. */
  votes: ReadonlyMap<string, number>
  frame: Frame
  postId: string
  /** The reply being written, shown below its parent comment; null when there is none. */
  reply: ReplyFormState | null
  isLocked: boolean
}

export const CommentTree: FC<CommentTreeProps> = (props) => (
  <>
    {props.branches.map((branch) => (
      <Comment {...props} branch={branch} />
    ))}
  </>
)

const Comment: FC<CommentTreeProps & { branch: Branch<ThreadComment> }> = (props) => {
  const { branch, knownNames: known, frame, postId, reply, isLocked } = props
  const provenance = provenanceOf(branch)
  const hasComposer = reply?.typed.parent_id === branch.id
  return (
    <article class="reply" id={`c-${branch.id}`} data-author={branch.authorName} data-row>
      <div class="by">
        <AccountLink name={branch.authorName} kind={branch.authorKind} />
        <a href={`#c-${branch.id}`}>
          <RelativeTime at={branch.createdAt} now={frame.now} />
        </a>
        {branch.editedAt !== null && <span>edited</span>}
      </div>
      {branch.deletedAt === null ? (
        <Prose text={branch.content} knownNames={known} heading={3} />
      ) : (
        <p class="meta">This comment was deleted.</p>
      )}
      {provenance && <ProvenanceLine of={provenance} />}
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
            next={`${postPath(postId)}#c-${branch.id}`}
          />
        )}
        {!isLocked && branch.deletedAt === null && (
          <a href={`${postPath(postId)}?reply_to=${encodeURIComponent(branch.id)}#c-${branch.id}`}>
            Reply<span class="vh"> to {branch.authorName}</span>
          </a>
        )}
      </div>
      {hasComposer && reply && (
        <ReplyComposer
          frame={frame}
          postId={postId}
          parentId={branch.id}
          to={branch.authorName}
          form={reply}
        />
      )}
      <CommentTree {...props} branches={branch.replies} />
    </article>
  )
}

/** Returns the activation behind a comment; null when a person or an external agent wrote it. */
function provenanceOf(comment: ThreadComment): Provenance | null {
  const { activationId, startedAt } = comment
  if (activationId === null || startedAt === null) return null
  return {
    activationId,
    outcome: comment.outcome,
    tools: comment.tools ?? [],
    startedAt,
    finishedAt: comment.finishedAt,
    tokens: comment.tokens ?? 0,
    costMicrousd: comment.costMicrousd ?? 0,
    isPriced: comment.isPriced ?? false,
  }
}
