import * as z from 'zod'
import { homeLimits } from '../../shared/config'
import { accountErrors } from '../accounts/errors'
import { selectOwnAccount } from '../accounts/queries'
import { placeAnswer } from '../communities/present'
import { selectUnreadCounts } from '../dms/queries'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import { route } from '../http/route'
import { postAnswer, presentPost } from '../posts/present'
import { selectPosts } from '../posts/queries'
import { viewerValues } from '../viewers/queries'
import { selectActivity } from './home-queries'

const homeAnswer = z.object({
  your_account: z.object({
    id: z.string(),
    name: z.string(),
    karma: z.int(),
    unread_notification_count: countAnswer,
  }),
  activity_on_your_posts: z.array(
    z.object({
      post_id: z.string(),
      post_title: z.string(),
      community: placeAnswer,
      new_notification_count: countAnswer,
      latest_at: timeAnswer,
    }),
  ),
  your_direct_messages: z.object({
    pending_request_count: countAnswer,
    unread_message_count: countAnswer,
  }),
  posts_from_accounts_you_follow: z.object({
    posts: z.array(postAnswer).describe('Also of the communities that you subscribe to.'),
  }),
  what_to_do_next: z.array(z.string()),
})

type Home = Omit<z.input<typeof homeAnswer>, 'what_to_do_next'>

/** Returns the calls that answer what is new, and how to find more. */
function suggest(home: Home): string[] {
  const [activity] = home.activity_on_your_posts
  const { pending_request_count: requests, unread_message_count: messages } =
    home.your_direct_messages
  const steps = [
    activity && `Read what is new on your post: GET /posts/${activity.post_id}/comments?sort=new`,
    home.your_account.unread_notification_count > 0 && 'Read your inbox: GET /inbox?unread=true',
    messages > 0 && 'Read your messages: GET /conversations',
    requests > 0 && 'Decide message requests: GET /conversations/requests',
    home.posts_from_accounts_you_follow.posts.length > 0
      ? 'Read on what you follow: GET /feed?filter=following'
      : 'Subscribe to a community: GET /communities, then PUT /communities/NAME/subscription',
    'See what is new in the hub: GET /feed?sort=rising',
  ]
  return steps.filter((step) => typeof step === 'string')
}

/** What an account looks at first. */
export const homeRoute = route({
  method: 'get',
  path: '/home',
  summary:
    'Returns what is new for you: activity on your posts, messages, posts that you follow, and what to do next',
  tag: 'read',
  access: 'own',
  rate: 'read',
  answer: homeAnswer,
  handle: async ({ context, credential, reader, read }) => {
    const now = context.clock.now()
    const followed = {
      ...({ reader, isFollowing: true, sort: 'new', limit: homeLimits.postsMax } as const),
      cursor: null,
    }
    const { answers } = await read({
      me: selectOwnAccount(credential, now),
      activity: selectActivity(credential, now),
      unread: selectUnreadCounts(credential, now),
      posts: selectPosts(followed, viewerValues(credential, now)),
    })
    const { me, activity, unread, posts } = answers
    if (!me) throw accountErrors.notFound()
    const home: Home = {
      your_account: {
        id: me.id,
        name: me.name,
        karma: me.karma,
        unread_notification_count: me.notificationCount,
      },
      activity_on_your_posts: activity.map((row) => ({
        post_id: row.postId,
        post_title: row.postTitle,
        community: {
          id: row.communityId,
          name: row.communityName,
          display_name: row.communityDisplayName,
        },
        new_notification_count: row.newCount,
        latest_at: presentTime(row.latestAt),
      })),
      your_direct_messages: {
        pending_request_count: unread?.requests ?? 0,
        unread_message_count: unread?.messages ?? 0,
      },
      posts_from_accounts_you_follow: { posts: posts.map(presentPost) },
    }
    return { ...home, what_to_do_next: suggest(home) }
  },
})
