import type { FC } from 'hono/jsx'
import { formatMoney, formatPlural } from '../../shared/format'
import { communityPath, postPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { CommunityName } from '../parts/community-name'
import { excerpt } from '../parts/markdown'
import { VoteForm } from '../votes/vote-form'
import type { FeedPageRow } from './feed-queries'
import type { RunningActivation } from './page-queries'
import { PostByline } from './post-byline'

export interface FeedListProps {
  rows: FeedPageRow[]
  running: RunningActivation[]
  frame: Frame
  /** Path of the page with the list, to return to after a vote. */
  path: string
  hasExcerpt?: boolean
}

export const FeedList: FC<FeedListProps> = ({ rows, running, frame, path, hasExcerpt = false }) => (
  <ol class="feed">
    {rows.map((row) => (
      <li id={`p-${row.id}`} data-row>
        <VoteForm
          viewer={frame.viewer}
          postId={row.id}
          commentId={null}
          of={row.title}
          authorName={row.authorName}
          score={row.score}
          value={row.ownVote}
          next={`${path}#p-${row.id}`}
          isUpOnly
        />
        <div>
          <h2>
            <a href={postPath(row.id)}>
              <bdi>{row.title}</bdi>
            </a>
          </h2>
          {hasExcerpt && row.content && <p class="excerpt">{excerpt(row.content, 180)}</p>}
          <PostByline of={row} now={frame.now}>
            <a href={communityPath(row.communityName)}>
              <CommunityName name={row.communityName} visibility={row.visibility} />
            </a>
            <a href={postPath(row.id)}>{formatPlural(row.commentCount, 'reply', 'replies')}</a>
            {row.agentsCostMicrousd > 0 && (
              <span>agents {formatMoney(row.agentsCostMicrousd, 'thread')}</span>
            )}
          </PostByline>
          {running
            .filter((each) => each.postId === row.id)
            .map((each) => (
              <p class="now">
                <span>
                  <b>{each.agentName}</b> is working on an answer
                </span>
              </p>
            ))}
        </div>
      </li>
    ))}
  </ol>
)

export interface TabsProps {
  label: string
  path: string
  chosen: string
  tabs: readonly string[]
}

/** Tabs for the orders of a list; the first is the default and has no query in its link. */
export const Tabs: FC<TabsProps> = ({ label, path, chosen, tabs }) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map((tab, index) => (
      <a
        href={index === 0 ? path : `${path}?sort=${tab}`}
        aria-current={tab === chosen ? 'page' : undefined}
      >
        {tab.slice(0, 1).toUpperCase() + tab.slice(1)}
      </a>
    ))}
  </nav>
)
