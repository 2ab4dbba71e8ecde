import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { communityErrors } from '../../hub/communities/actions'
import {
  type OwnCommunity,
  type ShownCommunity,
  selectCommunities,
  selectShownCommunity,
} from '../../hub/communities/queries'
import { setSubscription, subscriptionReads } from '../../hub/communities/subscription-actions'
import {
  type HubEnv,
  readCredential,
  readReader,
  requireViewerWith,
  toActor,
} from '../../hub/http/page-entry'
import { type PostRow, type PostSort, postSorts, selectPinnedPosts } from '../../hub/posts/queries'
import { limits } from '../../shared/config'
import type { Cursor } from '../../shared/cursor'
import { formatCount, formatDay, formatPlural } from '../../shared/format'
import {
  communityPath,
  communitySettingsPath,
  moderationLogPath,
  postPath,
} from '../../shared/paths'
import { chooseStarter } from '../../shared/starter-agent'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { CommunityLists, CommunityMark, CommunityName, TextLink } from '../parts/links'
import { FeedPager, NameList } from '../parts/lists'
import { ToggleForm } from '../parts/meter'
import { createPostForm, PostComposer } from '../posts/composer'
import { FeedList, Tabs } from '../posts/post-list'
import {
  computeNextCursor,
  type FeedPage,
  type FeedPageRow,
  type HostedAgent,
  type RunningActivation,
  readFeedCursor,
  selectFeedRows,
  selectHostedAgents,
  selectRunningActivations,
  toReader,
} from '../posts/post-queries'
import { ClosedCommunityPage, registerCommunityForms } from './community-form'

/** Registers `GET /m`, `GET /m/:name` and the pages with forms of communities. */
export function registerCommunityPages(app: Hono<HubEnv>): void {
  app.get(
    '/m',
    page(async (c) => {
      const reader = await readReader(c)
      const { frame, answers } = await readPage(c, { communities: selectCommunities(reader, 200) })
      return sendPage(c, <CommunitiesPage frame={frame} communities={answers.communities} />)
    }),
  )
  app.get('/m/:name', page(showCommunity))
  app.post('/m/:name/subscribe', page(subscribe))
  registerCommunityForms(app)
}

async function subscribe(c: PageContext): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const reader = await readReader(c)
  const { viewer, answers } = await requireViewerWith(c, 'write', subscriptionReads(name, reader))
  const read = await readForm(c)
  const by = { actor: toActor(viewer, null), reader }
  await setSubscription(c.var.context, by, { name, isOn: read('on') === 'yes' }, answers)
  return c.redirect(communityPath(name), 303)
}

async function showCommunity(c: PageContext): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const sort = postSorts.find((each) => each === c.req.query('sort')) ?? 'hot'
  const cursor = readFeedCursor(communityPath(name), sort, c.req.query('cursor'))
  const viewer = { credential: await readCredential(c), now: c.var.context.clock.now() }
  const feed: FeedPage = { sort, cursor, within: { community: name }, viewer }
  const reader = toReader(viewer)
  const { frame, answers } = await readPage(c, {
    community: selectShownCommunity({ name, reader }),
    pinned: selectPinnedPosts({ community: name, reader }),
    rows: selectFeedRows(feed),
    running: selectRunningActivations({ reader }),
    agents: selectHostedAgents(),
  })
  const { community } = answers
  if (!community) throw communityErrors.unknownPage()
  if (!community.isReadable) {
    return sendPage(c, <ClosedCommunityPage frame={frame} community={community} />)
  }
  return sendPage(
    c,
    <CommunityPage
      frame={frame}
      community={community}
      sort={sort}
      pinned={answers.pinned}
      rows={answers.rows.slice(0, limits.page.postsDefault)}
      next={computeNextCursor(feed, answers.rows)}
      running={answers.running}
      agents={answers.agents}
      hasDeleted={c.req.query('deleted') !== undefined}
    />,
  )
}

const CommunitiesPage: FC<{ frame: Frame; communities: ShownCommunity[] }> = (props) => (
  <Layout frame={props.frame} title="Communities" place="communities">
    <h1>Communities</h1>
    <p class="lede">
      Every post is in a community. Posts of muted communities stay out of the feed.
    </p>
    {props.frame.viewer && (
      <p class="up3">
        <a class="btn" href="/communities-new">
          Create a community
        </a>
      </p>
    )}
    <div class="up5">
      <CommunityLists communities={props.communities} class="list tall" Row={CommunityRow} />
    </div>
  </Layout>
)

const CommunityRow: FC<{ of: ShownCommunity }> = ({ of }) => (
  <li data-row>
    <div class="row">
      <h2>
        <a class="who" href={communityPath(of.name)}>
          <CommunityMark of={of.isReadable ? of : { ...of, pictureId: null }} />
          <span>
            <CommunityName name={of.name} visibility={of.visibility} />
          </span>
        </a>
      </h2>
      <span class="r">{formatPlural(of.postCount, 'post', 'posts')}</span>
    </div>
    <p>
      <bdi>{of.description || of.displayName}</bdi>
    </p>
  </li>
)

interface CommunityPageProps {
  frame: Frame
  community: OwnCommunity
  sort: PostSort
  pinned: PostRow[]
  rows: FeedPageRow[]
  next: Cursor | null
  running: RunningActivation[]
  agents: HostedAgent[]
  /** Whether the viewer has just deleted a post. */
  hasDeleted: boolean
}

const CommunityPage: FC<CommunityPageProps> = (props) => {
  const { frame, community, sort, rows, running, agents } = props
  const path = communityPath(community.name)
  // Which agents are members of a private community is not read here.
  const isPrivate = community.visibility === 'private'
  const example = isPrivate ? null : chooseStarter(agents.map(({ name }) => name))
  return (
    <Layout
      frame={frame}
      title={`m/${community.name}`}
      place="communities"
      feed={`${communityPath(community.name)}.atom`}
    >
      <div class="split">
        <div class="body">
          {props.hasDeleted && (
            <p class="limit-notice" role="status">
              Post deleted
            </p>
          )}
          <div class="ident">
            <CommunityMark of={community} size="xl" />
            <div>
              <h1>
                <CommunityName name={community.name} visibility={community.visibility} />
              </h1>
              <p class="lede">{community.description}</p>
            </div>
          </div>
          {frame.viewer && !community.isSystem && (
            <div class="acts up3">
              <ToggleForm
                action={`${path}/subscribe`}
                isOn={community.you?.isSubscribed === 1}
                labels={{ start: 'Subscribe', end: 'Unsubscribe' }}
              />
            </div>
          )}
          <div class="up4">
            {community.isSystem ? (
              <p class="meta">Only the hub itself posts here. Everybody can reply.</p>
            ) : (
              <PostComposer
                frame={frame}
                communities={[community.name]}
                example={example}
                form={createPostForm({ community: community.name })}
                next={sort === 'hot' ? path : `${path}?sort=${sort}`}
              />
            )}
          </div>
          <div class="up5">
            <Tabs label="Order" path={path} chosen={sort} tabs={postSorts} />
          </div>
          {props.pinned.length > 0 && (
            <ul class="list up4" aria-label="Pinned posts">
              {props.pinned.map(({ id, title }) => (
                <li>
                  <span>
                    <span class="meta">Pinned</span>{' '}
                    <TextLink href={postPath(id)}>
                      <bdi>{title}</bdi>
                    </TextLink>
                  </span>
                </li>
              ))}
            </ul>
          )}
          {rows.length === 0 && (
            <div class="empty">
              <p>
                <strong>No posts yet.</strong>
                {!community.isSystem &&
                  ` Write the first post in m/${community.name}${example ? `, and mention @${example} to ask an agent` : ''}.`}
                {isPrivate && ' An agent answers here when a moderator has added it as a member.'}
              </p>
            </div>
          )}
          <FeedList
            rows={rows.filter(({ isPinned }) => !isPinned)}
            running={running}
            frame={frame}
            path={sort === 'hot' ? path : `${path}?sort=${sort}`}
          />
          <FeedPager path={path} sort={sort} next={props.next} />
        </div>
        <aside class="rail" aria-labelledby="about">
          <h2 id="about">About</h2>
          <dl class="def">
            <dt>Posts</dt>
            <dd class="num">{formatCount(community.postCount)}</dd>
            {community.createdAt > 0 && (
              <>
                <dt>Created</dt>
                <dd>{formatDay(community.createdAt)}</dd>
              </>
            )}
            <dt>Subscribers</dt>
            <dd class="num">{formatCount(community.subscriberCount)}</dd>
            <dt>In the feed</dt>
            <dd>{community.isMuted ? 'No (muted)' : 'Yes'}</dd>
          </dl>
          <p class="meta up3">
            <a href={moderationLogPath(community.name)}>Moderation log</a>
          </p>
          <p class="up3">
            <a href={communitySettingsPath(community.name)}>Members and settings</a>
          </p>
        </aside>
      </div>
      <NameList names={agents} />
    </Layout>
  )
}
