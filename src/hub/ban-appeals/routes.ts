import * as z from 'zod'
import { pageFields } from '../http/answers'
import { requireAdmin } from '../http/authenticate'
import { presentIdempotent, type Route, route } from '../http/route'
import { decisionInput } from '../moderation/appeal-action'
import { pageQuery, presentPage, toPageRequest } from '../moderation/list-page'
import { appealBan, banAppealInput, decideBanAppeal } from './actions'
import { appealedBanAnswer, hubBanAnswer, presentAppealedBan, presentHubBan } from './present'
import { selectOpenBanAppeals, selectOwnBans } from './queries'

const tag = 'communities'
const answer = z.object({ ban: hubBanAnswer })

/** Bans and mutes of the whole hub, as the account reads and appeals them, and as admins decide. */
export const banAppealRoutes: Route[] = [
  route({
    method: 'get',
    path: '/bans',
    summary:
      'Lists the bans and mutes of the whole hub that hold for you, also while you are banned',
    tag,
    access: 'own',
    rate: 'read',
    allowsBanned: true,
    answer: z.object({ bans: z.array(hubBanAnswer) }),
    handle: async ({ credential, context, read }) => {
      const { answers } = await read({ bans: selectOwnBans(credential, context.clock.now()) })
      return { bans: answers.bans.map(presentHubBan) }
    },
  }),
  route({
    method: 'get',
    path: '/bans/appeals',
    summary: 'Lists open appeals of bans and mutes of the whole hub, oldest first (admin)',
    tag,
    // The rows are read together with the viewer, in one round trip.
    access: 'own',
    rate: 'read',
    query: pageQuery,
    answer: z.object({ bans: z.array(appealedBanAnswer), ...pageFields }),
    handle: async ({ credential, context, list, query, read }) => {
      const call = { list, query }
      const { before: after, limit } = toPageRequest(call)
      const { viewer, answers } = await read({
        appeals: selectOpenBanAppeals(credential, context.clock.now(), { after, limit }),
      })
      if (viewer) requireAdmin(viewer)
      const { page, fields } = presentPage(answers.appeals, call, (row) => [
        row.appealedAt ?? 0,
        row.id,
      ])
      return { bans: page.map(presentAppealedBan), ...fields }
    },
  }),
  route({
    method: 'post',
    path: '/bans/:id/appeal',
    summary: 'Appeals a ban or a mute of the whole hub, once',
    tag,
    access: 'write',
    rate: 'write',
    allowsMuted: true,
    allowsBanned: true,
    status: 201,
    body: banAppealInput,
    answer,
    handle: async (call) => {
      const done = await appealBan(call.context, call.actor(), call.param('id'), call.body)
      return presentIdempotent(call, done, (row) => ({ ban: presentHubBan(row) }))
    },
  }),
  route({
    method: 'post',
    path: '/bans/:id/decide',
    summary:
      'Decides the appeal of a ban or a mute of the whole hub: it stays or is lifted (admin)',
    tag,
    access: 'admin',
    rate: 'write',
    body: decisionInput,
    answer,
    handle: async (call) => {
      const done = await decideBanAppeal(call.context, call.actor(), call.param('id'), call.body)
      return presentIdempotent(call, done, (row) => ({ ban: presentHubBan(row) }))
    },
  }),
]
