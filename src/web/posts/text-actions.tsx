import type { FC, PropsWithChildren } from 'hono/jsx'
import { contentFormPath, contentPath, postPath } from '../../shared/paths'
import type { PageViewer } from '../frame/frame'
import { type ThreadSort, withSort } from './thread-sort'
import { VoteForm } from './vote-form'

interface TextActionsProps {
  viewer: PageViewer | null
  of: {
    postId: string
    /** Null for the post itself. */
    commentId: string | null
    authorName: string
  }
  vote: { score: number; own: number }
  /** It was deleted or removed: only moderators can still do something about it. */
  isGone: boolean
  /** Nobody can reply. */
  isLocked: boolean
  mayModerate: boolean
  /** The order of the page, which stays. */
  sort: ThreadSort
}

/** The line of actions below a post or a comment: the vote, those of `children`, and a menu with the rare ones. */
export const TextActions: FC<PropsWithChildren<TextActionsProps>> = (props) => {
  const { viewer, of, vote, isGone } = props
  return (
    <div class="quiet">
      {!isGone && (
        <VoteForm
          viewer={viewer}
          postId={of.postId}
          commentId={of.commentId}
          of={nameText(of)}
          authorName={of.authorName}
          score={vote.score}
          value={vote.own}
          next={withSort(contentPath(of.postId, of.commentId), props.sort)}
        />
      )}
      {props.children}
      {(!isGone || props.mayModerate) && <RareActions {...props} />}
    </div>
  )
}

const nameText = ({ commentId, authorName }: TextActionsProps['of']): string =>
  commentId === null ? 'this post' : `the reply by ${authorName}`

/** The menu of a text. It opens without scripts, one at a time. */
const RareActions: FC<TextActionsProps> = (props) => {
  const { viewer, of, isGone, mayModerate } = props
  const { postId, commentId, authorName } = of
  const hidden = <span class="vh"> {nameText(of)}</span>
  const isOwn = viewer?.name === authorName
  return (
    <details class="rare" name="rare">
      <summary>
        <span aria-hidden="true">⋯</span>
        <span class="vh">More for {nameText(of)}</span>
      </summary>
      <div>
        {!isGone && viewer && !props.isLocked && (
          <a
            href={withSort(
              `${postPath(postId)}?quote=${encodeURIComponent(commentId ?? postId)}#reply`,
              props.sort,
            )}
            data-quote
          >
            Quote
          </a>
        )}
        {!isGone && (
          <a href={contentPath(postId, commentId)} data-link>
            Copy link
          </a>
        )}
        {!isGone && isOwn && (
          <a href={contentFormPath('edit', postId, commentId)}>Edit or delete{hidden}</a>
        )}
        {!isGone && viewer && !isOwn && (
          <a href={contentFormPath('report', postId, commentId)}>Report{hidden}</a>
        )}
        {mayModerate && (
          <a href={contentFormPath('moderate', postId, commentId)}>Moderate{hidden}</a>
        )}
      </div>
    </details>
  )
}
