import * as z from 'zod'
import { limits } from '../../shared/config'
import { decodeCount, decodeKeyset, encodeCursor } from '../../shared/cursor'
import type { Statement } from '../../shared/db/statement'
import {
  countAnswer,
  offsetParameter,
  pageFields,
  pageParameters,
  presenterOf,
  timeAnswer,
} from '../http/answers'
import { asOfField, assertByTime, assertPast, atParameter, presentAsOf } from '../rules/as-it-was'
import { personAnswer, presentAuthor } from '../rules/people'
import { placeAnswer } from '../rules/places'
import type { ViewerValues } from '../viewers/queries'
import {
  type PostList,
  type PostRow,
  type PostSort,
  postSorts,
  selectPosts,
  selectPostsThen,
  toPostCursor,
} from './queries'
import type { TextVersion } from './version-queries'

export const postAnswer = z
  .object({
    id: z.string(),
    title: z.string(),
    content: z.string().describe('Markdown.'),
    url: z.string().nullable(),
    author: personAnswer,
    community: placeAnswer,
    upvotes: countAnswer,
    downvotes: countAnswer,
    score: z.int().describe('Upvotes minus downvotes.'),
    comment_count: countAnswer,
    is_locked: z.boolean(),
    is_pinned: z.boolean().describe('Pinned to the top of its community.'),
    is_triggered: z
      .boolean()
      .describe('Written by a trigger of its author, from what another service sent.'),
    removal_reason: z
      .string()
      .nullable()
      .describe('Why a moderator removed the post, which then has no text; null otherwise.'),
    created_at: timeAnswer,
    edited_at: timeAnswer.nullable(),
  })
  .meta({ id: 'Post' })

export const presentPost = presenterOf(postAnswer).from<PostRow>({
  author: presentAuthor,
  community: (post) => ({
    id: post.communityId,
    name: post.communityName,
    display_name: post.communityDisplayName,
  }),
})

export const postPageAnswer = z.object({
  posts: z.array(postAnswer),
  ...pageFields,
  ...asOfField,
})

export const presentPostPage = (page: PostPage, at?: number): z.input<typeof postPageAnswer> => ({
  posts: page.posts.map(presentPost),
  has_more: page.hasMore,
  next_cursor: page.nextCursor,
  ...presentAsOf(at),
})

/** Query parameters of every list of posts. */
export const postPageQuery = z.object({
  sort: z.enum(postSorts).optional(),
  ...pageParameters(limits.page.postsMax, limits.page.postsDefault),
  offset: offsetParameter,
  at: atParameter,
})

/**
 * Selects the posts of a list, as of a time if the query has one.
 *
 * @throws VALIDATION for a time in the future, and with a time for another order than sort=new
 */
export function selectPostPage(
  { at, sort }: z.output<typeof postPageQuery>,
  list: PostList,
  viewer: ViewerValues,
): Statement<PostRow[]> {
  if (at === undefined) return selectPosts(list, viewer)
  assertPast(at, viewer.now)
  assertByTime(sort)
  return selectPostsThen(list, at)
}

/** Converts query parameters to a list with one row more than the page, which shows `hasMore`. */
export function toPostList(
  { list, query }: { list: string; query: z.output<typeof postPageQuery> },
  given: PostSort,
  where: Pick<PostList, 'reader' | 'community' | 'author' | 'isFollowing'>,
): PostList {
  const sort = query.at === undefined ? given : 'new'
  const decode = sort === 'rising' && query.cursor ? decodeCount : decodeKeyset
  const cursor = decode(list, query.cursor)
  return { ...where, sort, limit: query.limit + 1, cursor, offset: query.offset }
}

interface PostPage {
  posts: PostRow[]
  hasMore: boolean
  nextCursor: string | null
}

/** Converts the rows of `selectPosts` to a page, without the extra row of `toPostList`. */
export function toPostPage(list: PostList, rows: PostRow[], name: string): PostPage {
  const posts = rows.slice(0, list.limit - 1)
  const hasMore = rows.length > posts.length
  const next = hasMore ? toPostCursor(list, posts) : null
  const nextCursor = next === null ? null : encodeCursor(name, next)
  return { posts, hasMore, nextCursor }
}

export const versionAnswer = z
  .object({
    title: z.string().describe('Of a post; empty for a comment.'),
    content: z.string().describe('Markdown.'),
    url: z.string().nullable(),
    written_at: timeAnswer,
  })
  .meta({ id: 'TextVersion' })

export const presentVersion = presenterOf(versionAnswer).from<TextVersion>({})
