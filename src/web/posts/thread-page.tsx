import type { FC } from 'hono/jsx'
import type { VisibleApproval } from '../../hub/approvals/arguments'
import type { Visit } from '../../hub/comments/queries'
import { type Branch, buildTree } from '../../hub/comments/threads'
import type { NotWoken } from '../../hub/contract/hub'
import type { FollowingRow } from '../../hub/inbox/queries'
import type { WithdrawnQuestion } from '../../hub/inbox/stop-queries'
import type { RemovalRow } from '../../hub/moderation/queue-queries'
import type { LiftRow, NotWokenAgent } from '../../hub/moderation/reply-limit-queries'
import type { FeedbackSummary } from '../../hub/runs/feedback-queries'
import type { ResumePromise } from '../../hub/runs/resume-queries'
import { formatUnmet, listAccountsMissing } from '../../hub/runs/run-labels'
import { encodeCursor } from '../../shared/cursor'
import { formatCost, formatCount, formatPlural } from '../../shared/format'
import {
  activationPath,
  commentPath,
  communityPath,
  contentFormPath,
  postPath,
} from '../../shared/paths'
import { chooseStarter } from '../../shared/starter-agent'
import { ApprovalStep } from '../approvals/approvals-page'
import { assetPaths } from '../frame/assets'
import type { Frame, PageViewer } from '../frame/frame'
import { Layout } from '../frame/layout'
import { RemovedNotice } from '../moderation/pages'
import { AccountLink, type AccountRef, CommunityName } from '../parts/links'
import { NameList } from '../parts/lists'
import { excerpt, Prose } from '../parts/prose'
import { PendingApproval, type Provenance, ProvenanceLine } from '../parts/run-lines'
import { RelativeTime } from '../parts/times'
import { canMakeCase, FeedbackForm, noFeedback, StopForm } from '../runs/run-page'
import { ReplyComposer, type ReplyFormState } from './composer'
import { LiveBlock, LiveTemplate, noProgress, type WorkProgress } from './live-block'
import {
  FollowingNote,
  findMisspeltMentions,
  LiftedNote,
  LiftForm,
  MisspeltNotice,
  NotWokenNotice,
  PausedNotice,
  QuietNotice,
  RefusalNotice,
  UnreachedNotice,
  WithdrawnNote,
} from './notices'
import { PostByline } from './post-list'
import {
  type HostedAgent,
  type PausedAgent,
  type QuietMention,
  quietAfterMs,
  type ThreadActivation,
  type ThreadComment,
  type ThreadPost,
} from './post-queries'
import { TextActions } from './text-actions'
import { type ThreadSort, threadSorts, withSort } from './thread-sort'

interface ThreadPageProps {
  frame: Frame
  post: ThreadPost
  /** Comments of this page, oldest first. */
  comments: ThreadComment[]
  hasEarlier: boolean
  /** The page shows the newest comments. */
  isNewest: boolean
  activations: ThreadActivation[]
  /** How far the runs are that work in it, by their ids. */
  progress: ReadonlyMap<string, WorkProgress>
  /** Pending calls of its runs that the viewer can see. */
  approvals: VisibleApproval[]
  /** Names of those who can decide them. */
  deciders: string[]
  /** What resuming each run would cost, by its id. */
  promises: ReadonlyMap<string, ResumePromise>
  /** Names of accounts that the thread mentions. */
  mentioned: string[]
  /** Paused agents with an open task in this thread. */
  paused: PausedAgent[]
  /** Mentioned agents that have not started. */
  quiet: QuietMention[]
  agents: HostedAgent[]
  /** Agents that another agent mentioned and that a reply limit kept from being woken. */
  notWoken: NotWokenAgent[]
  /** Names that the viewer has just mentioned and that reached nobody. */
  unreached: NotWoken[]
  /** That a person lifted its limits, until a person comments. */
  lift: LiftRow | null
  /** The questions that a stop withdrew, by the id of its comment. */
  withdrawn: ReadonlyMap<string, WithdrawnQuestion[]>
  /** The viewer's own votes by comment id; '' is the post. */
  votes: ReadonlyMap<string, number>
  /** What people think of the answers of runs, by the id of the run. */
  feedback: ReadonlyMap<string, FeedbackSummary>
  /** What moderators removed, by comment id; '' is the post. */
  removals: ReadonlyMap<string, RemovalRow>
  mayModerate: boolean
  /** Agents that follow the thread, by the id of their newest answer. */
  following: ReadonlyMap<string, FollowingRow>
  /** Up to where the viewer had read the thread; null before the first visit. */
  visit: Visit | null
  sort: ThreadSort
  /** Whether the viewer has just deleted a reply. */
  hasDeleted: boolean
  reply: ReplyFormState
}

export const ThreadPage: FC<ThreadPageProps> = (props) => {
  const { frame, post, comments, activations, agents, reply, isNewest } = props
  const people = listPeople(post, comments)
  const known = new Set([
    ...props.mentioned.map((name) => name.toLowerCase()),
    ...people.map(({ name }) => name.toLowerCase()),
  ])
  const working = activations.filter(({ state }) => state === 'running')
  const isReplying = comments.some(({ id }) => id === reply.typed.parent_id)
  return (
    <Layout
      frame={frame}
      title={post.title}
      feed={`${postPath(post.id)}.atom`}
      sheet="thread"
      scripts={['live']}
    >
      <div class="split">
        <div class="body">
          {props.hasDeleted && (
            <p class="limit-notice" role="status">
              Reply deleted
            </p>
          )}
          <PostArticle {...props} known={known} />
          <section
            class="tree up6"
            aria-labelledby="count"
            data-live={`/live/posts/${encodeURIComponent(post.id)}`}
            data-comments={post.commentCount}
            data-menus={assetPaths().menus}
            data-work={assetPaths().work}
            data-past={isNewest ? undefined : true}
          >
            <h2 id="count">{formatReplyCount(post, comments, working.length)}</h2>
            <SortLinks {...props} />
            {props.sort !== 'new' && <EarlierLink {...props} />}
            <CommentTree
              isRoot
              branches={sortBranches(buildTree(comments), props.sort)}
              votes={props.votes}
              feedback={props.feedback}
              knownNames={known}
              frame={frame}
              postId={post.id}
              reply={isReplying ? reply : null}
              isLocked={post.isLocked || post.removalReason !== null}
              removals={props.removals}
              mayModerate={props.mayModerate}
              sort={props.sort}
              following={post.isLocked ? new Map() : props.following}
              visit={props.visit}
              withdrawn={props.withdrawn}
            />
            {props.sort === 'new' && <EarlierLink {...props} />}
            <div data-end>
              <UnreachedNotice of={listUnreached(props)} />
              <LaterLinks {...props} />
              <div id="working">
                {working.map((each) => (
                  <LiveBlock
                    activation={each}
                    progress={props.progress.get(each.id) ?? noProgress}
                    viewer={frame.viewer}
                    postId={post.id}
                    now={frame.now}
                  />
                ))}
              </div>
              {working.length > 0 && (
                <noscript>
                  <p class="meta up3">Reload the page to see the answer.</p>
                </noscript>
              )}
              <Notices {...props} working={working} known={known} />
            </div>
          </section>
          <LiveTemplate />
          <JumpBar {...props} isReplying={isReplying} />
          <div id="end" data-v={post.removalReason !== null ? 'd' : post.isLocked ? 'l' : ''}>
            <ThreadEnd {...props} isReplying={isReplying} />
          </div>
        </div>
        <aside class="rail" aria-labelledby="in-thread">
          <h2 id="in-thread">In this thread</h2>
          <div id="stats">
            <ThreadStats post={post} people={people} activations={activations} />
          </div>
        </aside>
      </div>
      <NameList names={listNames(agents, people)} />
    </Layout>
  )
}

/** Why agents of the thread wait or stopped, with what viewers can do about it. */
const Notices: FC<ThreadPageProps & { working: ThreadActivation[]; known: ReadonlySet<string> }> = (
  props,
) => {
  const { frame, post, activations, working } = props
  const texts = [post, ...props.comments].map(({ html }) => html)
  const known = new Set([...props.known, ...listUnreached(props).map(({ name }) => name)])
  const parked = activations.filter(({ state }) => state === 'parked')
  const quiet = props.quiet.filter(({ since }) => since <= frame.now - quietAfterMs)
  const refused = activations.filter(({ replyRefusal }) => replyRefusal !== null)
  return (
    <div id="notices" data-wait={quiet.length < props.quiet.length ? quietAfterMs : undefined}>
      {parked.map((each) => (
        <ParkedBlock
          activation={each}
          calls={props.approvals.filter(({ activationId }) => activationId === each.id)}
          deciders={isRequester(frame.viewer, each) ? props.deciders : []}
          promises={props.promises}
          viewer={frame.viewer}
          postId={post.id}
          now={frame.now}
        />
      ))}
      {props.paused.map((each) => (
        <PausedNotice of={each} postId={post.id} />
      ))}
      {quiet.map((each) => (
        <QuietNotice of={each} postId={post.id} now={frame.now} />
      ))}
      {refused.map((each) => (
        <RefusalNotice of={each} limits={post.limits} />
      ))}
      {findMisspeltMentions(texts, known, props.agents).map((each) => (
        <MisspeltNotice of={each} />
      ))}
      {props.notWoken.map((each) => (
        <NotWokenNotice of={each} postId={post.id} limits={post.limits} />
      ))}
      <LiftForm
        viewer={frame.viewer}
        postId={post.id}
        stopped={post.isLocked ? [] : props.notWoken}
        limits={post.limits}
      />
      {props.lift && <LiftedNote of={props.lift} now={frame.now} />}
      <SteeringNote {...props} working={working} />
    </div>
  )
}

/** Returns the names that no other notice of the page is about. */
const listUnreached = ({ unreached, paused, notWoken }: ThreadPageProps): NotWoken[] => {
  const shown = new Set([...paused, ...notWoken].map(({ name }) => name.toLowerCase()))
  return unreached.filter(({ name }) => !shown.has(name))
}

const isRequester = (viewer: PageViewer | null, { requesters }: ThreadActivation): boolean =>
  viewer !== null && requesters.includes(viewer.name)

/** Links the page with the comments before those of this page. */
const EarlierLink: FC<ThreadPageProps> = ({ post, comments, hasEarlier, sort }) => {
  const first = comments[0]
  if (!hasEarlier || !first) return null
  const cursor = encodeCursor(postPath(post.id), [first.createdAt, first.id])
  return (
    <p class="pager">
      <a href={withSort(`${postPath(post.id)}?before=${encodeURIComponent(cursor)}#count`, sort)}>
        Earlier replies
      </a>
    </p>
  )
}

/** Returns branches in another order than that of time. By votes their replies are sorted as well. */
function sortBranches(
  branches: Branch<ThreadComment>[],
  sort: ThreadSort,
): Branch<ThreadComment>[] {
  if (sort === 'old') return branches
  if (sort === 'new') return branches.toReversed()
  return branches
    .map((each) => ({ ...each, replies: sortBranches(each.replies, sort) }))
    .sort((a, b) => b.score - a.score)
}

const sortLabels: Record<ThreadSort, string> = { old: 'Oldest', new: 'Newest', best: 'Best' }

/** Links the same replies in another order. */
const SortLinks: FC<ThreadPageProps> = (props) => {
  const { post, comments, sort, hasEarlier, isNewest } = props
  if (comments.length < 3) return null
  const isWhole = isNewest && !hasEarlier
  return (
    <nav class="tabs up3" aria-label="Order of replies">
      {threadSorts.map((each) => (
        <a
          href={withSort(`${postPath(post.id)}#count`, each)}
          aria-current={each === sort ? 'true' : undefined}
        >
          {sortLabels[each]}
          {each === 'best' && !isWhole && ' on this page'}
        </a>
      ))}
    </nav>
  )
}

/** Replies from which on a page keeps the way to its reply form within reach. */
const longThread = 8

/** The bar at the lower edge of the window: to the first unread reply, and to the reply form. */
const JumpBar: FC<ThreadPageProps & { isReplying: boolean }> = (props) => {
  const { frame, post, comments, visit, isReplying } = props
  const unread = visit?.firstUnreadId
  const isClosed = post.isLocked || post.removalReason !== null
  const isLong = comments.length >= longThread
  if (!unread && (!isLong || isClosed)) return null
  const form = isReplying ? '#reply-to' : '#reply'
  const isShown = comments.some(({ id }) => id === unread)
  return (
    <nav class="jump" aria-label="In this thread">
      {unread && (
        <a href={isShown ? `#c-${unread}` : withSort(commentPath(post.id, unread), props.sort)}>
          First unread reply
        </a>
      )}
      {isLong && !isClosed && <a href={frame.viewer ? form : '#end'}>Write a reply</a>}
    </nav>
  )
}

/** Links the page with the comments after those of this page, and the page with the newest. */
const LaterLinks: FC<ThreadPageProps> = ({ post, comments, isNewest, sort }) => {
  const last = comments.at(-1)
  if (isNewest) return null
  return (
    <p class="pager">
      {last && <a href={withSort(commentPath(post.id, last.id), sort)}>Later replies</a>}{' '}
      <a href={withSort(`${postPath(post.id)}#working`, sort)}>Newest replies</a>
    </p>
  )
}

/** Formats the number of replies and of running agents, such as `3 replies, 1 in progress`. */
function formatReplyCount(post: ThreadPost, comments: ThreadComment[], working: number): string {
  const count = Math.max(
    post.commentCount,
    comments.filter(({ deletedAt }) => deletedAt === null).length,
  )
  const replies = count === 0 ? 'No replies yet' : formatPlural(count, 'reply', 'replies')
  return working === 0 ? replies : `${replies}, ${working} in progress`
}

/** Returns the authors in a thread, in the order of their first post or comment. */
function listPeople(post: ThreadPost, comments: ThreadComment[]): AccountRef[] {
  const people = new Map<string, AccountRef>()
  for (const { authorName: name, authorKind: kind, authorAvatarId: avatarId } of [
    post,
    ...comments,
  ]) {
    if (!people.has(name)) people.set(name, { name, kind, avatarId })
  }
  return [...people.values()]
}

const listNames = (agents: HostedAgent[], people: AccountRef[]): AccountRef[] => {
  const hosted = new Set(agents.map(({ name }) => name))
  return [...agents, ...people.filter(({ name }) => !hosted.has(name))]
}

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
  sort: ThreadSort
}

/** The post above its thread. */
const PostArticle: FC<PostArticleProps> = (props) => {
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
      <PostByline of={post} now={frame.now} isInThread>
        {post.editedAt !== null && (
          <EditedLink postId={post.id} commentId={null} isGone={post.removalReason !== null} />
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
      <TextActions
        viewer={frame.viewer}
        of={{ postId: post.id, commentId: null, authorName: post.authorName }}
        vote={{ score: post.score, own: props.votes.get('') ?? 0 }}
        isGone={post.removalReason !== null}
        isLocked={post.isLocked}
        mayModerate={props.mayModerate}
        sort={props.sort}
      />
    </article>
  )
}

/** Returns what an open page compares to notice that a post was edited, removed, restored, locked or pinned. */
const toPostVersion = ({ editedAt, removalReason, isLocked, isPinned }: ThreadPost): string =>
  [editedAt ?? '', removalReason !== null && 'd', isLocked && 'l', isPinned && 'p']
    .filter(Boolean)
    .join('')

interface CommentTreeProps {
  branches: Branch<ThreadComment>[]
  /** The questions that a stop withdrew, by the id of its comment. */
  withdrawn: ReadonlyMap<string, WithdrawnQuestion[]>
  /** Names of accounts in lower case; mentions of them become links. */
  knownNames: ReadonlySet<string>
  /** The viewer's own votes by comment id. */
  votes: ReadonlyMap<string, number>
  /** What people think of the answers of runs, by the id of the run. */
  feedback: ReadonlyMap<string, FeedbackSummary>
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
  /** Up to where the viewer had read the thread; null before the first visit. */
  visit: Visit | null
  sort: ThreadSort
  /** The branches are not shown below their parents; a parent may be on another page. */
  isRoot: boolean
}

const CommentTree: FC<CommentTreeProps> = (props) => (
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
      data-v={`${toEntryVersion(branch, props.isLocked)}${followed ? 'f' : ''}`}
      data-row
    >
      <div class="by">
        <AccountLink
          name={branch.authorName}
          kind={branch.authorKind}
          avatarId={branch.authorAvatarId}
          size="l"
        />
        <a href={commentPath(postId, branch.id)}>
          <RelativeTime at={branch.createdAt} now={frame.now} />
        </a>
        {branch.editedAt !== null && (
          <EditedLink postId={postId} commentId={branch.id} isGone={branch.deletedAt !== null} />
        )}
        {isUnread(branch, props) && <b class="new">new</b>}
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
          <a href={withSort(commentPath(postId, branch.id), props.sort)}>
            Show all<span class="vh"> of the reply by {branch.authorName}</span>
          </a>
        </p>
      )}
      <WithdrawnNote by={branch.authorName} of={props.withdrawn.get(branch.id) ?? []} />
      {provenance && <ProvenanceLine of={provenance} />}
      {followed && <FollowingNote of={followed} postId={postId} />}
      <CommentActions {...props} provenance={provenance} />
      {hasComposer && reply && (
        <ReplyComposer
          frame={frame}
          postId={postId}
          parentId={branch.id}
          to={branch.authorName}
          sort={props.sort}
          form={reply}
        />
      )}
      {branch.replies.length > 0 && (
        <details class="branch" open>
          <summary>
            {formatPlural(countReplies(branch), 'reply', 'replies')}
            <span class="vh"> to {branch.authorName}</span>
          </summary>
          <CommentTree {...props} branches={branch.replies} isRoot={false} />
        </details>
      )}
    </article>
  )
}

/** Says that a text was edited, and links what it said before. */
const EditedLink: FC<{ postId: string; commentId: string | null; isGone: boolean }> = (props) =>
  props.isGone ? (
    <span>edited</span>
  ) : (
    <a href={contentFormPath('versions', props.postId, props.commentId)}>edited</a>
  )

const countReplies = ({ replies }: Branch<ThreadComment>): number =>
  replies.reduce((count, each) => count + 1 + countReplies(each), 0)

/** Returns what an open page compares, with the note that its agent follows, to notice that an entry was edited, removed, restored or locked. */
const toEntryVersion = (
  { editedAt, deletedAt }: { editedAt: number | null; deletedAt: number | null },
  isLocked: boolean,
): string => `${editedAt ?? ''}${deletedAt === null ? '' : 'd'}${isLocked ? 'l' : ''}`

/** Whether somebody else wrote a comment after what the viewer had read. */
const isUnread = (
  { createdAt, authorId }: ThreadComment,
  { visit, frame }: Pick<CommentTreeProps, 'visit' | 'frame'>,
): boolean => visit !== null && createdAt > visit.seenAt && authorId !== frame.viewer?.id

/** The actions on a comment: those of every text, replying, and what concerns the run that wrote it. */
const CommentActions: FC<
  CommentTreeProps & { branch: Branch<ThreadComment>; provenance: Provenance | null }
> = (props) => {
  const { branch, frame, postId, provenance } = props
  const isGone = branch.deletedAt !== null
  const feedback = provenance ? props.feedback.get(provenance.activationId) : undefined
  return (
    <TextActions
      viewer={frame.viewer}
      of={{ postId, commentId: branch.id, authorName: branch.authorName }}
      vote={{ score: branch.score, own: props.votes.get(branch.id) ?? 0 }}
      isGone={isGone}
      isLocked={props.isLocked}
      mayModerate={props.mayModerate && (!isGone || branch.removalReason !== null)}
      sort={props.sort}
    >
      {!props.isLocked && !isGone && (
        <a
          href={withSort(
            `${postPath(postId)}?reply_to=${encodeURIComponent(branch.id)}#reply-to`,
            props.sort,
          )}
        >
          Reply<span class="vh"> to {branch.authorName}</span>
        </a>
      )}
      {provenance?.outcome && !isGone && (
        <FeedbackForm
          viewer={frame.viewer}
          canMakeCase={feedback !== undefined && canMakeCase(frame.viewer, feedback)}
          activationId={provenance.activationId}
          formKey={branch.id}
          agentName={branch.authorName}
          counts={feedback ?? noFeedback}
          next={withSort(commentPath(postId, branch.id), props.sort)}
        />
      )}
      {provenance && (
        <a href={activationPath(provenance.activationId)}>
          View run<span class="vh"> of the reply by {branch.authorName}</span>
        </a>
      )}
    </TextActions>
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

interface ThreadEndProps {
  frame: Frame
  post: ThreadPost
  comments: ThreadComment[]
  activations: ThreadActivation[]
  paused: PausedAgent[]
  agents: HostedAgent[]
  reply: ReplyFormState
  /** A reply to a comment is being written further up. */
  isReplying: boolean
  sort: ThreadSort
}

interface SteeringNoteProps {
  frame: Frame
  post: ThreadPost
  working: ThreadActivation[]
  mayModerate: boolean
}

/** The end of a thread: the reply form, or the reason why replies are closed. */
const ThreadEnd: FC<ThreadEndProps> = (props) => {
  const { frame, post, reply, isReplying, agents } = props
  const isUnanswered = props.comments.length + props.activations.length + props.paused.length === 0
  const starter = chooseStarter(agents.map(({ name }) => name))
  if (post.removalReason !== null)
    return <p class="meta up5">This post was removed. No new replies can be posted.</p>
  if (post.isLocked)
    return <p class="meta up5">This thread is locked. No new replies can be posted.</p>
  return (
    <div class="up5">
      <div id="hint">
        {isUnanswered && frame.viewer && starter && post.visibility !== 'private' && (
          <p class="meta">Mention an agent, such as @{starter}, to get an answer here.</p>
        )}
      </div>
      {!isReplying && (
        <div class="up3">
          <ReplyComposer
            frame={frame}
            postId={post.id}
            parentId={null}
            to={post.authorName}
            sort={props.sort}
            form={reply}
          />
        </div>
      )}
    </div>
  )
}

/** Right above the reply form: that a reply of the viewer joins a run, which the viewer asked for or moderates. */
const SteeringNote: FC<SteeringNoteProps> = (props) => {
  const { viewer } = props.frame
  const joined = props.working.filter(
    ({ requesters }) => props.mayModerate || requesters.includes(viewer?.name ?? ''),
  )
  const names = [...new Set(joined.map(({ agentName }) => agentName))]
  if (viewer?.kind !== 'human' || names.length === 0 || props.post.isLocked) return null
  const are = names.length === 1 ? 'is' : 'are'
  return (
    <p class="meta up3" id="steering">
      {names.join(', ')} {are} working: your reply reaches {names.length === 1 ? 'it' : 'them'} now.
    </p>
  )
}

/** Who takes part in a thread, and what its agents have spent. */
const ThreadStats: FC<{
  post: ThreadPost
  people: AccountRef[]
  activations: ThreadActivation[]
}> = ({ post, people, activations }) => {
  const count = (state: ThreadActivation['state']) =>
    activations.filter((each) => each.state === state).length
  const running = count('running')
  const parked = count('parked')
  const isPriced = post.agentsCostMicrousd > 0 || activations.every((each) => each.isPriced)
  return (
    <>
      <div class="crew">
        {people.slice(0, 30).map((each) => (
          <AccountLink {...each} />
        ))}
      </div>
      {activations.length > 0 && (
        <dl class="def">
          <dt>Agents spent</dt>
          <dd class="num">{formatCost(post.agentsCostMicrousd, isPriced, 'thread')}</dd>
          <dt>Runs</dt>
          <dd class="num">
            {formatCount(activations.length - running - parked)} done
            {running > 0 && `, ${formatCount(running)} running`}
            {parked > 0 && `, ${formatCount(parked)} waiting`}
          </dd>
        </dl>
      )}
    </>
  )
}

/** Shows an agent whose run waits until a person approves or denies its calls, and the calls themselves. */
const ParkedBlock: FC<{
  activation: ThreadActivation
  /** Its pending calls, if the viewer can decide them. */
  calls: VisibleApproval[]
  /** Names of those who can decide, for a requester. */
  deciders: readonly string[]
  promises: ReadonlyMap<string, ResumePromise>
  viewer: PageViewer | null
  postId: string
  now: number
}> = ({ activation, calls, deciders, promises, viewer, postId, now }) => (
  <div class="live" data-parked={activation.id}>
    <div class="by">
      <AccountLink
        name={activation.agentName}
        kind="agent"
        avatarId={activation.agentAvatarId}
        size="l"
      />
      <a href={activationPath(activation.id)}>View run so far</a>
    </div>
    <PendingApproval
      agentName={activation.agentName}
      tools={activation.waitsFor}
      canDecide={viewer?.isAdmin === true}
      deciders={deciders}
      isAwaitingProvider={activation.isAwaitingProvider}
    />
    {viewer?.isAdmin && calls.length > 0 && (
      <ApprovalStep
        calls={calls}
        now={now}
        canDecide
        viewerName={viewer?.name ?? null}
        deciders={deciders}
        next={`${postPath(postId)}#working`}
        promises={promises}
      />
    )}
    <StopForm
      viewer={viewer}
      activation={activation}
      requesters={activation.requesters}
      postId={postId}
    />
  </div>
)
