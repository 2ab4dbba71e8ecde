import * as z from 'zod'
import { limits } from '../../shared/config'
import { decodeCount, encodeCursor, toPageFields } from '../../shared/cursor'
import type { SearchHit } from '../contract/hub'
import {
  offsetParameter,
  pageFields,
  pageParameters,
  presentTime,
  timeAnswer,
} from '../http/answers'
import { type Route, routesOf } from '../http/route'
import { asOfField, assertPast, atParameter, presentAsOf } from '../rules/as-it-was'
import { personAnswer, presentPerson } from '../rules/people'
import { communityName, placeAnswer } from '../rules/places'
import {
  countHits,
  type HitCounts,
  type HitRow,
  hitTypes,
  selectHits,
  toSearchHit,
} from './queries'
import { findSuggestion } from './suggest'
import { readSearchTerms, searchSpans, toSince } from './terms'

const route = routesOf('read')

/** Kinds of hits by the names that clients use for them. */
const typeNames: Record<string, SearchHit['type'][]> = {
  all: [...hitTypes],
  post: ['post'],
  posts: ['post'],
  comment: ['comment'],
  comments: ['comment'],
  account: ['account'],
  accounts: ['account'],
  community: ['community'],
  communities: ['community'],
}

const searchQuery = z.object({
  q: z.string().trim().min(1).max(limits.search.queryCharsMax),
  type: z.enum(Object.keys(typeNames)).default('all'),
  community: communityName.optional(),
  author: z.string().max(100).optional(),
  within: z
    .enum(searchSpans)
    .optional()
    .describe('Only posts and comments of the last day, week, month or year.'),
  counts: z
    .stringbool()
    .default(false)
    .describe(`True also counts the hits of each kind, up to ${limits.search.countedMax} in all.`),
  ...pageParameters(limits.search.resultsMax, limits.search.resultsDefault),
  offset: offsetParameter,
  at: atParameter.describe(
    'Finds posts and comments as of this time, by their words of today, and shows what they said; without what you may not read today. Not in the future. See `as_of`.',
  ),
})

const hitAnswer = z
  .object({
    id: z.string(),
    type: z.enum(hitTypes),
    title: z.string(),
    content: z.string(),
    snippet: z.string().describe('Plain text; matches are between U+2068 and U+2069.'),
    author: personAnswer.nullable(),
    community: placeAnswer.nullable(),
    post_id: z.string().nullable(),
    score: z
      .number()
      .describe(
        'Relevance (BM25, more for a decision and less for a question), higher is better; if sorted by newest 1 for a match in the title.',
      ),
    created_at: timeAnswer,
  })
  .meta({ id: 'SearchHit' })

const searchAnswer = z.object({
  results: z.array(hitAnswer),
  sorted_by: z
    .enum(['relevance', 'newest'])
    .describe('`newest` if all words are common: matches in the title, then others, newest first.'),
  counts: z
    .object({
      post: z.number(),
      comment: z.number(),
      account: z.number(),
      community: z.number(),
      is_partial: z.boolean().describe('Whether there are more than these.'),
    })
    .optional(),
  did_you_mean: z
    .string()
    .nullable()
    .describe(
      'If nothing was found: the same words with one spelt otherwise, which finds something.',
    ),
  ...pageFields,
  ...asOfField,
})

const toOrder = (rows: HitRow[]) =>
  rows.some((row) => row.isNewest) ? ('newest' as const) : ('relevance' as const)

const presentPlace = ({ communityId: id, community: name, communityDisplayName }: HitRow) =>
  id === null || name === null ? null : { id, name, display_name: communityDisplayName ?? name }

function presentHit(row: HitRow): z.input<typeof hitAnswer> {
  const hit = toSearchHit(row)
  return {
    id: hit.id,
    type: hit.type,
    title: hit.title,
    content: row.content,
    snippet: hit.snippet,
    author: hit.author && presentPerson({ ...hit.author, displayName: row.authorDisplayName }),
    community: presentPlace(row),
    post_id: hit.postId,
    score: hit.score,
    created_at: presentTime(hit.createdAt),
  }
}

const presentCounts = ({ isPartial, ...counts }: HitCounts) => ({
  ...counts,
  is_partial: isPartial,
})

export const searchRoutes: Route[] = [
  route({
    method: 'get',
    path: '/search',
    summary: 'Searches the full text; in snippets, matches are between U+2068 and U+2069',
    access: 'read',
    rate: 'search',
    query: searchQuery,
    answer: searchAnswer,
    handle: async ({ c, list, reader, query, read }) => {
      const { db, clock } = c.var.context
      const { at } = query
      const now = clock.now()
      if (at !== undefined) assertPast(at, now)
      const terms = readSearchTerms(query.q, 'all')
      const offset = decodeCount(list, query.cursor) + (query.offset ?? 0)
      const scope = {
        reader,
        community: query.community ?? null,
        author: query.author ?? null,
        since: toSince(query.within ?? null, at ?? now),
        at,
      }
      const filter = {
        ...scope,
        types: typeNames[query.type] ?? hitTypes,
        exceptPostId: null,
        demoteQuestionsFor: null,
        limit: query.limit + 1,
        offset,
      }
      const { answers } = await read({
        hits: terms ? selectHits({ ...filter, terms }) : null,
        counts: terms && query.counts ? countHits({ ...scope, terms }) : null,
      })
      const rows = answers.hits ?? []
      const isMissed = terms !== null && rows.length === 0 && offset === 0
      const hits = rows.slice(0, query.limit).map(presentHit)
      const hasMore = rows.length > query.limit
      return {
        results: hits,
        sorted_by: toOrder(rows),
        ...(answers.counts && { counts: presentCounts(answers.counts) }),
        // The words of the index are those of today.
        did_you_mean:
          isMissed && at === undefined ? await findSuggestion(db, query.q, scope) : null,
        ...toPageFields(hasMore ? encodeCursor(list, offset + query.limit) : null),
        ...presentAsOf(at),
      }
    },
  }),
]
