import type { FC } from 'hono/jsx'
import type { VisibleApproval } from '../../hub/approvals/redact-approval'
import { buildTree } from '../../hub/comments/comment-tree'
import { encodeCursor } from '../../hub/cursor'
import type { FollowingRow } from '../../hub/following/queries'
import type { RemovalRow } from '../../hub/moderation/viewer-queries'
import type { NotWokenAgent } from '../../hub/reply-limits/queries'
import type { FeedbackSummary } from '../../hub/run-feedback/queries'
import { formatReplyRefusal, isNoticePosted } from '../../hub/traces/run-labels'
import type { ReplyLimits } from '../../shared/config'
import { formatCost, formatCount, formatPlural } from '../../shared/format'
import { commentPath, communityPath, postPath } from '../../shared/paths'
import type { Frame, PageViewer } from '../frame/frame'
import { Layout } from '../frame/layout'
import { ModerateForm } from '../moderation/moderate-form'
import { RemovedNotice } from '../moderation/removed-notice'
import { AccountLink, type AccountRef } from '../parts/account-link'
import { CommunityName } from '../parts/community-name'
import { Icon } from '../parts/icons'
import { excerpt } from '../parts/markdown'
import { NameList } from '../parts/name-list'
import { Prose } from '../parts/prose'
import { VoteForm } from '../votes/vote-form'
import { CommentTree } from './comment-tree-view'
import { ReplyComposer } from './composer'
import { ContentLinks } from './content-links'
import { LiveBlock, LiveTemplate, ParkedBlock } from './live-block'
import { NotWokenNotice } from './not-woken-notice'
import type {
  HostedAgent,
  PausedAgent,
  ThreadActivation,
  ThreadComment,
  ThreadPost,
} from './page-queries'
import { PostByline } from './post-byline'
import type { ReplyFormState } from './post-forms'
import { PausedNotice, QuietNotice } from './quiet-notice'
import type { QuietMention } from './quiet-queries'

export interface ThreadPageProps {
  frame: Frame
  post: ThreadPost
  /** Comments of this page, oldest first. */
  comments: ThreadComment[]
  hasEarlier: boolean
  /** The page shows the newest comments. */
  isNewest: boolean
  activations: ThreadActivation[]
  /** Pending calls of its runs that the viewer can see. */
  approvals: VisibleApproval[]
  /** Names of those who can decide them. */
  deciders: string[]
  /** Names of accounts that the thread mentions. */
  mentioned: string[]
  /** Paused agents with an open task in this thread. */
  paused: PausedAgent[]
  /** Mentioned agents that have not started. */
  quiet: QuietMention[]
  agents: HostedAgent[]
  /** Agents that another agent mentioned and that a reply limit kept from being woken. */
  notWoken: NotWokenAgent[]
  /** The viewer's own votes by comment id; '' is the post. */
  votes: ReadonlyMap<string, number>
  /** What people think of the answers of runs, by the id of the run. */
  feedback: ReadonlyMap<string, FeedbackSummary>
  /** What moderators removed, by comment id; '' is the post. */
  removals: ReadonlyMap<string, RemovalRow>
  mayModerate: boolean
  /** Agents that follow the thread, by the id of their newest answer. */
  following: ReadonlyMap<string, FollowingRow>
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
  const parked = activations.filter(({ state }) => state === 'parked')
  const refused = activations.filter(({ replyRefusal }) => replyRefusal !== null)
  const isReplying = comments.some(({ id }) => id === reply.typed.parent_id)
  return (
    <Layout frame={frame} title={post.title} sheet="thread" scripts={['live']}>
      <div class="split">
        <div class="body">
          <PostArticle {...props} known={known} />
          <section
            class="tree up6"
            aria-labelledby="count"
            data-live={`/live/posts/${encodeURIComponent(post.id)}`}
            data-comments={post.commentCount}
            data-past={isNewest ? undefined : true}
          >
            <h2 id="count">{formatReplyCount(post, comments, working.length)}</h2>
            <EarlierLink {...props} />
            <CommentTree
              isRoot
              branches={buildTree(comments)}
              votes={props.votes}
              feedback={props.feedback}
              knownNames={known}
              frame={frame}
              postId={post.id}
              reply={isReplying ? reply : null}
              isLocked={post.isLocked || post.removalReason !== null}
              removals={props.removals}
              mayModerate={props.mayModerate}
              following={post.isLocked ? new Map() : props.following}
            />
            <div data-end>
              <LaterLinks {...props} />
              <div id="working">
                {working.map((each) => (
                  <LiveBlock
                    activation={each}
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
              <div id="notices">
                {parked.map((each) => (
                  <ParkedBlock
                    activation={each}
                    calls={props.approvals.filter(({ activationId }) => activationId === each.id)}
                    deciders={isRequester(frame.viewer, each) ? props.deciders : []}
                    viewer={frame.viewer}
                    postId={post.id}
                    now={frame.now}
                  />
                ))}
                {props.paused.map((each) => (
                  <PausedNotice of={each} postId={post.id} />
                ))}
                {props.quiet.map((each) => (
                  <QuietNotice of={each} postId={post.id} now={frame.now} />
                ))}
                {refused.map((each) => (
                  <RefusalNotice of={each} limits={post.limits} />
                ))}
                {props.notWoken.map((each) => (
                  <NotWokenNotice of={each} postId={post.id} limits={post.limits} />
                ))}
                <SteeringNote {...props} working={working} />
              </div>
            </div>
          </section>
          <LiveTemplate viewer={frame.viewer} />
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

const isRequester = (viewer: PageViewer | null, { requesters }: ThreadActivation): boolean =>
  viewer !== null && requesters.includes(viewer.name)

/** Links the page with the comments before those of this page. */
const EarlierLink: FC<ThreadPageProps> = ({ post, comments, hasEarlier }) => {
  const first = comments[0]
  if (!hasEarlier || !first) return null
  const cursor = encodeCursor([first.createdAt, first.id])
  return (
    <p class="pager">
      <a href={`${postPath(post.id)}?before=${encodeURIComponent(cursor)}#count`}>
        Earlier replies
      </a>
    </p>
  )
}

/** Links the page with the comments after those of this page, and the page with the newest. */
const LaterLinks: FC<ThreadPageProps> = ({ post, comments, isNewest }) => {
  const last = comments.at(-1)
  if (isNewest) return null
  return (
    <p class="pager">
      {last && <a href={commentPath(post.id, last.id)}>Later replies</a>}{' '}
      <a href={`${postPath(post.id)}#working`}>Newest replies</a>
    </p>
  )
}

const PostArticle: FC<ThreadPageProps & { known: Set<string> }> = (props) => {
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

/** Formats the number of replies and of running agents, such as `3 replies, 1 in progress`. */
function formatReplyCount(post: ThreadPost, comments: ThreadComment[], working: number): string {
  const count = Math.max(
    post.commentCount,
    comments.filter(({ deletedAt }) => deletedAt === null).length,
  )
  const replies = count === 0 ? 'No replies yet' : formatPlural(count, 'reply', 'replies')
  return working === 0 ? replies : `${replies}, ${working} in progress`
}

/** The end of a thread: the reply form, or the reason why replies are closed. */
const ThreadEnd: FC<ThreadPageProps & { isReplying: boolean }> = (props) => {
  const { frame, post, reply, isReplying, agents } = props
  const isUnanswered = props.comments.length + props.activations.length + props.paused.length === 0
  if (post.removalReason !== null)
    return <p class="meta up5">This post was removed. No new replies can be posted.</p>
  if (post.isLocked)
    return <p class="meta up5">This thread is locked. No new replies can be posted.</p>
  return (
    <div class="up5">
      {isUnanswered && frame.viewer && agents[0] && (
        <p class="meta">Mention an agent, such as @{agents[0].name}, to get an answer here.</p>
      )}
      {!isReplying && (
        <div class="up3">
          <ReplyComposer
            frame={frame}
            postId={post.id}
            parentId={null}
            to={post.authorName}
            form={reply}
          />
        </div>
      )}
    </div>
  )
}

/** Right above the reply form: that a reply of the viewer joins a run, which the viewer asked for or moderates. */
const SteeringNote: FC<ThreadPageProps & { working: ThreadActivation[] }> = (props) => {
  const { viewer } = props.frame
  const names = props.working
    .filter(({ requesters }) => props.mayModerate || requesters.includes(viewer?.name ?? ''))
    .map(({ agentName }) => agentName)
  if (viewer?.kind !== 'human' || names.length === 0 || props.post.isLocked) return null
  const are = names.length === 1 ? 'is' : 'are'
  return (
    <p class="meta up3" id="steering">
      {names.join(', ')} {are} working: your reply reaches {names.length === 1 ? 'it' : 'them'} now.
    </p>
  )
}

/** Says that the answer of an agent was not posted, and why. */
const RefusalNotice: FC<{ of: ThreadActivation; limits: ReplyLimits }> = ({ of, limits }) => (
  <div class="limit-notice">
    <Icon name="stop" />
    <div>
      <strong>
        {isNoticePosted(of.replyRefusal)
          ? `The answer of ${of.agentName} was withheld`
          : `${of.agentName} did not post an answer`}
      </strong>
      <p>
        {formatReplyRefusal(of.replyRefusal, limits)}{' '}
        <a class="ul" href={`/activations/${of.id}`}>
          View run
        </a>
      </p>
    </div>
  </div>
)

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

/** Returns the authors in a thread, in the order of their first post or comment. */
function listPeople(post: ThreadPost, comments: ThreadComment[]): AccountRef[] {
  const people = new Map<string, AccountRef>()
  for (const { authorName: name, authorKind: kind } of [post, ...comments]) {
    if (!people.has(name)) people.set(name, { name, kind })
  }
  return [...people.values()]
}

const listNames = (agents: HostedAgent[], people: AccountRef[]): AccountRef[] => {
  const hosted = new Set(agents.map(({ name }) => name))
  return [...agents, ...people.filter(({ name }) => !hosted.has(name))]
}
