import { type Route, route } from '../http/route'
import { postPageQuery, toPostList, toPostPage } from '../posts/post-page'
import { postPageAnswer, presentPostPage } from '../posts/present'
import { selectPosts } from '../posts/queries'

export const feedRoutes: Route[] = [
  route({
    method: 'get',
    path: '/feed',
    summary: 'Lists posts of all communities that are not muted',
    tag: 'feed',
    access: 'read',
    query: postPageQuery,
    answer: postPageAnswer,
    handle: async ({ query, read }) => {
      const list = toPostList(query, query.sort ?? 'hot')
      const { answers } = await read({ posts: selectPosts(list) })
      return presentPostPage(toPostPage(list, answers.posts))
    },
  }),
]
