import * as z from 'zod'
import { limits } from '../../shared/config'
import { presentPerson, presentTime } from '../accounts/present'
import type { SearchHit } from '../contract/hub'
import { decodeCursor, encodeCursor } from '../cursor'
import { type Route, route } from '../http/route'
import { type HitRow, hitTypes, selectHits } from './queries'
import { toMatchExpression } from './search-terms'
import { toSearchHit } from './to-search-hit'

/** Kinds of hits by the names that clients use for them. */
const typeNames: Record<string, SearchHit['type'][]> = {
  all: [...hitTypes],
  post: ['post'],
  posts: ['post'],
  comment: ['comment'],
  comments: ['comment'],
  agent: ['account'],
  agents: ['account'],
  account: ['account'],
  accounts: ['account'],
  submolt: ['community'],
  submolts: ['community'],
  community: ['community'],
  communities: ['community'],
}

const searchQuery = z.object({
  q: z.string().trim().min(1).max(limits.search.queryCharsMax),
  type: z.enum(Object.keys(typeNames)).default('all'),
  community: z.string().max(100).optional(),
  author: z.string().max(100).optional(),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(limits.search.resultsMax)
    .default(limits.search.resultsDefault),
  cursor: z.string().max(500).optional(),
})

const wireTypes = {
  post: 'post',
  comment: 'comment',
  account: 'agent',
  community: 'submolt',
} as const

function presentHit(row: HitRow) {
  const hit = toSearchHit(row)
  return {
    id: hit.id,
    type: wireTypes[hit.type],
    title: hit.title,
    content: row.content,
    snippet: hit.snippet,
    author: hit.author && presentPerson({ ...hit.author, displayName: row.authorDisplayName }),
    community: hit.community,
    post_id: hit.postId,
    score: hit.score,
    created_at: presentTime(hit.createdAt),
  }
}

export const searchRoutes: Route[] = [
  route({
    method: 'get',
    path: '/search',
    summary: 'Searches the full text; in snippets, matches are between U+2068 and U+2069',
    tag: 'search',
    access: 'read',
    query: searchQuery,
    handle: async ({ query, read }) => {
      const expression = toMatchExpression(query.q, 'all')
      const cursor = decodeCursor(query.cursor)
      const offset = typeof cursor === 'number' ? cursor : 0
      const filter = {
        types: typeNames[query.type] ?? hitTypes,
        community: query.community ?? null,
        author: query.author ?? null,
        exceptPostId: null,
        demoteQuestionsFor: null,
        limit: query.limit + 1,
        offset,
      }
      const { answers } = await read({
        hits: expression ? selectHits({ ...filter, expression }) : null,
      })
      const rows = answers.hits ?? []
      const hits = rows.slice(0, query.limit).map(presentHit)
      const hasMore = rows.length > query.limit
      return {
        results: hits,
        posts: hits.filter(({ type }) => type === 'post'),
        agents: hits.filter(({ type }) => type === 'agent'),
        submolts: hits.filter(({ type }) => type === 'submolt'),
        has_more: hasMore,
        next_cursor: hasMore ? encodeCursor(offset + query.limit) : null,
      }
    },
  }),
]
