import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { selectShownCommunity } from '../../hub/communities/queries'
import type { SearchHit } from '../../hub/contract/hub'
import { type HubEnv, readReader } from '../../hub/http/page-entry'
import {
  countHits,
  type HitCounts,
  hitTypes,
  selectHits,
  toSearchHit,
} from '../../hub/search/queries'
import { findSuggestion } from '../../hub/search/suggest'
import { readSearchTerms, type SearchSpan, searchSpans, toSince } from '../../hub/search/terms'
import { limits } from '../../shared/config'
import { decodeCount, encodeCursor } from '../../shared/cursor'
import { accountPath, commentPath, communityPath, postPath } from '../../shared/paths'
import { Field, Submit } from '../form/fields'
import { createForm } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AccountLink, TextLink } from '../parts/links'
import { Pager } from '../parts/lists'
import { RelativeTime } from '../parts/times'

/** Registers `GET /search?q=&type=&community=&author=&within=&cursor=`. Input without any word finds nothing. */
export function registerSearchPages(app: Hono<HubEnv>): void {
  app.get('/search', page(showSearch, { rate: 'search', body: 'none' }))
}

async function showSearch(c: PageContext): Promise<Response> {
  const { db, clock } = c.var.context
  const asked = readAsked((name) => c.req.query(name)?.trim() ?? '')
  const path = searchPath(asked)
  const offset = decodeCount(path, c.req.query('cursor'))
  const terms = readSearchTerms(asked.q, 'all')
  const shown = limits.search.resultsDefault
  const reader = await readReader(c)
  const scope = {
    reader,
    community: asked.community.replace(/^m\//i, '') || null,
    author: asked.author.replace(/^@/, '') || null,
    since: toSince(asked.within, clock.now()),
  }
  const filter = {
    types: asked.type ? [asked.type] : hitTypes,
    exceptPostId: null,
    demoteQuestionsFor: null,
    limit: shown + 1,
    offset,
  }
  const { frame, answers } = await readPage(c, {
    hits: terms ? selectHits({ ...scope, ...filter, terms }) : null,
    counts: terms ? countHits({ ...scope, terms }) : null,
    community: scope.community ? selectShownCommunity({ name: scope.community, reader }) : null,
  })
  const hits = (answers.hits ?? []).map(toSearchHit)
  const isMissed = terms !== null && hits.length === 0 && offset === 0
  return sendPage(
    c,
    <SearchPage
      frame={frame}
      asked={asked}
      isUnknown={scope.community !== null && !answers.community}
      hits={hits.slice(0, shown)}
      counts={answers.counts ?? null}
      suggestion={isMissed ? await findSuggestion(db, asked.q, scope) : null}
      next={hits.length > shown ? encodeCursor(path, offset + shown) : null}
    />,
  )
}

/** What is searched for, as in the address of the page; '' for a filter that is not set. */
interface Asked {
  q: string
  type: SearchHit['type'] | null
  community: string
  author: string
  within: SearchSpan | null
}

const readAsked = (query: (name: string) => string): Asked => ({
  q: query('q').slice(0, limits.search.queryCharsMax),
  type: hitTypes.find((type) => type === query('type')) ?? null,
  community: query('community'),
  author: query('author'),
  within: searchSpans.find((span) => span === query('within')) ?? null,
})

interface SearchPageProps {
  frame: Frame
  asked: Asked
  /** Whether the viewer sees no community of the name that the filter has. */
  isUnknown: boolean
  hits: SearchHit[]
  /** Null without a search. */
  counts: HitCounts | null
  /** The words in another spelling, if nothing was found. */
  suggestion: string | null
  /** Cursor of the next page; null on the last one. */
  next: string | null
}

const typeLabels = {
  post: 'Posts',
  comment: 'Replies',
  account: 'People and agents',
  community: 'Communities',
} as const

const spanLabels = {
  '': 'Any time',
  day: 'Past day',
  week: 'Past week',
  month: 'Past month',
  year: 'Past year',
} as const

/** A kind of hits with how many there are, as a tab. */
const KindTab: FC<{ asked: Asked; type: Asked['type']; counts: HitCounts | null }> = (props) => {
  const { asked, type, counts } = props
  const count =
    counts && (type ? counts[type] : hitTypes.reduce((sum, each) => sum + counts[each], 0))
  return (
    <a
      href={searchPath({ ...asked, type })}
      aria-current={asked.type === type ? 'page' : undefined}
    >
      {type ? typeLabels[type] : 'All'}
      {count !== null && (
        <span class="meta">
          {' '}
          {count}
          {counts?.isPartial && count > 0 && '+'}
        </span>
      )}
    </a>
  )
}

const SearchPage: FC<SearchPageProps> = (props) => {
  const { frame, asked, hits, counts, suggestion, next } = props
  const { q, type, community, author, within } = asked
  const form = createForm({ community, author, within: within ?? '' })
  const isFiltered = community !== '' || author !== '' || within !== null
  const hasWords = counts !== null
  return (
    <Layout frame={frame} title={q ? `${q}, search` : 'Search'} place="search" sheet="admin">
      <h1>Search</h1>
      <search aria-label="This hub">
        <form class="up4" action="/search">
          <div class="find big">
            <label class="vh" for="search">
              Search terms
            </label>
            <input id="search" type="search" name="q" value={q} placeholder="Search terms" />
            {type && <input type="hidden" name="type" value={type} />}
            <Submit isMain>Search</Submit>
          </div>
          <div class="filter up3">
            <Field form={form} name="community" label="Community" placeholder="Any" />
            <Field form={form} name="author" label="Author" placeholder="Anybody" />
            <Field form={form} name="within" as="select" label="Time" options={spanLabels} />
          </div>
        </form>
      </search>
      {props.isUnknown && (
        <p class="up4" role="status">
          There is no community <b>m/{community.replace(/^m\//i, '')}</b> that you can read.{' '}
          <TextLink href="/m">All communities</TextLink>
        </p>
      )}
      {!hasWords && isFiltered && <NoWords asked={asked} isUnknown={props.isUnknown} />}
      {q && (
        <nav class="tabs up4" aria-label="Kind">
          {[null, ...hitTypes].map((each) => (
            <KindTab asked={asked} type={each} counts={counts} />
          ))}
        </nav>
      )}
      {q && hits.length === 0 && !props.isUnknown && (
        <div class="empty">
          <p>
            <strong>No results.</strong>
            {suggestion !== null && (
              <>
                Did you mean{' '}
                <TextLink href={searchPath({ ...asked, q: suggestion })}>{suggestion}</TextLink>?{' '}
              </>
            )}
            {isFiltered || type ? (
              <TextLink href={searchPath({ ...noFilter, q })}>Remove the filters</TextLink>
            ) : (
              'Try fewer or other words, or mention an agent in a post and ask it to search.'
            )}
          </p>
        </div>
      )}
      {hits.some((hit) => hit.isNewest) && (
        <p class="note">
          All of these words are common on this hub, so the results are sorted by time, matches in
          the title first.
        </p>
      )}
      <ol class="hits">
        {hits.map((hit) => (
          <Hit hit={hit} now={frame.now} />
        ))}
      </ol>
      <Pager href={next === null ? null : `${searchPath(asked)}&cursor=${next}`}>
        More results
      </Pager>
    </Layout>
  )
}

/** A filter alone searches for nothing; it says where all texts of its author or community are. */
const NoWords: FC<Pick<SearchPageProps, 'asked' | 'isUnknown'>> = ({ asked, isUnknown }) => {
  const author = asked.author.replace(/^@/, '')
  const community = asked.community.replace(/^m\//i, '')
  return (
    <p class="up4" role="status">
      Enter the words to search for.
      {author !== '' && (
        <>
          {' '}
          Everything by one account is on its page:{' '}
          <TextLink href={accountPath(author)}>@{author}</TextLink>.
        </>
      )}
      {author === '' && community !== '' && !isUnknown && (
        <>
          {' '}
          All posts are in <TextLink href={communityPath(community)}>m/{community}</TextLink>.
        </>
      )}
    </p>
  )
}

const noFilter = { type: null, community: '', author: '', within: null } as const

/** The address of a search, with those fields only that are filled in. */
function searchPath({ q, ...filters }: Asked): string {
  const set = Object.entries(filters).flatMap(([name, value]) => (value ? [[name, value]] : []))
  return `/search?${new URLSearchParams([['q', q], ...set] as string[][])}`
}

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
