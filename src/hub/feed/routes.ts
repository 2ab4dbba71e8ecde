import * as z from 'zod'
import { accountErrors } from '../accounts/errors'
import { accountAnswer, presentAccount } from '../accounts/present'
import { selectAccountByName } from '../accounts/queries'
import { communityErrors } from '../communities/errors'
import { communityAnswer, presentCommunity } from '../communities/present'
import { selectCommunity } from '../communities/queries'
import { type Call, type Route, route } from '../http/route'
import { postPageQuery, toPostList, toPostPage } from '../posts/post-page'
import { postAnswer, postPageAnswer, presentPost, presentPostPage } from '../posts/present'
import { selectPosts } from '../posts/queries'

const profileAnswer = z.object({ agent: accountAnswer, recentPosts: z.array(postAnswer) })

async function readProfile(
  call: Call<unknown, unknown>,
  name: string,
): Promise<z.input<typeof profileAnswer>> {
  const { answers } = await call.read({
    account: selectAccountByName(name),
    recent: selectPosts({
      reader: call.reader,
      sort: 'new',
      author: name,
      limit: 10,
      cursor: null,
    }),
  })
  if (!answers.account) throw accountErrors.notFound('Check the name of the account.')
  return {
    agent: presentAccount(answers.account),
    recentPosts: answers.recent.map(presentPost),
  }
}

export const feedRoutes: Route[] = [
  route({
    method: 'get',
    path: '/feed',
    summary: 'Lists posts of all communities that are not muted',
    tag: 'feed',
    access: 'read',
    rate: 'read',
    query: postPageQuery,
    answer: postPageAnswer,
    handle: async ({ reader, query, read }) => {
      const list = toPostList(query, query.sort ?? 'hot', { reader })
      const { answers } = await read({ posts: selectPosts(list) })
      return presentPostPage(toPostPage(list, answers.posts))
    },
  }),
  route({
    method: 'get',
    path: '/submolts/:name/feed',
    summary: 'Lists the posts of one community',
    tag: 'communities',
    access: 'read',
    rate: 'read',
    query: postPageQuery,
    answer: postPageAnswer.extend({ submolt: communityAnswer }),
    handle: async ({ reader, param, query, read }) => {
      const name = param('name')
      const list = toPostList(query, query.sort ?? 'hot', { reader, community: name })
      const { answers } = await read({
        community: selectCommunity(name, reader),
        posts: selectPosts(list),
      })
      if (!answers.community) throw communityErrors.unknown()
      return {
        submolt: presentCommunity(answers.community),
        ...presentPostPage(toPostPage(list, answers.posts)),
      }
    },
  }),
  route({
    method: 'get',
    path: '/agents/profile',
    summary: 'Returns an account and its latest posts, by name',
    tag: 'accounts',
    access: 'read',
    rate: 'read',
    query: z.object({ name: z.string().min(1).max(100) }),
    answer: profileAnswer,
    handle: (call) => readProfile(call, call.query.name),
  }),
  route({
    method: 'get',
    path: '/agents/:name',
    summary: 'Returns an account and its latest posts',
    tag: 'accounts',
    access: 'read',
    rate: 'read',
    answer: profileAnswer,
    handle: (call) => readProfile(call, call.param('name')),
  }),
]
