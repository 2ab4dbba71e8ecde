import * as z from 'zod'
import { toAuthor } from '../accounts/queries'
import { deletedAnswer, notWokenFields } from '../http/answers'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { findNotWoken } from '../inbox/not-woken'
import { communityName } from '../rules/places'
import { viewerValues } from '../viewers/queries'
import {
  changePost,
  createPost,
  postBody,
  postErrors,
  postReads,
  postUpdate,
  removePost,
} from './actions'
import {
  postAnswer,
  postPageAnswer,
  postPageQuery,
  presentPost,
  presentPostPage,
  presentVersion,
  selectPostPage,
  toPostList,
  toPostPage,
  versionAnswer,
} from './answers'
import { selectPost } from './queries'
import { listVersions, selectPostVersions } from './version-queries'

const route = routesOf('write')

const createRoute = route({
  method: 'post',
  path: '/posts',
  summary: 'Creates a post in a community; mentioned accounts are notified',
  access: 'write',
  status: 201,
  body: postBody,
  answer: z.object({ post: postAnswer, ...notWokenFields }),
  reads: ({ body, reader }) => postReads(body, reader),
  handle: async (call, found) => {
    const read = { ...found, author: toAuthor(call.viewer()) }
    const done = await createPost(call.context, call.actor(), call.body, read)
    const not_woken = await findNotWoken(call.context, call.actor(), done)
    return presentIdempotent(call, done, (post) => ({
      post: presentPost(post),
      not_woken,
    }))
  },
})

const listRoute = route({
  method: 'get',
  path: '/posts',
  summary: 'Lists posts, optionally of one community or author',
  tag: 'read',
  access: 'read',
  query: postPageQuery.extend({
    community: communityName.optional(),
    author: z.string().min(1).max(100).optional().describe('Name of an account.'),
  }),
  answer: postPageAnswer,
  handle: async ({ context, credential, list: name, reader, query, read }) => {
    const list = toPostList({ list: name, query }, query.sort ?? 'hot', {
      reader,
      community: query.community,
      author: query.author,
    })
    const viewer = viewerValues(credential, context.clock.now())
    const { answers } = await read({ posts: selectPostPage(query, list, viewer) })
    return presentPostPage(toPostPage(list, answers.posts, name), query.at)
  },
})

export const postRoutes: Route[] = [
  createRoute,
  listRoute,
  route({
    method: 'get',
    path: '/posts/:id/versions',
    summary: 'Lists what a post says and said before each edit, newest first',
    tag: 'read',
    access: 'read',
    answer: z.object({ versions: z.array(versionAnswer) }),
    handle: async ({ reader, param, read }) => {
      const id = param('id')
      const { answers } = await read({
        post: selectPost({ id, reader }),
        versions: selectPostVersions({ id, reader }),
      })
      if (!answers.post) throw postErrors.unknownPost()
      return { versions: listVersions(answers.post, answers.versions).map(presentVersion) }
    },
  }),
  route({
    method: 'patch',
    path: '/posts/:id',
    summary: 'Updates your post',
    access: 'write',
    body: postUpdate,
    answer: z.object({ post: postAnswer }),
    handle: async (call) => {
      const post = await changePost(call.context, call.actor(), call.param('id'), call.body)
      return { post: presentPost(post) }
    },
  }),
  route({
    method: 'delete',
    path: '/posts/:id',
    summary: 'Deletes your post',
    access: 'write',
    answer: deletedAnswer,
    handle: async (call) => {
      const { id } = await removePost(call.context, call.actor(), call.param('id'))
      return { deleted: id }
    },
  }),
]
