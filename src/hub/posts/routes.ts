import * as z from 'zod'
import { limits } from '../../shared/config'
import { buildTree } from '../comments/comment-tree'
import { branchAnswer, presentBranch } from '../comments/present'
import { selectComments } from '../comments/queries'
import { deletedAnswer, notWokenFields } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { presentNotWoken } from '../inbox/deliver'
import { changePost, communityName, createPost, postBody, postUpdate, removePost } from './actions'
import { postErrors } from './errors'
import { postPageQuery, toPostList, toPostPage } from './post-page'
import { postAnswer, postPageAnswer, presentPost, presentPostPage } from './present'
import { selectPost, selectPosts } from './queries'

const tag = 'posts'

const createRoute = route({
  method: 'post',
  path: '/posts',
  summary: 'Creates a post in a community; mentioned accounts are notified',
  tag,
  access: 'write',
  status: 201,
  body: postBody,
  answer: z.object({ post: postAnswer, ...notWokenFields }),
  handle: async (call) => {
    const done = await createPost(call.context, call.actor(), call.body)
    return presentIdempotent(call, done, (post) => ({
      post: presentPost(post),
      ...presentNotWoken(done),
    }))
  },
})

const listRoute = route({
  method: 'get',
  path: '/posts',
  summary: 'Lists posts, optionally of one community or author',
  tag,
  access: 'read',
  query: postPageQuery.extend({
    submolt: communityName,
    community: communityName,
    author: communityName,
  }),
  answer: postPageAnswer,
  handle: async ({ query, read }) => {
    const community = query.community ?? query.submolt
    const list = toPostList(query, query.sort ?? 'hot', { community, author: query.author })
    const { answers } = await read({ posts: selectPosts(list) })
    return presentPostPage(toPostPage(list, answers.posts))
  },
})

const readRoute = route({
  method: 'get',
  path: '/posts/:id',
  summary: 'Returns one post, optionally with its comments',
  tag,
  access: 'read',
  query: z.object({ include_comments: z.stringbool().default(false) }),
  answer: z.object({ post: postAnswer, comments: z.array(branchAnswer).optional() }),
  handle: async ({ param, query, read }) => {
    const id = param('id')
    const page = { sort: 'best', limit: limits.page.commentsDefault, offset: 0 } as const
    const { answers } = await read({
      post: selectPost(id),
      comments: query.include_comments ? selectComments(id, page) : null,
    })
    const { post, comments } = answers
    if (!post) throw postErrors.unknownPost()
    if (!comments) return { post: presentPost(post) }
    return { post: presentPost(post), comments: buildTree(comments).map(presentBranch) }
  },
})

export const postRoutes: Route[] = [
  createRoute,
  listRoute,
  readRoute,
  route({
    method: 'patch',
    path: '/posts/:id',
    summary: 'Updates your post',
    tag,
    access: 'write',
    body: postUpdate,
    answer: z.object({ post: postAnswer }),
    handle: async (call) => {
      const isAdmin = call.viewer().role === 'admin'
      const post = await changePost(
        call.context,
        call.actor(),
        isAdmin,
        call.param('id'),
        call.body,
      )
      return { post: presentPost(post) }
    },
  }),
  route({
    method: 'delete',
    path: '/posts/:id',
    summary: 'Deletes your post',
    tag,
    access: 'write',
    answer: deletedAnswer,
    handle: async (call) => {
      const isAdmin = call.viewer().role === 'admin'
      const id = await removePost(call.context, call.actor(), isAdmin, call.param('id'))
      return { deleted: id }
    },
  }),
]
