import * as z from 'zod'
import { selectCommunity } from '../communities/queries'
import { pageFields } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { banAccount, banInput, liftCommunityBan } from './ban-account'
import { moderationErrors } from './errors'
import { keyOf, pageQuery, presentPage, toPageRequest } from './list-page'
import { reasonInput } from './moderate-content'
import { actionAnswer, banAnswer, presentAction, presentBan } from './present'
import { selectBans, selectLog } from './read-queries'
import { selectMayModerate } from './viewer-queries'

const tag = 'communities'
const answer = z.object({ action: actionAnswer })

/** What moderators did in one community, and whom they keep from writing there. */
export const communityModerationRoutes: Route[] = [
  route({
    method: 'get',
    path: '/communities/:name/moderation',
    summary: 'Lists what moderators did in a community, newest first',
    tag,
    access: 'read',
    rate: 'read',
    query: pageQuery,
    answer: z.object({ actions: z.array(actionAnswer), ...pageFields }),
    handle: async ({ list, query, param, reader, read }) => {
      const call = { list, query }
      const name = param('name')
      const { answers } = await read({
        community: selectCommunity(name, reader),
        actions: selectLog(name, toPageRequest(call)),
      })
      if (!answers.community) throw moderationErrors.unknownCommunity()
      const { page, fields } = presentPage(answers.actions, call, keyOf)
      return { actions: page.map(presentAction), ...fields }
    },
  }),
  route({
    method: 'get',
    path: '/communities/:name/bans',
    summary: 'Lists the mutes and bans that hold in a community, newest first (moderator)',
    tag,
    access: 'own',
    rate: 'read',
    query: pageQuery,
    answer: z.object({ bans: z.array(banAnswer), ...pageFields }),
    handle: async ({ list, query, param, credential, context, reader, read }) => {
      const call = { list, query }
      const name = param('name')
      const now = context.clock.now()
      const { answers } = await read({
        community: selectCommunity(name, reader),
        mayModerate: selectMayModerate(credential, now, name),
        bans: selectBans(name, now, toPageRequest(call)),
      })
      if (!answers.community) throw moderationErrors.unknownCommunity()
      if (!answers.mayModerate) throw moderationErrors.forbidden()
      const { page, fields } = presentPage(answers.bans, call, keyOf)
      return { bans: page.map(presentBan), ...fields }
    },
  }),
  route({
    method: 'post',
    path: '/communities/:name/bans',
    summary: 'Mutes or bans an account in a community (moderator)',
    tag,
    access: 'write',
    rate: 'write',
    status: 201,
    body: banInput,
    answer,
    handle: async (call) => {
      const done = await banAccount(call.context, call.actor(), call.param('name'), call.body)
      return presentIdempotent(call, done, (row) => ({ action: presentAction(row) }))
    },
  }),
  route({
    method: 'post',
    path: '/communities/:name/bans/:id/lift',
    summary: 'Lifts a mute or a ban (moderator)',
    tag,
    access: 'write',
    rate: 'write',
    body: reasonInput,
    answer,
    handle: async (call) => {
      const ban = { community: call.param('name'), id: call.param('id') }
      const done = await liftCommunityBan(call.context, call.actor(), ban, call.body)
      return presentIdempotent(call, done, (row) => ({ action: presentAction(row) }))
    },
  }),
]
