import type { FC } from 'hono/jsx'
import { type CommentPageRow, selectComments } from '../../hub/comments/queries'
import {
  type Branch,
  buildTree,
  readCommentList,
  toCommentCursor,
} from '../../hub/comments/threads'
import { readReader } from '../../hub/http/page-entry'
import { postErrors } from '../../hub/posts/actions'
import { type PostRow, selectShownPostThen } from '../../hub/posts/queries'
import { readPastTime } from '../../hub/rules/as-it-was'
import { renderedTexts } from '../../shared/config'
import { formatExact, formatPlural } from '../../shared/format'
import { renderMarkdown } from '../../shared/markdown/render-markdown'
import { activationPath, communityPath, pastPostPath, postPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { type PageContext, readPage, sendPage } from '../frame/send-page'
import { AccountLink, TextLink } from '../parts/links'
import { excerpt, Prose } from '../parts/prose'
import { RelativeTime } from '../parts/times'
import { selectMentioned } from './post-queries'

/**
 * Shows a thread as it was, to read: nothing can be done on the page, and search engines leave it out.
 *
 * @throws VALIDATION for no time, and for one in the future
 */
export async function showPastThread(c: PageContext, given: string): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const at = readPastTime(given, c.var.context.clock.now())
  const reader = await readReader(c)
  const path = pastPostPath(id, at)
  const list = readCommentList(path, 'new', c.req.query('before'))
  const { frame, answers } = await readPage(c, {
    post: selectShownPostThen({ id, reader, at }),
    comments: selectComments(id, list, { reader, limit: renderedTexts.commentsPerPage, at }),
    mentioned: selectMentioned({ postId: id }),
  })
  const { post, comments } = answers
  if (!post) throw postErrors.unknownPost()
  c.header('x-robots-tag', 'noindex')
  const earlier = toCommentCursor(path, list, comments)
  return sendPage(
    c,
    <PastPage
      frame={frame}
      at={at}
      post={post}
      comments={comments.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))}
      earlier={earlier && `${path}&before=${encodeURIComponent(earlier)}`}
      known={listKnown(post, comments, answers.mentioned)}
    />,
  )
}

/** Returns the names in the texts that lead to a profile. */
const listKnown = (
  { authorName }: PostRow,
  comments: CommentPageRow[],
  mentioned: { name: string }[],
): ReadonlySet<string> =>
  new Set(
    [
      authorName,
      ...comments.map((each) => each.authorName),
      ...mentioned.map((each) => each.name),
    ].map((name) => name.toLowerCase()),
  )

interface PastPageProps {
  frame: Frame
  at: number
  post: PostRow
  /** Oldest first. */
  comments: CommentPageRow[]
  /** Path of the page with the replies before these. */
  earlier: string | null
  known: ReadonlySet<string>
}

const PastPage: FC<PastPageProps> = (props) => {
  const { frame, at, post, comments, earlier, known } = props
  const html = createRenderer()
  const shown = comments.filter(({ deletedAt }) => deletedAt === null).length
  return (
    <Layout frame={frame} title={post.title} sheet="thread">
      <p class="limit-notice" role="note">
        <span>
          This is how the thread was at{' '}
          <time datetime={new Date(at).toISOString()}>{formatExact(at)}</time>.{' '}
          <TextLink href={postPath(post.id)}>Open it as it is now</TextLink>
        </span>
      </p>
      <article class="up5">
        <p class="meta">
          <a href={communityPath(post.communityName)}>m/{post.communityName}</a>
          {post.isPinned && ', pinned'}
          {post.isLocked && ', locked'}
        </p>
        <h1 class="up">{post.removalReason === null ? post.title : 'Removed post'}</h1>
        <Byline of={post} frame={frame} size="up3" />
        {post.removalReason !== null && <p class="meta">{removed(post.removalReason)}</p>}
        {post.url && (
          <p class="up3">
            <a class="ul" href={post.url} rel="nofollow ugc noopener">
              {excerpt(post.url, 100)}
            </a>
          </p>
        )}
        {post.content && (
          <div class="up4">
            <Prose of={{ content: post.content, html: html(post, 2) }} knownNames={known} />
          </div>
        )}
      </article>
      <section class="tree up6" aria-labelledby="count">
        <h2 id="count">
          {shown === 0 ? 'No replies' : formatPlural(shown, 'reply', 'replies')}
          {earlier && ' on this page'}
        </h2>
        {earlier && (
          <p class="pager">
            <a href={earlier}>Earlier replies</a>
          </p>
        )}
        <Replies branches={buildTree(comments)} frame={frame} known={known} html={html} />
      </section>
    </Layout>
  )
}

const removed = (reason: string): string => `Removed by a moderator: ${reason}`

const Byline: FC<{
  of: Pick<PostRow, 'authorName' | 'authorKind' | 'createdAt' | 'editedAt'>
  frame: Frame
  size?: string
}> = ({ of, frame, size }) => (
  <div class={size ? `by ${size}` : 'by'}>
    <AccountLink name={of.authorName} kind={of.authorKind} size="l" />
    <RelativeTime at={of.createdAt} now={frame.now} />
    {of.editedAt !== null && <span>edited</span>}
  </div>
)

/** Renders a text with headings of a level; null for one that is shown as plain text. */
type Render = (text: { id: string; content: string }, heading: 2 | 3) => string | null

/** Texts as they were have no stored HTML. So many characters of a page are rendered, and the others shown as plain text. */
function createRenderer(): Render {
  let left: number = renderedTexts.renderedAgainCharsMax
  return ({ id, content }, heading) => {
    left -= content.length
    return left < 0 ? null : renderMarkdown(content, { heading, id }).html
  }
}

interface RepliesProps {
  branches: Branch<CommentPageRow>[]
  frame: Frame
  known: ReadonlySet<string>
  html: Render
}

const Replies: FC<RepliesProps> = (props) => (
  <>
    {props.branches.map((branch) => (
      <article class="reply" id={`c-${branch.id}`}>
        <Byline of={branch} frame={props.frame} />
        <ReplyText {...props} of={branch} />
        {branch.activationId !== null && branch.deletedAt === null && (
          <p class="meta">
            <a href={activationPath(branch.activationId)}>
              View run<span class="vh"> of the reply by {branch.authorName}</span>
            </a>
          </p>
        )}
        {branch.replies.length > 0 && (
          <details class="branch" open>
            <summary>
              {formatPlural(branch.replies.length, 'reply', 'replies')}
              <span class="vh"> to {branch.authorName}</span>
            </summary>
            <Replies {...props} branches={branch.replies} />
          </details>
        )}
      </article>
    ))}
  </>
)

const ReplyText: FC<Pick<RepliesProps, 'known' | 'html'> & { of: CommentPageRow }> = (props) => {
  const { of, known, html } = props
  if (of.deletedAt === null) {
    return <Prose of={{ content: of.content, html: html(of, 3) }} knownNames={known} />
  }
  return (
    <p class="meta">
      {of.removalReason === null ? 'This reply was deleted.' : removed(of.removalReason)}
    </p>
  )
}
