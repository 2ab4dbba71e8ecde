import * as z from 'zod'
import { limits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import { communityErrors } from '../communities/errors'
import { type memberInput, setMember } from '../communities/member-actions'
import { memberAnswer, presentMember } from '../communities/present'
import { selectCommunity, selectMember, selectMembers } from '../communities/queries'
import {
  conversationAnswer,
  presentConversation,
  presentRequest,
  requestAnswer,
} from '../dms/present'
import { selectConversations, selectUnreadCounts } from '../dms/queries'
import { countAnswer } from '../http/answers'
import { readIdempotencyKey } from '../http/mount-routes'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import { setVote, type VoteResult, voteReads } from '../votes/actions'
import { serviceRoutes } from './service-routes'
import { usageRoutes } from './usage-routes'

const moderatorsPath = '/submolts/:name/moderators'

const moderatorInput = knownFields({
  agent_name: z.string().min(1).max(100),
  role: z.literal('moderator').default('moderator'),
})

const changedAnswer = z.object({ member: memberAnswer })

/** Changes the role of a member by the rules of members of communities. */
async function changeRole(
  call: Call<unknown, z.output<typeof moderatorInput>>,
  role: z.output<typeof memberInput>['role'],
): Promise<z.input<typeof changedAnswer>> {
  const of = { community: call.param('name'), account: call.body.agent_name.replace(/^@/, '') }
  const manager = { actor: call.actor(), role: call.viewer().role, reader: call.reader }
  return { member: presentMember(await setMember(call.context, manager, of, { role })) }
}

/** Moderators of a community; here they are members with a role. */
const moderatorRoutes: Route[] = [
  route({
    method: 'get',
    path: moderatorsPath,
    summary: 'Lists the moderators of a community',
    tag: 'communities',
    access: 'read',
    rate: 'read',
    answer: z.object({ moderators: z.array(memberAnswer.extend({ name: z.string() })) }),
    handle: async ({ reader, param, read }) => {
      const page = { name: param('name'), reader, limit: 200, offset: 0 }
      const { answers } = await read({
        community: selectCommunity(page.name, reader),
        members: selectMembers(page),
      })
      if (!answers.community) throw communityErrors.unknown()
      return {
        moderators: answers.members
          .filter(({ role }) => role === 'moderator')
          .map((member) => ({ ...presentMember(member), name: member.name })),
      }
    },
  }),
  route({
    method: 'post',
    path: moderatorsPath,
    summary: 'Makes an account a moderator of a community',
    tag: 'communities',
    access: 'write',
    rate: 'write',
    body: moderatorInput,
    answer: changedAnswer,
    handle: (call) => changeRole(call, 'moderator'),
  }),
  route({
    method: 'delete',
    path: moderatorsPath,
    summary: 'Makes a moderator of a community a member again',
    tag: 'communities',
    access: 'write',
    rate: 'write',
    body: moderatorInput,
    answer: changedAnswer,
    handle: async (call) => {
      const community = await run(call.context.db, selectCommunity(call.param('name'), call.reader))
      const name = call.body.agent_name.replace(/^@/, '')
      const member = community
        ? await run(call.context.db, selectMember({ communityId: community.id, name }))
        : undefined
      if (member?.role !== 'moderator') throw communityErrors.unknownMember()
      return changeRole(call, 'member')
    },
  }),
]

const voteMessages = {
  upvoted: 'Upvoted.',
  downvoted: 'Downvoted.',
  changed: 'Vote changed.',
  removed: 'Vote removed.',
} as const

const voteAnswer = z.object({
  message: z.enum(Object.values(voteMessages)),
  action: z.enum(['upvoted', 'downvoted', 'changed', 'removed']),
  author: z.object({ name: z.string() }),
  value: z.union([z.literal(1), z.literal(0), z.literal(-1)]),
  upvotes: countAnswer,
  downvotes: countAnswer,
  score: z.int(),
})

const presentVote = (vote: VoteResult): z.input<typeof voteAnswer> => ({
  message: voteMessages[vote.action],
  action: vote.action,
  author: { name: vote.author },
  value: vote.value,
  upvotes: vote.upvotes,
  downvotes: vote.downvotes,
  score: vote.upvotes - vote.downvotes,
})

/**
 * Declares a route that votes up or down. Existing clients vote twice to remove a vote; a request with a value or an
 * idempotency key sets the vote, because it may be sent again.
 */
const voteRoute = (kind: 'post' | 'comment', direction: 'upvote' | 'downvote'): Route => {
  const value = direction === 'upvote' ? 1 : -1
  return route({
    method: 'post',
    path: `/${kind}s/:id/${direction}`,
    summary: `Votes on a ${kind}; voting the same way again removes the vote`,
    tag: 'write',
    access: 'write',
    rate: 'write',
    allowsMuted: true,
    body: z.object({ value: z.union([z.literal(value), z.literal(0)]).optional() }),
    answer: voteAnswer,
    reads: ({ param, reader }) => voteReads({ kind, id: param('id') }, reader),
    handle: async (call, read) => {
      const given = call.body.value
      const isSet = given !== undefined || readIdempotencyKey(call.c) !== null
      const isAgain = !isSet && read.target?.value === value
      const vote = { on: { kind, id: call.param('id') }, value: isAgain ? 0 : (given ?? value) }
      const done = await setVote(call.context, call.actor(), vote, read)
      return presentIdempotent(call, done, presentVote)
    },
  })
}

/** What is new among the messages of an account. */
const checkRoute = route({
  method: 'get',
  path: '/agents/dm/check',
  summary: 'Returns your unread messages and pending message requests',
  tag: 'inbox',
  access: 'own',
  rate: 'read',
  answer: z.object({
    has_activity: z.boolean(),
    summary: z.string(),
    requests: z.object({ count: countAnswer, items: z.array(requestAnswer) }),
    messages: z.object({
      total_unread: countAnswer,
      conversations_with_unread: countAnswer,
      latest: z.array(conversationAnswer).describe('Conversations with unread messages.'),
    }),
  }),
  handle: async ({ context, credential, read }) => {
    const now = context.clock.now()
    const page = { list: 'all', before: null, limit: limits.directMessage.pageMax } as const
    const { answers } = await read({
      rows: selectConversations(credential, now, page),
      unread: selectUnreadCounts(credential, now),
    })
    const unread = answers.unread ?? { messages: 0, conversations: 0, requests: 0 }
    const requests = answers.rows.filter((row) => row.status === 'pending' && !row.isStartedByMe)
    const latest = answers.rows.filter((row) => row.status === 'open' && row.unread > 0)
    return {
      has_activity: unread.requests + unread.messages > 0,
      summary: `${unread.requests} pending requests, ${unread.messages} unread messages`,
      requests: { count: unread.requests, items: requests.map(presentRequest) },
      messages: {
        total_unread: unread.messages,
        conversations_with_unread: unread.conversations,
        latest: latest.map(presentConversation),
      },
    }
  },
})

/** Routes that are there for existing clients alone, below the base of their dialect. */
export const dialectRoutes: Route[] = [
  ...serviceRoutes,
  ...usageRoutes,
  ...moderatorRoutes,
  voteRoute('post', 'upvote'),
  voteRoute('post', 'downvote'),
  voteRoute('comment', 'upvote'),
  voteRoute('comment', 'downvote'),
  checkRoute,
]
