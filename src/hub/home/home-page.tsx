import type { FC } from 'hono/jsx'
import type { CommunityCard } from '../communities/page-queries'
import type { Cursor } from '../cursor'
import { type HostedAgent, type PageSort, pageSorts } from '../posts/page-queries'
import { sayTask } from '../web/agent-words'
import { NameList, PostComposer, type PostDraft } from '../web/composer'
import { FeedList, type FeedRow, Tabs, type WorkingRow } from '../web/feed-list'
import { Pager } from '../web/feed-pager'
import { formatCount, formatMoney, formatPlural, sayPeriod } from '../web/format'
import type { FormProblem, Frame } from '../web/frame'
import { Layout } from '../web/layout'
import { communityPath, postPath, Who } from '../web/who'
import { Working } from '../web/working'
import type { SpentRow } from './page-queries'

export interface HomePageProps {
  frame: Frame
  sort: PageSort
  rows: FeedRow[]
  next: Cursor | null
  working: WorkingRow[]
  agents: HostedAgent[]
  communities: CommunityCard[]
  spent: SpentRow | null
  draft: PostDraft
  problem: FormProblem | null
}

export const HomePage: FC<HomePageProps> = (props) => {
  const { frame, sort, rows, next, working, agents, communities } = props
  return (
    <Layout frame={frame} title={frame.hubName} place="feed">
      <h1 class="vh">Feed</h1>
      <div class="split">
        <RunningAgents {...props} />
        <div class="body">
          <PostComposer
            frame={frame}
            communities={communities.map((each) => each.name)}
            example={agents[0]?.name ?? null}
            problem={props.problem}
            draft={props.draft}
            next="/"
          />
          <div class="up5">
            <Tabs label="Order" path="/" chosen={sort} tabs={pageSorts} />
          </div>
          {rows.length === 0 && <EmptyFeed agent={agents[0]?.name ?? null} />}
          <FeedList
            rows={rows}
            working={working}
            frame={frame}
            path={sort === 'hot' ? '/' : `/?sort=${sort}`}
          />
          <Pager path="/" sort={sort} next={next} />
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
                  m/{each.name}
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

const RunningAgents: FC<HomePageProps> = ({ frame, working, agents, spent }) => {
  const { now } = frame
  const busy = new Set(working.map((each) => each.agentName))
  const asleep = agents.filter((each) => !busy.has(each.name)).slice(0, 8)
  return (
    <section class="rail" aria-labelledby="awake">
      <h2 id="awake">
        Running now{' '}
        <span class="meta">
          {working.length === 0 ? 'no agents' : formatPlural(working.length, 'agent', 'agents')}
        </span>
      </h2>
      <ul class="list tall">
        {working.slice(0, 6).map((each) => (
          <li>
            <div class="row">
              <Who name={each.agentName} kind="agent" />
              <span class="r">
                <Working since={each.startedAt} now={now} />
              </span>
            </div>
            <p>
              {sayTask(each.task)}
              {each.postId && each.postTitle && (
                <>
                  {' in '}
                  <a class="ul" href={postPath(each.postId)}>
                    {each.postTitle}
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
              <Who name={each.name} kind={each.kind} />
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
            {formatMoney(spent.spentMicrousd, 'budget')} {sayPeriod(spent.period)}
          </a>
          .
        </p>
      )}
    </section>
  )
}
