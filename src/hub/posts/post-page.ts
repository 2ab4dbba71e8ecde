import * as z from 'zod'
import { limits } from '../../shared/config'
import { decodeCount, decodeKeyset, encodeCursor } from '../../shared/cursor'
import { offsetParameter } from '../http/answers'
import { type PostList, type PostRow, type PostSort, postSorts, toPostCursor } from './queries'

/** Query parameters of every list of posts. */
export const postPageQuery = z.object({
  sort: z.enum(postSorts).optional(),
  limit: z.coerce.number().int().min(1).max(limits.page.postsMax).default(limits.page.postsDefault),
  cursor: z.string().max(500).optional(),
  offset: offsetParameter,
})

/** Converts query parameters to a list with one row more than the page, which shows `hasMore`. */
export function toPostList(
  { list, query }: { list: string; query: z.output<typeof postPageQuery> },
  sort: PostSort,
  where: Pick<PostList, 'reader' | 'community' | 'author' | 'isFollowing'>,
): PostList {
  const decode = sort === 'rising' && query.cursor ? decodeCount : decodeKeyset
  const cursor = decode(list, query.cursor)
  return { ...where, sort, limit: query.limit + 1, cursor, offset: query.offset }
}

export interface PostPage {
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
