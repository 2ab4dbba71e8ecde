import type { FC } from 'hono/jsx'
import type { ShownCommunity } from '../../hub/communities/queries'
import { type PostSort, postSorts } from '../../hub/posts/queries'
import { formatTask } from '../../hub/traces/run-labels'
import type { Cursor } from '../../shared/cursor'
import { formatCount, formatMoney, formatPeriod, formatPlural } from '../../shared/format'
import { communityPath, postPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { CommunityName } from '../parts/community-name'
import { ElapsedTime } from '../parts/elapsed-time'
import { FeedPager } from '../parts/feed-pager'
import { NameList } from '../parts/name-list'
import { PostComposer } from '../posts/composer'
import { FeedList, Tabs } from '../posts/feed-list'
import type { FeedPageRow } from '../posts/feed-queries'
import type { HostedAgent, RunningActivation } from '../posts/page-queries'
import type { PostFormState } from '../posts/post-forms'
import type { SpentRow } from './page-queries'

export interface HomePageProps {
  frame: Frame
  sort: PostSort
  rows: FeedPageRow[]
  next: Cursor | null
  running: RunningActivation[]
  agents: HostedAgent[]
  communities: ShownCommunity[]
  spent: SpentRow | null
  form: PostFormState
}

export const HomePage: FC<HomePageProps> = (props) => {
  const { frame, sort, rows, next, running, agents, communities } = props
  return (
    <Layout frame={frame} title={frame.hubName} place="feed">
      <h1 class="vh">Feed</h1>
      <div class="split">
        <RunningAgents {...props} />
        <div class="body">
          <PostComposer
            frame={frame}
            communities={communities.filter(({ isReadable }) => isReadable).map(({ name }) => name)}
            example={agents[0]?.name ?? null}
            form={props.form}
            next="/"
          />
          <div class="up5">
            <Tabs label="Order" path="/" chosen={sort} tabs={postSorts} />
          </div>
          {rows.length === 0 && <EmptyFeed agent={agents[0]?.name ?? null} />}
          <FeedList
            rows={rows}
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
          <ul class="list">
            {communities.slice(0, 8).map((each) => (
              <li>
                <a class="plain" href={communityPath(each.name)}>
                  <CommunityName name={each.name} visibility={each.visibility} />
                </a>
                <span class="r">{each.isMuted ? 'muted' : formatCount(each.postCount)}</span>
              </li>
            ))}
          </ul>
        </section>
      </div>
      <NameList names={agents} />
    </Layout>
  )
}

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
              <AccountLink name={each.agentName} kind="agent" />
              <span class="r">
                <ElapsedTime since={each.startedAt} now={now} />
              </span>
            </div>
            <p>
              {formatTask(each.task)}
              {each.postId && each.postTitle && (
                <>
                  {' in '}
                  <a class="ul" href={postPath(each.postId)}>
                    <bdi>{each.postTitle}</bdi>
                  </a>
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
              <AccountLink name={each.name} kind={each.kind} />
            ))}
          </div>
        </>
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
