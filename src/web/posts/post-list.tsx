import type { FC, PropsWithChildren } from 'hono/jsx'
import type { PostRow } from '../../hub/posts/queries'
import { formatMoney, formatPlural } from '../../shared/format'
import { communityPath, postPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { AccountLink, CommunityName } from '../parts/links'
import { excerpt } from '../parts/prose'
import { RelativeTime } from '../parts/times'
import { type FeedPageRow, newRepliesMax, type RunningActivation } from './post-queries'
import { VoteForm } from './vote-form'

interface FeedListProps {
  rows: FeedPageRow[]
  running: RunningActivation[]
  frame: Frame
  /** Path of the page with the list, to return to after a vote. */
  path: string
  /** When the viewer left the last time: posts after it that the viewer has not opened are new. */
  since?: number | null
}

export const FeedList: FC<FeedListProps> = ({ rows, ...props }) => (
  <ol class="feed">
    {groupSeries(rows).map((each) =>
      'rows' in each ? <SeriesItem {...props} of={each} /> : <PostItem {...props} row={each} />,
    )}
  </ol>
)

type ItemProps = Omit<FeedListProps, 'rows'>

/** Posts of a schedule as one line, which opens. */
const SeriesItem: FC<ItemProps & { of: FeedSeries }> = ({ of: { title, rows }, ...props }) => {
  const [newest] = rows
  return (
    <li>
      <details class="series">
        <summary>
          <b>
            <bdi>{title}</bdi>
          </b>
          : {formatPlural(rows.length, 'post', 'posts')}
          {newest && (
            <span class="meta">
              {' '}
              by {newest.authorName} on a schedule, in m/{newest.communityName}, the newest{' '}
              <RelativeTime
                at={Math.max(...rows.map(({ createdAt }) => createdAt))}
                now={props.frame.now}
              />
            </span>
          )}
        </summary>
        <ol class="feed">
          {rows.map((row) => (
            <PostItem {...props} row={row} />
          ))}
        </ol>
      </details>
    </li>
  )
}

const PostItem: FC<ItemProps & { row: FeedPageRow }> = (props) => {
  const { row, running, frame, path } = props
  return (
    <li id={`p-${row.id}`} data-row>
      <VoteForm
        viewer={frame.viewer}
        postId={row.id}
        commentId={null}
        of={row.title}
        authorName={row.authorName}
        score={row.score}
        value={row.own.vote}
        next={`${path}#p-${row.id}`}
        isUpOnly
      />
      <div>
        <h2>
          <a href={postPath(row.id)}>
            <bdi>{row.title}</bdi>
          </a>
        </h2>
        {row.content && <p class="excerpt">{excerpt(row.content, 180)}</p>}
        <PostByline of={row} now={frame.now}>
          <a href={communityPath(row.communityName)}>
            <CommunityName name={row.communityName} visibility={row.visibility} />
          </a>
          <span>
            <a href={postPath(row.id)}>{formatPlural(row.commentCount, 'reply', 'replies')}</a>
            {row.own.newReplies ? <b>, {formatNewReplies(row.own.newReplies)}</b> : ''}
          </span>
          {isNew(row, props) && <b>new</b>}
          {row.isAnswered && <span>answered</span>}
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
  )
}

const formatNewReplies = (count: number): string =>
  count > newRepliesMax ? `more than ${newRepliesMax} new` : `${count} new`

/** Whether somebody else wrote a post since the viewer was here, and the viewer has not opened it. */
const isNew = (
  { own, createdAt, authorId }: FeedPageRow,
  { since = null, frame }: Pick<FeedListProps, 'since' | 'frame'>,
): boolean =>
  since !== null && own.newReplies === null && createdAt > since && authorId !== frame.viewer?.id

interface TabsProps {
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

type Props = PropsWithChildren<{
  of: PostRow & { authorAvatarId: string | null }
  now: number
  /** Whether it stands above the thread of the post. */
  isInThread?: boolean
}>

/** Who wrote a post and when, in lists and above its thread; `children` follow the author. */
export const PostByline: FC<Props> = ({ of: post, now, isInThread, children }) => (
  <div class={isInThread ? 'by up3' : 'by'}>
    <AccountLink
      name={post.authorName}
      kind={post.authorKind}
      avatarId={post.authorAvatarId}
      size={isInThread ? 'l' : 's'}
    />
    {post.isTriggered && <span>by trigger</span>}
    <RelativeTime at={post.createdAt} now={now} />
    {children}
  </div>
)

/** Posts that are shown as one line, and what their titles have in common. */
interface FeedSeries {
  title: string
  rows: FeedPageRow[]
}

type SeriesRow = Pick<FeedPageRow, 'authorId' | 'communityId' | 'hasSchedule' | 'title'>

/** Words at the beginning of a title that make two posts a series. */
const commonWordsMin = 2

/**
 * Groups posts of one agent that works on a schedule, in one community, whose titles begin alike, such as "Morning
 * summary, day 3", at the place of the first of them. Other posts stand alone. A post does not record the run that wrote
 * it, so the titles say what belongs together.
 */
export function groupSeries(rows: readonly FeedPageRow[]): (FeedPageRow | FeedSeries)[] {
  const groups: (FeedPageRow | FeedSeries)[] = []
  for (const row of rows) {
    const at = groups.findIndex((each) => findCommonTitle([...rowsOf(each), row]) !== null)
    const before = groups[at]
    const all = before ? [...rowsOf(before), row] : []
    const title = findCommonTitle(all)
    if (title === null) groups.push(row)
    else groups[at] = { title, rows: all }
  }
  return groups
}

const rowsOf = (group: FeedPageRow | FeedSeries): FeedPageRow[] =>
  'rows' in group ? group.rows : [group]

/** Returns how the titles of a series begin, without what is after their last comma or colon; null for no series. */
export function findCommonTitle(rows: readonly SeriesRow[]): string | null {
  const [first, ...others] = rows
  if (!first) return null
  const isOne = others.every(
    ({ authorId, communityId }) => authorId === first.authorId && communityId === first.communityId,
  )
  if (!isOne || !first.hasSchedule) return null
  const titles = rows.map(({ title }) => title.split(/\s+/))
  const [words = []] = titles
  const end = words.findIndex((word, index) => titles.some((each) => each[index] !== word))
  const common = end < 0 ? words : words.slice(0, end)
  const cut = common.findLastIndex((word) => /[,:;(–—-]$/.test(word))
  const kept = cut + 1 >= commonWordsMin ? common.slice(0, cut + 1) : common
  return kept.length < commonWordsMin ? null : kept.join(' ').replace(/[\s,:;(–—-]{1,9}$/, '')
}
