import type { FC } from 'hono/jsx'
import type { ResumePromise } from '../../hub/activations/resume-view'
import type { VisibleApproval } from '../../hub/approvals/redact-approval'
import { buildTree } from '../../hub/comments/comment-tree'
import type { NotWoken } from '../../hub/contract/hub'
import type { FollowingRow } from '../../hub/following/queries'
import type { LiftRow } from '../../hub/lifted-limits/queries'
import type { RemovalRow } from '../../hub/moderation/viewer-queries'
import type { NotWokenAgent } from '../../hub/reply-limits/queries'
import type { FeedbackSummary } from '../../hub/run-feedback/queries'
import { encodeCursor } from '../../shared/cursor'
import { formatPlural } from '../../shared/format'
import { commentPath, postPath } from '../../shared/paths'
import type { Frame, PageViewer } from '../frame/frame'
import { Layout } from '../frame/layout'
import type { AccountRef } from '../parts/account-link'
import { NameList } from '../parts/name-list'
import { CommentTree } from './comment-tree-view'
import { LiftedNote, LiftForm } from './lift-notice'
import { LiveBlock, LiveTemplate, ParkedBlock } from './live-block'
import { findMisspeltMentions, MisspeltNotice } from './misspelt-notice'
import { NotWokenNotice, RefusalNotice, UnreachedNotice } from './not-woken-notice'
import type {
  HostedAgent,
  PausedAgent,
  ThreadActivation,
  ThreadComment,
  ThreadPost,
} from './page-queries'
import { PostArticle } from './post-article'
import type { ReplyFormState } from './post-forms'
import { PausedNotice, QuietNotice } from './quiet-notice'
import type { QuietMention } from './quiet-queries'
import { SteeringNote, ThreadEnd } from './thread-end'
import { ThreadStats } from './thread-stats'

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
              <UnreachedNotice of={listUnreached(props)} />
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
              <Notices {...props} working={working} known={known} />
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

/** Why agents of the thread wait or stopped, with what viewers can do about it. */
const Notices: FC<ThreadPageProps & { working: ThreadActivation[]; known: ReadonlySet<string> }> = (
  props,
) => {
  const { frame, post, activations, working } = props
  const texts = [post, ...props.comments].map(({ html }) => html)
  const known = new Set([...props.known, ...listUnreached(props).map(({ name }) => name)])
  const parked = activations.filter(({ state }) => state === 'parked')
  const refused = activations.filter(({ replyRefusal }) => replyRefusal !== null)
  return (
    <div id="notices">
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
      {props.quiet.map((each) => (
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
const EarlierLink: FC<ThreadPageProps> = ({ post, comments, hasEarlier }) => {
  const first = comments[0]
  if (!hasEarlier || !first) return null
  const cursor = encodeCursor(postPath(post.id), [first.createdAt, first.id])
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
  for (const { authorName: name, authorKind: kind } of [post, ...comments]) {
    if (!people.has(name)) people.set(name, { name, kind })
  }
  return [...people.values()]
}

const listNames = (agents: HostedAgent[], people: AccountRef[]): AccountRef[] => {
  const hosted = new Set(agents.map(({ name }) => name))
  return [...agents, ...people.filter(({ name }) => !hosted.has(name))]
}
