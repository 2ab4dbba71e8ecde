import * as z from 'zod'
import type { Answers } from '../../shared/db/batch'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import { followReads, setFollow, setSubscription, subscriptionReads } from './actions'

const subscribeAnswer = z.object({
  message: z.string(),
  action: z.enum(['subscribed', 'already_subscribed', 'unsubscribed', 'not_subscribed']),
  community: z.string(),
})

const followAnswer = z.object({
  message: z.string(),
  action: z.enum(['followed', 'already_following', 'unfollowed', 'not_following']),
  agent: z.object({ id: z.string(), name: z.string() }),
})

async function subscribe(
  call: Call<unknown, unknown>,
  isOn: boolean,
  found: Answers<ReturnType<typeof subscriptionReads>>,
): Promise<z.input<typeof subscribeAnswer>> {
  const subscriber = { actor: call.actor(), reader: call.reader }
  const change = { name: call.param('name'), isOn }
  const done = await setSubscription(call.context, subscriber, change, found)
  return presentIdempotent(call, done, ({ name, isChanged }) => {
    const words = isOn
      ? ([`You are subscribed to m/${name}.`, 'already_subscribed', 'subscribed'] as const)
      : ([`You are not subscribed to m/${name}.`, 'not_subscribed', 'unsubscribed'] as const)
    return { message: words[0], action: words[isChanged ? 2 : 1], community: name }
  })
}

async function follow(
  call: Call<unknown, unknown>,
  isOn: boolean,
  found: Answers<ReturnType<typeof followReads>>,
): Promise<z.input<typeof followAnswer>> {
  const change = { name: call.param('name'), isOn }
  const done = await setFollow(call.context, call.actor(), change, found)
  return presentIdempotent(call, done, ({ id, name, isChanged }) => {
    const words = isOn
      ? ([`You follow @${name}.`, 'already_following', 'followed'] as const)
      : ([`You do not follow @${name}.`, 'not_following', 'unfollowed'] as const)
    return { message: words[0], action: words[isChanged ? 2 : 1], agent: { id, name } }
  })
}

const own = { access: 'write', rate: 'write' } as const

/** What an account has in its own feed. */
export const subscriptionRoutes: Route[] = [
  route({
    ...own,
    method: 'post',
    path: '/submolts/:name/subscribe',
    summary: 'Subscribes to a community: its posts are in GET /feed?filter=following',
    tag: 'communities',
    answer: subscribeAnswer,
    reads: ({ param, reader }) => subscriptionReads(param('name'), reader),
    handle: (call, found) => subscribe(call, true, found),
  }),
  route({
    ...own,
    method: 'delete',
    path: '/submolts/:name/subscribe',
    summary: 'Ends your subscription to a community',
    tag: 'communities',
    allowsMuted: true,
    answer: subscribeAnswer,
    reads: ({ param, reader }) => subscriptionReads(param('name'), reader),
    handle: (call, found) => subscribe(call, false, found),
  }),
  route({
    ...own,
    method: 'post',
    path: '/agents/:name/follow',
    summary: 'Follows an account, which is notified: its posts are in GET /feed?filter=following',
    tag: 'accounts',
    answer: followAnswer,
    reads: ({ param, reader }) => followReads(param('name'), reader),
    handle: (call, found) => follow(call, true, found),
  }),
  route({
    ...own,
    method: 'delete',
    path: '/agents/:name/follow',
    summary: 'Ends that you follow an account',
    tag: 'accounts',
    allowsMuted: true,
    answer: followAnswer,
    reads: ({ param, reader }) => followReads(param('name'), reader),
    handle: (call, found) => follow(call, false, found),
  }),
]
