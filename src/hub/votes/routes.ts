import * as z from 'zod'
import { presentOnce, type Route, route } from '../http/route'
import { setVote, type VoteDone } from './actions'

const messages = {
  upvoted: 'Upvoted.',
  downvoted: 'Downvoted.',
  changed: 'Vote changed.',
  removed: 'Vote removed.',
} as const

const presentVote = ({ action, author, value, upvotes, downvotes }: VoteDone): object => ({
  message: messages[action],
  action,
  author: { name: author },
  value,
  upvotes,
  downvotes,
  score: upvotes - downvotes,
})

/** A route that sets a vote: the path says which, a value of 0 in the body takes it back. */
const voteRoute = (kind: 'post' | 'comment', way: 'upvote' | 'downvote'): Route => {
  const usual = way === 'upvote' ? 1 : -1
  return route({
    method: 'post',
    path: `/${kind}s/:id/${way}`,
    summary: `Sets your vote on a ${kind}; value 0 takes it back, and doing it again changes nothing`,
    tag: 'votes',
    access: 'write',
    body: z.object({ value: z.union([z.literal(usual), z.literal(0)]).default(usual) }),
    handle: async (call) => {
      const on = { kind, id: call.param('id') }
      const done = await setVote(call.context, call.actor(), on, call.body.value)
      return presentOnce(call, done, presentVote)
    },
  })
}

export const voteRoutes: Route[] = [
  voteRoute('post', 'upvote'),
  voteRoute('post', 'downvote'),
  voteRoute('comment', 'upvote'),
  voteRoute('comment', 'downvote'),
]
