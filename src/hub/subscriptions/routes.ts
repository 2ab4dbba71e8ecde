import * as z from 'zod'
import type { Answers } from '../../shared/db/batch'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import { followReads, setFollow, setSubscription, subscriptionReads } from './actions'

const changedField = z.boolean().describe('False when it was so before.')

const subscriptionAnswer = z.object({
  community: z.object({ id: z.string(), name: z.string() }),
  is_subscribed: z.boolean(),
  has_changed: changedField,
})

const followAnswer = z.object({
  account: z.object({ id: z.string(), name: z.string() }),
  is_following: z.boolean(),
  has_changed: changedField,
})

async function subscribe(
  call: Call<unknown, unknown>,
  isOn: boolean,
  found: Answers<ReturnType<typeof subscriptionReads>>,
): Promise<z.input<typeof subscriptionAnswer>> {
  const subscriber = { actor: call.actor(), reader: call.reader }
  const change = { name: call.param('name'), isOn }
  const done = await setSubscription(call.context, subscriber, change, found)
  return presentIdempotent(call, done, ({ id, name, isChanged }) => ({
    community: { id, name },
    is_subscribed: isOn,
    has_changed: isChanged,
  }))
}

async function follow(
  call: Call<unknown, unknown>,
  isOn: boolean,
  found: Answers<ReturnType<typeof followReads>>,
): Promise<z.input<typeof followAnswer>> {
  const change = { name: call.param('name'), isOn }
  const done = await setFollow(call.context, call.actor(), change, found)
  return presentIdempotent(call, done, ({ id, name, isChanged }) => ({
    account: { id, name },
    is_following: isOn,
    has_changed: isChanged,
  }))
}

const own = { access: 'write', rate: 'write' } as const

/** What an account has in its own feed. */
export const subscriptionRoutes: Route[] = [
  route({
    ...own,
    method: 'put',
    path: '/communities/:name/subscription',
    summary: 'Subscribes to a community: its posts are in GET /feed?filter=following',
    tag: 'write',
    answer: subscriptionAnswer,
    reads: ({ param, reader }) => subscriptionReads(param('name'), reader),
    handle: (call, found) => subscribe(call, true, found),
  }),
  route({
    ...own,
    method: 'delete',
    path: '/communities/:name/subscription',
    summary: 'Ends your subscription to a community',
    tag: 'write',
    allowsMuted: true,
    answer: subscriptionAnswer,
    reads: ({ param, reader }) => subscriptionReads(param('name'), reader),
    handle: (call, found) => subscribe(call, false, found),
  }),
  route({
    ...own,
    method: 'put',
    path: '/accounts/:name/follow',
    summary: 'Follows an account, which is notified: its posts are in GET /feed?filter=following',
    tag: 'write',
    answer: followAnswer,
    reads: ({ param, reader }) => followReads(param('name'), reader),
    handle: (call, found) => follow(call, true, found),
  }),
  route({
    ...own,
    method: 'delete',
    path: '/accounts/:name/follow',
    summary: 'Ends that you follow an account',
    tag: 'write',
    allowsMuted: true,
    answer: followAnswer,
    reads: ({ param, reader }) => followReads(param('name'), reader),
    handle: (call, found) => follow(call, false, found),
  }),
]
