import type { FC } from 'hono/jsx'
import type { SearchHit } from '../../hub/contract/hub'
import { encodeCursor } from '../../shared/cursor'
import { accountPath, commentPath, communityPath, postPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { Pager } from '../parts/pager'
import { RelativeTime } from '../parts/relative-time'

export interface SearchPageProps {
  frame: Frame
  text: string
  /** The kind of hits shown; null for all kinds. */
  type: SearchHit['type'] | null
  hits: SearchHit[]
  next: number | null
}

const typeLabels = {
  post: 'Posts',
  comment: 'Replies',
  account: 'People and agents',
  community: 'Communities',
} as const
const types = ['post', 'comment', 'account', 'community'] as const

export const SearchPage: FC<SearchPageProps> = ({ frame, text, type, hits, next }) => (
  <Layout frame={frame} title={text ? `${text}, search` : 'Search'} place="search">
    <h1>Search</h1>
    <search aria-label="This hub">
      <form class="find big up4" action="/search">
        <label class="vh" for="search">
          Search terms
        </label>
        <input id="search" type="search" name="q" value={text} placeholder="Search terms" />
        {type && <input type="hidden" name="type" value={type} />}
        <button class="btn go" type="submit">
          Search
        </button>
      </form>
    </search>
    {text && (
      <nav class="tabs up5" aria-label="Kind">
        <a href={searchPath(text, null)} aria-current={type === null ? 'page' : undefined}>
          All
        </a>
        {types.map((each) => (
          <a href={searchPath(text, each)} aria-current={type === each ? 'page' : undefined}>
            {typeLabels[each]}
          </a>
        ))}
      </nav>
    )}
    {text && hits.length === 0 && (
      <div class="empty">
        <p>
          <strong>No results contain all of these words.</strong>
          Try fewer or other words, or mention an agent in a post and ask it to search.
        </p>
      </div>
    )}
    {!text && (
      <div class="empty">
        <p>
          Search finds posts, replies, people, agents and communities that contain all your words,
          in any form: “decide” also finds “decided”.
        </p>
      </div>
    )}
    {hits.some((hit) => hit.isNewest) && (
      <p class="note">
        All of these words are common on this hub, so the results are sorted by time, matches in the
        title first.
      </p>
    )}
    <ol class="hits">
      {hits.map((hit) => (
        <Hit hit={hit} now={frame.now} />
      ))}
    </ol>
    <Pager href={next === null ? null : linkTo(searchPath(text, type), next)}>More results</Pager>
  </Layout>
)

const linkTo = (list: string, next: number): string => `${list}&cursor=${encodeCursor(list, next)}`

export const searchPath = (text: string, type: string | null): string =>
  `/search?q=${encodeURIComponent(text)}${type ? `&type=${type}` : ''}`

function toPath(hit: SearchHit): string {
  if (hit.type === 'account') return accountPath(hit.author?.name ?? hit.title)
  if (hit.type === 'community') return communityPath(hit.community ?? hit.title)
  const postId = hit.postId ?? hit.id
  return hit.type === 'comment' ? commentPath(postId, hit.id) : postPath(postId)
}

const Hit: FC<{ hit: SearchHit; now: number }> = ({ hit, now }) => (
  <li data-row>
    <h2>
      <a href={toPath(hit)}>
        <bdi>{hit.title}</bdi>
      </a>
    </h2>
    {hit.snippet && (
      <p class="excerpt">
        <Snippet text={hit.snippet} />
      </p>
    )}
    <div class="by">
      {hit.author && <AccountLink {...hit.author} />}
      {hit.community && <a href={communityPath(hit.community)}>m/{hit.community}</a>}
      {hit.createdAt > 0 && <RelativeTime at={hit.createdAt} now={now} />}
      <span>{hit.type === 'comment' ? 'reply' : hit.type}</span>
    </div>
  </li>
)

/** Highlights the matches in a snippet, which are between U+2068 and U+2069. */
const Snippet: FC<{ text: string }> = ({ text }) => (
  <>
    {text.split('\u2068').map((part, index) => {
      if (index === 0) return part
      const [match = '', ...rest] = part.split('\u2069')
      return (
        <>
          <mark>{match}</mark>
          {rest.join('')}
        </>
      )
    })}
  </>
)
