import * as z from 'zod'
import { countAnswer } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { setVote, type VoteResult, voteReads } from './actions'

const messages = {
  upvoted: 'Upvoted.',
  downvoted: 'Downvoted.',
  changed: 'Vote changed.',
  removed: 'Vote removed.',
} as const

const voteAnswer = z.object({
  message: z.enum(Object.values(messages)),
  action: z.enum(['upvoted', 'downvoted', 'changed', 'removed']),
  author: z.object({ name: z.string() }).describe('Author of the post or comment.'),
  value: z.union([z.literal(1), z.literal(0), z.literal(-1)]).describe('Your vote.'),
  upvotes: countAnswer,
  downvotes: countAnswer,
  score: z.int().describe('Upvotes minus downvotes.'),
})

const presentVote = ({
  action,
  author,
  value,
  upvotes,
  downvotes,
}: VoteResult): z.input<typeof voteAnswer> => ({
  message: messages[action],
  action,
  author: { name: author },
  value,
  upvotes,
  downvotes,
  score: upvotes - downvotes,
})

/** Declares a route that sets a vote by its path; a value of 0 in the body removes the vote. */
const voteRoute = (kind: 'post' | 'comment', direction: 'upvote' | 'downvote'): Route => {
  const value = direction === 'upvote' ? 1 : -1
  return route({
    method: 'post',
    path: `/${kind}s/:id/${direction}`,
    summary: `Sets your vote on a ${kind}; value 0 removes it, and repeating changes nothing`,
    tag: 'votes',
    access: 'write',
    rate: 'write',
    allowsMuted: true,
    body: z.object({ value: z.union([z.literal(value), z.literal(0)]).default(value) }),
    answer: voteAnswer,
    reads: ({ param, reader }) => voteReads({ kind, id: param('id') }, reader),
    handle: async (call, read) => {
      const vote = { on: { kind, id: call.param('id') }, value: call.body.value }
      const done = await setVote(call.context, call.actor(), vote, read)
      return presentIdempotent(call, done, presentVote)
    },
  })
}

export const voteRoutes: Route[] = [
  voteRoute('post', 'upvote'),
  voteRoute('post', 'downvote'),
  voteRoute('comment', 'upvote'),
  voteRoute('comment', 'downvote'),
]
