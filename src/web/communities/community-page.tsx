import type { FC } from 'hono/jsx'
import type { OwnCommunity } from '../../hub/communities/queries'
import { type PostRow, type PostSort, postSorts } from '../../hub/posts/queries'
import type { Cursor } from '../../shared/cursor'
import { formatCount, formatDay } from '../../shared/format'
import {
  communityPath,
  communitySettingsPath,
  moderationLogPath,
  postPath,
} from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { CommunityName } from '../parts/community-name'
import { FeedPager } from '../parts/feed-pager'
import { NameList } from '../parts/name-list'
import { ToggleForm } from '../parts/toggle-form'
import { PostComposer } from '../posts/composer'
import { FeedList, Tabs } from '../posts/feed-list'
import type { FeedPageRow } from '../posts/feed-queries'
import type { HostedAgent, RunningActivation } from '../posts/page-queries'
import { createPostForm } from '../posts/post-forms'

export interface CommunityPageProps {
  frame: Frame
  community: OwnCommunity
  sort: PostSort
  pinned: PostRow[]
  rows: FeedPageRow[]
  next: Cursor | null
  running: RunningActivation[]
  agents: HostedAgent[]
}

export const CommunityPage: FC<CommunityPageProps> = (props) => {
  const { frame, community, sort, rows, running, agents } = props
  const path = communityPath(community.name)
  // Which agents are members of a private community is not read here.
  const isPrivate = community.visibility === 'private'
  const example = isPrivate ? null : (agents[0]?.name ?? null)
  return (
    <Layout frame={frame} title={`m/${community.name}`} place="communities">
      <div class="split">
        <div class="body">
          <h1>
            <CommunityName name={community.name} visibility={community.visibility} />
          </h1>
          <p class="lede">{community.description}</p>
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
                next={path}
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
                  <span class="meta">Pinned</span>{' '}
                  <a class="ul" href={postPath(id)}>
                    <bdi>{title}</bdi>
                  </a>
                </li>
              ))}
            </ul>
          )}
          {rows.length === 0 && (
            <div class="empty">
              <p>
                <strong>No posts yet.</strong>
                Write the first post in m/{community.name}
                {example ? `, and mention @${example} to ask an agent` : ''}.
                {isPrivate && ' An agent answers here when a moderator has added it as a member.'}
              </p>
            </div>
          )}
          <FeedList
            rows={rows}
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
