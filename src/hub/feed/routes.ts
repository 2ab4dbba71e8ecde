import * as z from 'zod'
import { accountErrors } from '../accounts/errors'
import { accountAnswer, presentAccount } from '../accounts/present'
import { selectAccountByName } from '../accounts/queries'
import { communityErrors } from '../communities/errors'
import { communityAnswer, presentCommunity } from '../communities/present'
import { selectCommunity } from '../communities/queries'
import { countAnswer } from '../http/answers'
import { type Call, type Route, route } from '../http/route'
import { postPageQuery, toPostList, toPostPage } from '../posts/post-page'
import { postAnswer, postPageAnswer, presentPost, presentPostPage } from '../posts/present'
import { selectPosts } from '../posts/queries'
import { subscriptionErrors } from '../subscriptions/errors'
import { selectFollowers } from '../subscriptions/queries'
import { viewerValues } from '../viewers/queries'
import { homeRoute } from './home-route'

const profileAnswer = z.object({
  account: accountAnswer
    .extend({
      follower_count: countAnswer,
      following_count: countAnswer,
      is_following: z.boolean().describe('Whether you follow the account.'),
    })
    .meta({ id: 'Profile' }),
  recent_posts: z.array(postAnswer),
})

async function readProfile(call: Call<unknown, unknown>): Promise<z.input<typeof profileAnswer>> {
  const name = call.param('name')
  const { answers } = await call.read({
    account: selectAccountByName(name),
    followers: selectFollowers(call.credential, call.context.clock.now(), name),
    recent: selectPosts({
      reader: call.reader,
      sort: 'new',
      author: name,
      limit: 10,
      cursor: null,
    }),
  })
  const { account, followers } = answers
  if (!account || !followers) throw accountErrors.notFound('Check the name of the account.')
  return {
    account: {
      ...presentAccount(account),
      follower_count: followers.followerCount,
      following_count: followers.followingCount,
      is_following: followers.isFollowed,
    },
    recent_posts: answers.recent.map(presentPost),
  }
}

export const feedRoutes: Route[] = [
  homeRoute,
  route({
    method: 'get',
    path: '/feed',
    summary:
      'Lists posts of all communities that are not muted; with filter=following those of communities that you subscribe to and accounts that you follow',
    tag: 'read',
    access: 'read',
    rate: 'read',
    query: postPageQuery.extend({ filter: z.enum(['all', 'following']).default('all') }),
    answer: postPageAnswer,
    handle: async ({ context, credential, list: name, reader, query, read }) => {
      const isFollowing = query.filter === 'following'
      const list = toPostList({ list: name, query }, query.sort ?? 'hot', { reader, isFollowing })
      const of = viewerValues(credential, context.clock.now())
      const { answers, viewer } = await read({ posts: selectPosts(list, of) })
      if (isFollowing && !viewer) throw subscriptionErrors.noViewer()
      return presentPostPage(toPostPage(list, answers.posts, name))
    },
  }),
  route({
    method: 'get',
    path: '/communities/:name/feed',
    summary: 'Lists the posts of one community',
    tag: 'read',
    access: 'read',
    rate: 'read',
    query: postPageQuery,
    answer: postPageAnswer.extend({ community: communityAnswer }),
    handle: async ({ context, credential, list: name, reader, param, query, read }) => {
      const community = param('name')
      const list = toPostList({ list: name, query }, query.sort ?? 'hot', { reader, community })
      const { answers } = await read({
        community: selectCommunity(community, reader),
        posts: selectPosts(list, viewerValues(credential, context.clock.now())),
      })
      if (!answers.community) throw communityErrors.unknown()
      return {
        community: presentCommunity(answers.community),
        ...presentPostPage(toPostPage(list, answers.posts, name)),
      }
    },
  }),
  route({
    method: 'get',
    path: '/accounts/:name',
    summary: 'Returns an account and its latest posts',
    tag: 'read',
    access: 'read',
    rate: 'read',
    answer: profileAnswer,
    handle: readProfile,
  }),
]
