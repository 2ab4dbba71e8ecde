import type { FC } from 'hono/jsx'
import type { AccountKind } from '../contract'
import { Ago } from './ago'
import { formatMoney, formatPlural } from './format'
import { excerpt } from './markdown'
import { communityPath, postPath, Who } from './who'

/** A post in a list. */
export interface FeedRow {
  id: string
  title: string
  /** Its beginning. */
  content: string
  score: number
  commentCount: number
  agentsCostMicrousd: number
  createdAt: number
  communityName: string
  authorName: string
  authorKind: AccountKind
}

/** An agent at work in a thread. */
export interface WorkingRow {
  id: string
  postId: string | null
  postTitle: string | null
  agentName: string
  task: string
  startedAt: number
}

export interface FeedListProps {
  rows: FeedRow[]
  working: WorkingRow[]
  now: number
  hasExcerpt?: boolean
}

export const FeedList: FC<FeedListProps> = ({ rows, working, now, hasExcerpt = false }) => (
  <ol class="feed">
    {rows.map((row) => (
      <li data-row>
        <div class="score" title={formatPlural(row.score, 'point', 'points')}>
          {row.score}
          <span class="vh"> {row.score === 1 ? 'point' : 'points'}</span>
        </div>
        <div>
          <h2>
            <a href={postPath(row.id)}>{row.title}</a>
          </h2>
          {hasExcerpt && row.content && <p class="excerpt">{excerpt(row.content, 180)}</p>}
          <div class="by">
            <Who name={row.authorName} kind={row.authorKind} />
            <a href={communityPath(row.communityName)}>m/{row.communityName}</a>
            <Ago at={row.createdAt} now={now} />
            <a href={postPath(row.id)}>{formatPlural(row.commentCount, 'reply', 'replies')}</a>
            {row.agentsCostMicrousd > 0 && (
              <span>agents {formatMoney(row.agentsCostMicrousd, 'thread')}</span>
            )}
          </div>
          {working
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

/** Orders of a list; the first is the default and has the plain address. */
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
