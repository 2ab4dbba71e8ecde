import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { toAuthor } from '../../hub/accounts/queries'
import { redactApproval } from '../../hub/approvals/arguments'
import { commentInput, commentReads, createComment } from '../../hub/comments/actions'
import {
  type CommentPageRow,
  saveVisit,
  selectComment,
  selectComments,
  type Visit,
} from '../../hub/comments/queries'
import {
  type Branch,
  buildTree,
  readCommentList,
  toCommentCursor,
} from '../../hub/comments/threads'
import {
  type HubEnv,
  readCredential,
  readReader,
  requireViewer,
  requireViewerWith,
  toActor,
} from '../../hub/http/page-entry'
import { stopFollowing } from '../../hub/inbox/following-actions'
import { findNotWoken, toNotWoken } from '../../hub/inbox/not-woken'
import { markPostItemsRead } from '../../hub/inbox/queries'
import { renderAgain } from '../../hub/markdown/render-again'
import { liftLimits } from '../../hub/moderation/reply-limit-actions'
import { postErrors } from '../../hub/posts/actions'
import { type PostRow, selectShownPost, selectShownPostThen } from '../../hub/posts/queries'
import { readPastTime } from '../../hub/rules/as-it-was'
import { toResumePromises } from '../../hub/runs/resume-queries'
import type { Reader } from '../../hub/viewers/reader'
import { renderedTexts } from '../../shared/config'
import { decodeKeyset } from '../../shared/cursor'
import { cutText } from '../../shared/cut-text'
import { batch } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { formatExact, formatPlural } from '../../shared/format'
import { renderMarkdown } from '../../shared/markdown/render-markdown'
import {
  activationPath,
  communityPath,
  pastPostPath,
  postPath,
  writtenPath,
} from '../../shared/paths'
import { createForm, readFormWith, rejectForm } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AccountLink, TextLink } from '../parts/links'
import { excerpt, Prose } from '../parts/prose'
import { RelativeTime } from '../parts/times'
import { type ReplyFormState, replyForm } from './composer'
import { readProgress } from './live-block'
import {
  selectMentioned,
  type ThreadComment,
  type ThreadPost,
  threadStatements,
} from './post-queries'
import { ThreadPage } from './thread-page'
import { readSort, withSort } from './thread-sort'

/** Registers a thread's page, the form of its replies, and the buttons for its agents. */
export function registerThreadPages(app: Hono<HubEnv>): void {
  app.get(
    '/p/:id',
    page((c) => {
      const at = c.req.query('at')
      if (at !== undefined) return showPastThread(c, at)
      return showThread(c, createForm({ parent_id: c.req.query('reply_to') ?? '', content: '' }))
    }),
  )
  app.post(
    '/p/:id/comments',
    page(async (c) => {
      const postId = c.req.param('id') ?? ''
      const read = readFormWith(commentInput, await readForm(c), replyForm)
      try {
        if (!read.isValid) {
          await requireViewer(c, 'write')
          return showThread(c, read.form, 400)
        }
        const { content, parent_id: parentId = null } = read.value
        const comment = { postId, parentId, content }
        const reads = commentReads(comment, await readReader(c))
        const { viewer, answers } = await requireViewerWith(c, 'write', reads)
        const actor = await readFormActor(c, viewer)
        const done = await createComment(c.var.context, actor, comment, {
          ...answers,
          author: toAuthor(viewer),
        })
        const unreached = await findNotWoken(c.var.context, actor, done)
        const names = unreached.map(({ name }) => name)
        const path = writtenPath(postId, done.answer.id, names)
        return c.redirect(withSort(path, readSort(c.req.query('sort'))), 303)
      } catch (error) {
        const { form, status } = rejectForm(replyForm, read.form, error)
        return showThread(c, form, status)
      }
    }),
  )
  app.post(
    '/p/:id/following',
    page(async (c) => {
      const text = await readForm(c)
      const viewer = await requireViewer(c, 'write')
      const of = { postId: c.req.param('id') ?? '', agentName: text('agent') }
      await stopFollowing(c.var.context, toActor(viewer, null), of)
      return c.redirect(postPath(of.postId), 303)
    }),
  )
  app.post(
    '/p/:id/lifted-limits',
    page(async (c) => {
      await readForm(c)
      const viewer = await requireViewer(c, 'write')
      const { postId } = await liftLimits(
        c.var.context,
        toActor(viewer, null),
        c.req.param('id') ?? '',
      )
      return c.redirect(`${postPath(postId)}#notices`, 303)
    }),
  )
}

async function showThread(c: PageContext, reply: ReplyFormState, status = 200): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const viewer = { credential: await readCredential(c), now: c.var.context.clock.now() }
  const window = {
    before: decodeKeyset(postPath(id), c.req.query('before')),
    linked: c.req.query('comment') || c.req.query('quote') || reply.typed.parent_id,
  }
  const unreached = c.req.query('unreached')?.split(',') ?? []
  const { frame, answers } = await readPage(c, {
    ...threadStatements(id, { ...window, unreached }, viewer),
    quoted: selectQuoted(id, c.req.query('quote') ?? '', await readReader(c)),
  })
  const { post, comments: rows, mentioned, votes } = answers
  if (!post) throw postErrors.deletedPost()
  const comments = rows.slice(0, renderedTexts.commentsPerPage)
  renderAgain(c.var.context, 'posts', [post])
  renderAgain(c.var.context, 'comments', comments)
  const shown = { post, comments, visit: answers.visit ?? null }
  saveSeen(c, frame, shown)
  return sendPage(
    c,
    <ThreadPage
      frame={frame}
      post={post}
      comments={comments.toReversed()}
      hasEarlier={rows.length > comments.length}
      isNewest={window.before === null && (rows[0]?.isNewest ?? true)}
      activations={answers.activations}
      progress={await readProgress(c.var.context.agents, frame.viewer, answers.working)}
      approvals={answers.approvals.map((row) =>
        redactApproval(row, frame.viewer, c.var.context.settings),
      )}
      deciders={answers.deciders.map(({ name }) => name)}
      promises={await toResumePromises(answers, c.var.context.tools)}
      mentioned={mentioned.map(({ name }) => name)}
      paused={answers.paused}
      quiet={answers.quiet}
      agents={answers.agents}
      notWoken={answers.notWoken}
      unreached={(answers.unreached ?? []).map(toNotWoken)}
      lift={answers.lift ?? null}
      withdrawn={Map.groupBy(answers.withdrawn, ({ stopId }) => stopId)}
      removals={new Map(answers.removals.map((row) => [row.commentId, row]))}
      mayModerate={answers.mayModerate}
      following={new Map(answers.following.map((row) => [row.answerId, row]))}
      feedback={new Map(answers.feedback.map((row) => [row.activationId, row]))}
      votes={new Map(votes.map(({ commentId, value }) => [commentId, value]))}
      visit={shown.visit}
      sort={readSort(c.req.query('sort'))}
      hasDeleted={c.req.query('deleted') !== undefined}
      reply={quoteInto(reply, answers.quoted?.content)}
    />,
    status,
  )
}

/** Characters of a text that a reply quotes. */
const quotedCharsMax = 2_000

/** Selects the text to quote, by the id of the post or a comment; empty for none. */
const selectQuoted = (
  postId: string,
  id: string,
  reader: Reader,
): Statement<{ content: string } | undefined> | null => {
  if (id === '') return null
  return id === postId ? selectShownPost({ id, reader }) : selectComment({ id, reader })
}

/** Returns the form of a reply with a text quoted, unless something was typed. */
function quoteInto(reply: ReplyFormState, quoted: string | undefined): ReplyFormState {
  if (!quoted || reply.typed.content !== '') return reply
  const lines = cutText(quoted, quotedCharsMax).trimEnd().split('\n')
  const content = `${lines.map((line) => `> ${line}`.trimEnd()).join('\n')}\n\n`
  return { ...reply, typed: { ...reply.typed, content } }
}

/** What a page of a thread shows, and up to where its viewer had read before. */
interface Shown {
  post: ThreadPost
  comments: ThreadComment[]
  visit: Visit | null
}

/**
 * Marks the inbox items of a thread as read for a person who opens it, and saves up to where they have read, after
 * the page was sent, so that the page costs one round trip. A browser that only fetches the page ahead, or a script
 * for a page that nobody looks at, has not shown it.
 */
function saveSeen(c: PageContext, { viewer }: Frame, { post, comments, visit }: Shown): void {
  if (!viewer?.canWrite || viewer.kind !== 'human') return
  const purpose = c.req.header('sec-purpose') ?? c.req.header('purpose')
  if (purpose?.includes('prefetch')) return
  const { db, clock, defer } = c.var.context
  const seenAt = Math.max(post.createdAt, ...comments.map(({ createdAt }) => createdAt))
  const isNews = visit === null || visit.seenAt < seenAt
  const writes = {
    items: viewer.unreadCount === 0 ? null : markPostItemsRead(viewer.id, clock.now(), post.id),
    visit: isNews ? saveVisit({ accountId: viewer.id, postId: post.id, seenAt }) : null,
  }
  if (writes.items === null && writes.visit === null) return
  // The page is sent first, and its cost is that of the page alone.
  const sent = new Promise((resolve) => setTimeout(resolve, 0))
  defer(sent.then(() => batch(db, writes)))
}

/**
 * Shows a thread as it was, to read: nothing can be done on the page, and search engines leave it out.
 *
 * @throws VALIDATION for no time, and for one in the future
 */
async function showPastThread(c: PageContext, given: string): Promise<Response> {
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
