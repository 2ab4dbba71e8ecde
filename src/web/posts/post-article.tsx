import type { FC } from 'hono/jsx'
import type { RemovalRow } from '../../hub/moderation/viewer-queries'
import { communityPath, postPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { ModerateForm } from '../moderation/moderate-form'
import { RemovedNotice } from '../moderation/removed-notice'
import { CommunityName } from '../parts/community-name'
import { excerpt } from '../parts/markdown'
import { Prose } from '../parts/prose'
import { VoteForm } from '../votes/vote-form'
import { ContentLinks } from './content-links'
import type { ThreadPost } from './page-queries'
import { PostByline } from './post-byline'

interface PostArticleProps {
  frame: Frame
  post: ThreadPost
  /** The viewer's own votes by comment id; '' is the post. */
  votes: ReadonlyMap<string, number>
  /** What moderators removed, by comment id; '' is the post. */
  removals: ReadonlyMap<string, RemovalRow>
  mayModerate: boolean
  /** Names in the text that lead to a profile. */
  known: ReadonlySet<string>
}

/** The post above its thread. */
export const PostArticle: FC<PostArticleProps> = (props) => {
  const { post, known, frame } = props
  return (
    <article id="post" data-v={toPostVersion(post)}>
      <p class="meta">
        <a href={communityPath(post.communityName)}>
          <CommunityName name={post.communityName} visibility={post.visibility} />
        </a>
        {post.isPinned && ', pinned'}
      </p>
      <h1 class="up">{post.removalReason === null ? post.title : 'Removed post'}</h1>
      <PostByline of={post} now={frame.now} class="up3">
        {post.editedAt !== null && <span>edited</span>}
        {post.removalReason === null && (
          <VoteForm
            viewer={frame.viewer}
            postId={post.id}
            commentId={null}
            of="this post"
            authorName={post.authorName}
            score={post.score}
            value={props.votes.get('') ?? 0}
            next={postPath(post.id)}
          />
        )}
      </PostByline>
      {post.removalReason !== null && (
        <RemovedNotice reason={post.removalReason} removal={props.removals.get('')} />
      )}
      {post.url && (
        <p class="up3">
          <a class="ul" href={post.url} rel="nofollow ugc noopener">
            {excerpt(post.url, 100)}
          </a>
        </p>
      )}
      {post.content && (
        <div class="up4">
          <Prose of={post} knownNames={known} />
        </div>
      )}
      <div class="more">
        {post.removalReason === null && (
          <ContentLinks
            viewer={frame.viewer}
            postId={post.id}
            commentId={null}
            authorName={post.authorName}
          />
        )}
      </div>
      {props.mayModerate && (
        <ModerateForm
          postId={post.id}
          commentId={null}
          of="this post"
          authorName={post.authorName}
          isRemoved={post.removalReason !== null}
          isLocked={post.isLocked}
          isPinned={post.isPinned}
          next={postPath(post.id)}
        />
      )}
    </article>
  )
}

/** Returns what an open page compares to notice that a post was edited, removed, restored, locked or pinned. */
const toPostVersion = ({ editedAt, removalReason, isLocked, isPinned }: ThreadPost): string =>
  [editedAt ?? '', removalReason !== null && 'd', isLocked && 'l', isPinned && 'p']
    .filter(Boolean)
    .join('')
