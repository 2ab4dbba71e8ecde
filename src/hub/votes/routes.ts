import * as z from 'zod'
import { knownFields } from '../../shared/known-fields'
import { countAnswer } from '../http/answers'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { setVote, type VoteResult, voteReads } from './actions'

const route = routesOf('write')

const voteValue = z.union([z.literal(1), z.literal(0), z.literal(-1)])

const voteAnswer = z.object({
  vote: z.object({
    value: voteValue.describe('Your vote.'),
    upvotes: countAnswer,
    downvotes: countAnswer,
    score: z.int().describe('Upvotes minus downvotes.'),
  }),
})

const presentVote = ({ value, upvotes, downvotes }: VoteResult): z.input<typeof voteAnswer> => ({
  vote: { value, upvotes, downvotes, score: upvotes - downvotes },
})

const voteRoute = (kind: 'post' | 'comment'): Route =>
  route({
    method: 'put',
    path: `/${kind}s/:id/vote`,
    summary: `Sets your vote on a ${kind}; 0 removes it, and repeating changes nothing`,
    access: 'write',
    allowsMuted: true,
    body: knownFields({ value: voteValue }),
    answer: voteAnswer,
    reads: ({ param, reader }) => voteReads({ kind, id: param('id') }, reader),
    handle: async (call, read) => {
      const vote = { on: { kind, id: call.param('id') }, value: call.body.value }
      const done = await setVote(call.context, call.actor(), vote, read)
      return presentIdempotent(call, done, presentVote)
    },
  })

export const voteRoutes: Route[] = [voteRoute('post'), voteRoute('comment')]
