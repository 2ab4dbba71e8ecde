import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { toAuthor } from '../../hub/accounts/queries'
import type { ShownCommunity } from '../../hub/communities/queries'
import {
  type HubEnv,
  readCookie,
  readCredential,
  readReader,
  requireSameOrigin,
  requireViewer,
  requireViewerWith,
  writeCookie,
} from '../../hub/http/page-entry'
import { findNotWoken } from '../../hub/inbox/not-woken'
import { createPost, postBody, postReads } from '../../hub/posts/actions'
import { type PostSort, postSorts } from '../../hub/posts/queries'
import { formatTask } from '../../hub/runs/run-labels'
import { limits } from '../../shared/config'
import type { Cursor } from '../../shared/cursor'
import { formatCount, formatMoney, formatPeriod, formatPlural } from '../../shared/format'
import { findMentions } from '../../shared/markdown/render-markdown'
import { communityPath, postPath, writtenPath } from '../../shared/paths'
import {
  chooseStarter,
  firstQuestions,
  starterAgent,
  toQuestionPath,
} from '../../shared/starter-agent'
import { Submit } from '../form/fields'
import { readFormWith, rejectForm } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AccountLink, CommunityLists, CommunityName, TextLink } from '../parts/links'
import { FeedPager, NameList } from '../parts/lists'
import { ElapsedTime, RelativeTime } from '../parts/times'
import { createPostForm, PostComposer, type PostFormState, postForm } from '../posts/composer'
import { FeedList, Tabs } from '../posts/post-list'
import {
  computeNextCursor,
  type FeedPage,
  type FeedPageRow,
  type HostedAgent,
  type RunningActivation,
  readFeedCursor,
} from '../posts/post-queries'
import {
  type FirstStepsRow,
  homeStatements,
  type SinceRow,
  type SpentRow,
  sinceCountMax,
} from './home-queries'

const rememberedSeconds = 400 * 24 * 60 * 60

/** Starts the draft with a mention: an agent's page links to `/?ask=scout`. */
const toMention = (name = ''): string =>
  findMentions(`@${name}`)[0] === name.toLowerCase() ? `@${name} ` : ''

const findQuestion = (name: string): string =>
  Object.entries(firstQuestions).find(([each]) => each === name)?.[1] ?? ''

/** Registers `GET /`, the composer's `POST /posts-new`, its GET, which fills the form with the fields of a query, and the dismissal of the first steps. */
export function registerHomePages(app: Hono<HubEnv>): void {
  app.get(
    '/',
    page((c) => showHome(c, createPostForm({ content: toMention(c.req.query('ask')) }))),
  )
  app.post(
    '/first-steps',
    page((c) => {
      requireSameOrigin(c)
      writeCookie(c, 'first_steps', 'dismissed', { maxAge: rememberedSeconds })
      return c.redirect('/', 303)
    }),
  )
  app.get(
    '/posts-new',
    page((c) => {
      const { title = '', content = '', community = 'general', ask, question = '' } = c.req.query()
      const text = toMention(ask) + findQuestion(question) + content
      return showHome(c, createPostForm({ title, content: text, community }))
    }),
  )
  app.post(
    '/posts-new',
    page(async (c) => {
      const read = readFormWith(postBody, await readForm(c), postForm)
      try {
        if (!read.isValid) {
          await requireViewer(c, 'write')
          return showHome(c, read.form, 400)
        }
        const reads = postReads(read.value, await readReader(c))
        const { viewer, answers } = await requireViewerWith(c, 'write', reads)
        const actor = await readFormActor(c, viewer)
        const done = await createPost(c.var.context, actor, read.value, {
          ...answers,
          author: toAuthor(viewer),
        })
        const unreached = await findNotWoken(c.var.context, actor, done)
        const names = unreached.map(({ name }) => name)
        return c.redirect(writtenPath(done.answer.id, null, names), 303)
      } catch (error) {
        const { form, status } = rejectForm(postForm, read.form, error)
        return showHome(c, form, status)
      }
    }),
  )
}

async function showHome(c: PageContext, form: PostFormState, status = 200): Promise<Response> {
  const now = c.var.context.clock.now()
  const sort = postSorts.find((each) => each === c.req.query('sort')) ?? 'hot'
  const feed: FeedPage = {
    sort,
    cursor: readFeedCursor('/', sort, c.req.query('cursor')),
    within: {},
    viewer: { credential: await readCredential(c), now },
  }
  const stay = feed.viewer.credential && continueStay(readCookie(c, 'stay'), now)
  const since = stay?.since ?? null
  const hasFirstSteps = readCookie(c, 'first_steps') === undefined
  const { frame, answers } = await readPage(c, homeStatements(feed, now, { hasFirstSteps, since }))
  if (stay) writeCookie(c, 'stay', formatStay(stay), { maxAge: rememberedSeconds })
  return sendPage(
    c,
    <HomePage
      frame={frame}
      sort={sort}
      rows={answers.rows.slice(0, limits.page.postsDefault)}
      next={computeNextCursor(feed, answers.rows)}
      running={answers.running}
      agents={answers.agents}
      communities={answers.communities}
      spent={answers.spent ?? null}
      since={since}
      news={answers.since ?? null}
      hasJoined={c.req.query('joined') !== undefined}
      firstSteps={answers.firstSteps ?? null}
      form={form}
      composePath={c.req.path + new URL(c.req.url).search}
    />,
    status,
  )
}

/** Communities beside the feed, without muted ones. */
const listedMax = 8

interface HomePageProps {
  frame: Frame
  sort: PostSort
  rows: FeedPageRow[]
  next: Cursor | null
  running: RunningActivation[]
  agents: HostedAgent[]
  communities: ShownCommunity[]
  spent: SpentRow | null
  /** When the viewer left the last time; null for the first stay, and for nobody. */
  since: number | null
  /** What is new since then. */
  news: SinceRow | null
  firstSteps: FirstStepsRow | null
  /** Whether the viewer has just joined by an invitation. */
  hasJoined: boolean
  form: PostFormState
  /** Where the composer is shown again, filled as it is, after a sign-in. */
  composePath: string
}

const HomePage: FC<HomePageProps> = (props) => {
  const { frame, sort, rows, next, running, agents, communities } = props
  const starter = chooseStarter(agents.map(({ name }) => name))
  const shown = communities.filter(({ isMuted }) => !isMuted).slice(0, listedMax)
  const listed = [...shown, ...communities.filter(({ isMuted }) => isMuted)]
  const open = communities.filter(({ isReadable, isSystem }) => isReadable && !isSystem)
  return (
    <Layout frame={frame} title={frame.hubName} place="feed" feed="/feed.atom" scripts={['feed']}>
      <h1 class="vh">Feed</h1>
      <div class="split">
        <RunningAgents {...props} />
        <div class="body">
          {props.hasJoined && frame.viewer && <Joined name={frame.viewer.name} />}
          <div class={props.hasJoined ? 'up4' : undefined}>
            <FirstSteps frame={frame} done={props.firstSteps} starter={starter} />
          </div>
          <div class={props.firstSteps || props.hasJoined ? 'up4' : undefined}>
            <PostComposer
              frame={frame}
              communities={open.map(({ name }) => name)}
              example={starter}
              form={props.form}
              next={props.composePath}
            />
          </div>
          <div class="up5">
            <Tabs label="Order" path="/" chosen={sort} tabs={postSorts} />
          </div>
          <p class="up3" data-feed="/live/feed" hidden>
            <a class="btn" href="/?sort=new">
              New posts
            </a>
          </p>
          <SinceYouWereHere {...props} />
          {rows.length === 0 && <EmptyFeed agent={starter} />}
          <FeedList
            rows={rows}
            since={props.since}
            running={running}
            frame={frame}
            path={sort === 'hot' ? '/' : `/?sort=${sort}`}
          />
          <FeedPager path="/" sort={sort} next={next} />
        </div>
        <section class="rail" aria-labelledby="communities">
          <h2 id="communities">
            Communities{' '}
            <a class="meta" href="/m">
              all
            </a>
          </h2>
          <CommunityLists communities={listed} class="list" Row={CommunityRow} />
        </section>
      </div>
      <NameList names={agents} />
    </Layout>
  )
}

const formatNew = (count: number): string =>
  count > sinceCountMax ? `${sinceCountMax}+` : `${count}`

/** What is new, in one line; nothing when there is nothing. */
const SinceYouWereHere: FC<HomePageProps> = ({ frame, since, news }) => {
  if (since === null || news === null || news.threads + news.answers === 0) return null
  return (
    <p class="meta up3" id="since">
      Since you were here <RelativeTime at={since} now={frame.now} />:{' '}
      {news.threads > 0 && (
        <a href="/?sort=new">
          {formatNew(news.threads)} new {news.threads === 1 ? 'thread' : 'threads'}
        </a>
      )}
      {news.threads > 0 && news.answers > 0 && ', '}
      {news.answers > 0 && (
        <a href="/inbox">
          {formatNew(news.answers)} {news.answers === 1 ? 'answer' : 'answers'} to you
        </a>
      )}
    </p>
  )
}

const CommunityRow: FC<{ of: ShownCommunity }> = ({ of }) => (
  <li>
    <a class="plain" href={communityPath(of.name)}>
      <CommunityName name={of.name} visibility={of.visibility} />
    </a>
    <span class="r">{formatCount(of.postCount)}</span>
  </li>
)

/** Until a person adds a passkey, the session of the invitation is their only way in. */
const Joined: FC<{ name: string }> = ({ name }) => (
  <p role="status">
    <strong>You have joined as {name}.</strong> This browser is your only way in until you{' '}
    <TextLink href="/settings/sign-in">add a passkey</TextLink>.
  </p>
)

const EmptyFeed: FC<{ agent: string | null }> = ({ agent }) => (
  <div class="empty">
    <p>
      <strong>No posts yet.</strong>
      Write the first post above.
    </p>
    {agent && (
      <p>
        To wake an agent, mention it: “<b>@{agent}</b> what do we know about …?” Its answer appears
        below your post, with its steps and cost.
      </p>
    )}
  </div>
)

const RunningAgents: FC<HomePageProps> = ({ frame, running, agents, spent }) => {
  const { now } = frame
  const busy = new Set(running.map((each) => each.agentName))
  const asleep = agents.filter((each) => !busy.has(each.name)).slice(0, 8)
  return (
    <section class="rail" aria-labelledby="awake">
      <h2 id="awake">
        Running now{' '}
        <span class="meta">
          {running.length === 0 ? 'no agents' : formatPlural(running.length, 'agent', 'agents')}
        </span>
      </h2>
      <ul class="list tall">
        {running.slice(0, 6).map((each) => (
          <li>
            <div class="row">
              <AccountLink name={each.agentName} kind="agent" avatarId={each.agentAvatarId} />
              <span class="r">
                <ElapsedTime since={each.startedAt} now={now} />
              </span>
            </div>
            <p>
              {formatTask(each.task)}
              {each.postId && each.postTitle && (
                <>
                  {' in '}
                  <TextLink href={postPath(each.postId)}>
                    <bdi>{each.postTitle}</bdi>
                  </TextLink>
                </>
              )}
            </p>
          </li>
        ))}
      </ul>
      {asleep.length > 0 && (
        <>
          <p class="meta">Asleep until mentioned:</p>
          <div class="crew">
            {asleep.map((each) => (
              <AccountLink name={each.name} kind={each.kind} avatarId={each.avatarId} />
            ))}
          </div>
        </>
      )}
      {frame.isOffline && agents.length > 0 && (
        <p class="meta">
          Agents use the built-in offline model: it finds and quotes posts, and costs nothing.{' '}
          <a href={frame.viewer?.isAdmin ? '/models' : '/docs#models'}>Set up a model</a>
        </p>
      )}
      {agents.length === 0 && (
        <p class="meta">
          No agents yet. <a href="/docs#agents">Add an agent</a>
        </p>
      )}
      {spent && (
        <p class="meta">
          Agents spent{' '}
          <a href="/budgets">
            {formatMoney(spent.spentMicrousd, 'budget')} {formatPeriod(spent.period)}
          </a>
          .
        </p>
      )}
    </section>
  )
}

interface FirstStepsProps {
  frame: Frame
  /** Null for everybody but admins who have not dismissed the card. */
  done: FirstStepsRow | null
  /** The agent to ask. */
  starter: string | null
}

/** What an admin of a new hub does first, each step ticked when the hub knows of it. Gone when all are done. */
const FirstSteps: FC<FirstStepsProps> = ({ frame, done, starter }) => {
  if (done === null) return null
  const steps = [
    {
      isDone: done.hasAsked,
      href: toQuestionPath(starter ?? starterAgent, 'model'),
      text: 'Ask an agent a question',
    },
    { isDone: !frame.isOffline, href: '/models', text: 'Add a model' },
    { isDone: done.hasOwnAgent, href: '/agents/new', text: 'Make an agent' },
    { isDone: done.hasInvited, href: '/admin/people#invite', text: 'Invite a person' },
  ]
  const count = steps.filter(({ isDone }) => isDone).length
  if (count === steps.length) return null
  return (
    <section aria-labelledby="first-steps">
      <h2 id="first-steps">
        First steps{' '}
        <span class="meta">
          {count} of {steps.length} done
        </span>
      </h2>
      <form class="crew" method="post" action="/first-steps">
        {steps.map(({ isDone, href, text }) => (
          <span class="nb">
            <span class={isDone ? 'ok' : 'meta'} aria-hidden="true">
              {isDone ? '✓' : '○'}
            </span>{' '}
            <a href={href}>{text}</a>
            {isDone && <span class="vh"> (done)</span>}
          </span>
        ))}
        <Submit aria-label="Dismiss first steps">Dismiss</Submit>
      </form>
    </section>
  )
}

/** A browser that opens no feed for this long has left. */
const awayMs = 30 * 60_000

/** When a browser was here: the end of the stay before this one, and the last time in this one. */
interface Stay {
  /** Null in the first stay. */
  since: number | null
  last: number
}

/** Returns the stay that goes on or begins now. */
export function continueStay(kept: string | undefined, now: number): Stay {
  const [, since = '', last = ''] = /^(\d{0,15})-(\d{1,15})$/.exec(kept ?? '') ?? []
  if (last === '') return { since: null, last: now }
  if (now - Number(last) > awayMs) return { since: Number(last), last: now }
  return { since: since === '' ? null : Number(since), last: now }
}

/** Returns a stay as `continueStay` reads it. */
export const formatStay = ({ since, last }: Stay): string => `${since ?? ''}-${last}`
