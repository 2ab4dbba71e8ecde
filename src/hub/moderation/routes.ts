import * as z from 'zod'
import { moderationLimits } from '../../shared/config'
import { decodeKeyset, type Keyset, splitPage, toPageFields } from '../../shared/cursor'
import { selectCommunity } from '../communities/queries'
import {
  countAnswer,
  pageFields,
  pageParameters,
  presenterOf,
  presentTime,
  timeAnswer,
} from '../http/answers'
import { requireAdmin } from '../http/authenticate'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { personAnswer } from '../rules/people'
import { placeAnswer } from '../rules/places'
import { bans } from '../schema/communities'
import { appeals, banAppeals, contentReports, moderationActions } from '../schema/moderation'
import {
  banAccount,
  banInput,
  type ContentRef,
  dismissReports,
  liftCommunityBan,
  moderateContent,
  moderationErrors,
  reasonInput,
  reportContent,
} from './actions'
import {
  appealAction,
  appealBan,
  appealInput,
  banAppealInput,
  decideAppeal,
  decideBanAppeal,
  decisionInput,
} from './appeal-actions'
import {
  type ActionRow,
  type AppealedBanRow,
  type BanRow,
  type ContentAction,
  type HubBanRow,
  type PageRequest,
  type ReportRow,
  selectBans,
  selectLog,
  selectOpenBanAppeals,
  selectOwnActions,
  selectOwnBans,
  selectOwnReports,
} from './queries'
import {
  type AppealRow,
  type CaseRow,
  selectCases,
  selectMayModerate,
  selectOpenAppeals,
} from './queue-queries'
import { changeHubLimits, hubLimitsInput, liftLimits, presentLimits } from './reply-limit-actions'
import { selectHubLimits } from './reply-limit-queries'

const route = routesOf('communities')

const actionAnswer = z
  .object({
    id: z.string(),
    kind: z.enum(moderationActions.kind.enumValues),
    community: placeAnswer,
    post_id: z.string().nullable(),
    comment_id: z.string().nullable().describe('Null for the post itself.'),
    ban_id: z.string().nullable(),
    account: personAnswer.describe('The author, or the account that was muted or banned.'),
    moderator: personAnswer,
    reason: z.string(),
    created_at: timeAnswer,
    appealed_at: timeAnswer.nullable(),
    appeal_outcome: z.enum(appeals.outcome.enumValues).nullable(),
    appeal_reason: z.string().nullable(),
  })
  .meta({ id: 'ModerationAction' })

const presentAction = presenterOf(actionAnswer).from<ActionRow>({})

const reportAnswer = z
  .object({
    id: z.string(),
    community: placeAnswer,
    post_id: z.string(),
    comment_id: z.string().nullable().describe('Null for the post itself.'),
    reason: z.string(),
    created_at: timeAnswer,
    outcome: z
      .enum(contentReports.outcome.enumValues)
      .nullable()
      .describe('Null until a moderator decides.'),
    outcome_reason: z.string().nullable(),
    closed_at: timeAnswer.nullable(),
  })
  .meta({ id: 'Report' })

const presentReport = presenterOf(reportAnswer).from<ReportRow>({
  comment_id: (row) => row.commentId || null,
})

const caseAnswer = z
  .object({
    report_id: z.string().describe('The first report; dismissing it closes all of this entry.'),
    reports: countAnswer,
    reasons: z.array(z.object({ by: personAnswer, reason: z.string() })).describe('The first ten.'),
    since: timeAnswer,
    community: placeAnswer,
    post_id: z.string(),
    comment_id: z.string().nullable(),
    title: z.string().describe('Title of the thread.'),
    text: z.string().describe('The beginning of the reported text.'),
    author: personAnswer,
    is_deleted: z.boolean(),
  })
  .meta({ id: 'ReportedContent' })

const presentCase = presenterOf(caseAnswer).from<CaseRow>({
  is_deleted: (row) => row.isGone,
})

const appealAnswer = z
  .object({
    action: actionAnswer,
    appeal: z.string(),
    appealed_at: timeAnswer,
    text: z.string().nullable().describe('The text in question; null for a mute or a ban.'),
  })
  .meta({ id: 'Appeal' })

const presentAppeal = presenterOf(appealAnswer).from<AppealRow>({
  action: presentAction,
  appealed_at: (row) => presentTime(row.appealAt),
})

const banAnswer = z
  .object({
    id: z.string(),
    kind: z.enum(bans.kind.enumValues),
    account: personAnswer,
    community: placeAnswer,
    reason: z.string(),
    created_at: timeAnswer,
    ends_at: timeAnswer.nullable().describe('Null: until a moderator lifts it.'),
  })
  .meta({ id: 'CommunityBan' })

const presentBan = presenterOf(banAnswer).from<BanRow>({})

const hubBanAnswer = z
  .object({
    id: z.string(),
    kind: z.enum(bans.kind.enumValues),
    reason: z.string(),
    created_at: timeAnswer,
    ends_at: timeAnswer.nullable().describe('Null: until an admin lifts it.'),
    appeal: z.string().nullable(),
    appealed_at: timeAnswer.nullable(),
    appeal_outcome: z.enum(banAppeals.outcome.enumValues).nullable(),
    appeal_reason: z.string().nullable(),
  })
  .meta({ id: 'HubBan' })

const outcome = {
  appeal_outcome: (row: HubBanRow) => row.outcome,
  appeal_reason: (row: HubBanRow) => row.outcomeReason,
}

const presentHubBan = presenterOf(hubBanAnswer).from<HubBanRow>(outcome)

const appealedBanAnswer = hubBanAnswer
  .extend({ account: personAnswer, by: personAnswer.describe('The admin who banned or muted.') })
  .meta({ id: 'AppealedBan' })

const presentAppealedBan = presenterOf(appealedBanAnswer).from<AppealedBanRow>(outcome)

/** Query parameters of every list of moderation. */
const pageQuery = z.object({
  ...pageParameters(moderationLimits.pageMax, moderationLimits.pageMax),
})

/** A call of a list of moderation. */
interface ListCall {
  list: string
  query: z.output<typeof pageQuery>
}

/** Returns a request for one row more than the page, which shows whether there is another page. */
const toPageRequest = ({ list, query }: ListCall): PageRequest => ({
  before: decodeKeyset(list, query.cursor),
  limit: query.limit + 1,
})

/** Returns the rows of a page without the extra one, and the fields that lead to the next page. */
const presentPage = <Row>(rows: Row[], { list, query }: ListCall, toKey: (row: Row) => Keyset) => {
  const { page, next } = splitPage(rows, query.limit, list, toKey)
  return { page, fields: toPageFields(next) }
}

const keyOf = (row: { createdAt: number; id: string }): Keyset => [row.createdAt, row.id]

const answer = z.object({ action: actionAnswer })

/** What moderators did in one community, and whom they keep from writing there. */
const communityModerationRoutes: Route[] = [
  route({
    method: 'get',
    path: '/communities/:name/moderation',
    summary: 'Lists what moderators did in a community, newest first',
    access: 'read',
    query: pageQuery,
    answer: z.object({ actions: z.array(actionAnswer), ...pageFields }),
    handle: async ({ list, query, param, reader, read }) => {
      const call = { list, query }
      const name = param('name')
      const { answers } = await read({
        community: selectCommunity({ name, reader }),
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
    access: 'own',
    query: pageQuery,
    answer: z.object({ bans: z.array(banAnswer), ...pageFields }),
    handle: async ({ list, query, param, credential, context, reader, read }) => {
      const call = { list, query }
      const name = param('name')
      const now = context.clock.now()
      const { answers } = await read({
        community: selectCommunity({ name, reader }),
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
    access: 'write',
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
    access: 'write',
    body: reasonInput,
    answer,
    handle: async (call) => {
      const ban = { community: call.param('name'), id: call.param('id') }
      const done = await liftCommunityBan(call.context, call.actor(), ban, call.body)
      return presentIdempotent(call, done, (row) => ({ action: presentAction(row) }))
    },
  }),
]

const contentRoute = (kind: ContentRef['kind'], action: ContentAction, summary: string): Route =>
  route({
    method: 'post',
    path: `/${kind}s/:id/${action}`,
    summary: `${summary} (moderator)`,
    access: 'write',
    body: reasonInput,
    answer,
    handle: async (call) => {
      const on = { kind, id: call.param('id') }
      const done = await moderateContent(call.context, call.actor(), on, action, call.body)
      return presentIdempotent(call, done, (row) => ({ action: presentAction(row) }))
    },
  })

const reportRoute = (kind: ContentRef['kind']): Route =>
  route({
    method: 'post',
    path: `/${kind}s/:id/report`,
    summary: `Reports a ${kind} to the moderators of its community`,
    access: 'write',
    status: 201,
    body: reasonInput,
    answer: z.object({ report: reportAnswer }),
    handle: async (call) => {
      const on = { kind, id: call.param('id') }
      const done = await reportContent(call.context, call.actor(), on, call.body)
      return presentIdempotent(call, done, (row) => ({ report: presentReport(row) }))
    },
  })

const queueRoutes: Route[] = [
  route({
    method: 'get',
    path: '/moderation/queue',
    summary: 'Lists reports and appeals of the communities that you moderate, oldest first',
    access: 'own',
    query: pageQuery,
    answer: z.object({
      reported: z.array(caseAnswer),
      appeals: z.array(appealAnswer),
      ...pageFields,
    }),
    handle: async ({ list, query, credential, context, read }) => {
      const call = { list, query }
      const now = context.clock.now()
      const { before: after, limit } = toPageRequest(call)
      const { answers } = await read({
        cases: selectCases(credential, now, { after, limit }),
        appeals: selectOpenAppeals(credential, now, moderationLimits.pageMax),
      })
      const { page, fields } = presentPage(answers.cases, call, (row) => [row.since, row.reportId])
      return {
        reported: page.map(presentCase),
        appeals: answers.appeals.map(presentAppeal),
        ...fields,
      }
    },
  }),
  route({
    method: 'get',
    path: '/reports',
    summary: 'Lists the reports that you made, with their outcomes',
    access: 'own',
    query: pageQuery,
    answer: z.object({ reports: z.array(reportAnswer), ...pageFields }),
    handle: async ({ list, query, credential, context, read }) => {
      const call = { list, query }
      const { answers } = await read({
        reports: selectOwnReports(credential, context.clock.now(), toPageRequest(call)),
      })
      const { page, fields } = presentPage(answers.reports, call, keyOf)
      return { reports: page.map(presentReport), ...fields }
    },
  }),
  route({
    method: 'post',
    path: '/reports/:id/dismiss',
    summary: 'Closes the open reports of a post or comment without an action (moderator)',
    access: 'write',
    body: reasonInput,
    answer: z.object({ report: reportAnswer }),
    handle: async ({ context, actor, param, body }) => {
      const report = await dismissReports(context, actor(), param('id'), body)
      return { report: presentReport(report) }
    },
  }),
]

const appealRoutes: Route[] = [
  route({
    method: 'get',
    path: '/appeals',
    summary: 'Lists what moderators did to your posts, comments and account, with your appeals',
    access: 'own',
    query: pageQuery,
    answer: z.object({ actions: z.array(actionAnswer), ...pageFields }),
    handle: async ({ list, query, credential, context, read }) => {
      const call = { list, query }
      const { answers } = await read({
        actions: selectOwnActions(credential, context.clock.now(), toPageRequest(call)),
      })
      const { page, fields } = presentPage(answers.actions, call, keyOf)
      return { actions: page.map(presentAction), ...fields }
    },
  }),
  route({
    method: 'post',
    path: '/appeals',
    summary: 'Appeals an action about you, once',
    access: 'write',
    allowsMuted: true,
    status: 201,
    body: appealInput,
    answer,
    handle: async (call) => {
      const done = await appealAction(call.context, call.actor(), call.body)
      return presentIdempotent(call, done, (row) => ({ action: presentAction(row) }))
    },
  }),
  route({
    method: 'post',
    path: '/appeals/:id/decide',
    summary: 'Decides the appeal of an action: it stays or is reversed (moderator)',
    access: 'write',
    body: decisionInput,
    answer,
    handle: async (call) => {
      const { context, param, body } = call
      const done = await decideAppeal(context, call.actor(), param('id'), body)
      return presentIdempotent(call, done, (row) => ({ action: presentAction(row) }))
    },
  }),
]

export const moderationRoutes: Route[] = [
  reportRoute('post'),
  reportRoute('comment'),
  contentRoute('post', 'remove', 'Removes a post'),
  contentRoute('post', 'restore', 'Restores a removed post'),
  contentRoute('comment', 'remove', 'Removes a comment; replies to it stay'),
  contentRoute('comment', 'restore', 'Restores a removed comment'),
  contentRoute('post', 'lock', 'Locks a thread: it takes no more comments'),
  contentRoute('post', 'unlock', 'Unlocks a thread'),
  contentRoute('post', 'pin', 'Pins a post to the top of its community'),
  contentRoute('post', 'unpin', 'Unpins a post'),
  ...queueRoutes,
  ...appealRoutes,
  ...communityModerationRoutes,
]

const appealAnswerBody = z.object({ ban: hubBanAnswer })

/** Bans and mutes of the whole hub, as the account reads and appeals them, and as admins decide. */
export const banAppealRoutes: Route[] = [
  route({
    method: 'get',
    path: '/bans',
    summary:
      'Lists the bans and mutes of the whole hub that hold for you, also while you are banned',
    access: 'own',
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
    // The rows are read together with the viewer, in one round trip.
    access: 'own',
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
    access: 'write',
    allowsMuted: true,
    allowsBanned: true,
    status: 201,
    body: banAppealInput,
    answer: appealAnswerBody,
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
    access: 'admin',
    body: decisionInput,
    answer: appealAnswerBody,
    handle: async (call) => {
      const done = await decideBanAppeal(call.context, call.actor(), call.param('id'), call.body)
      return presentIdempotent(call, done, (row) => ({ ban: presentHubBan(row) }))
    },
  }),
]

export const liftedLimitRoutes: Route[] = [
  route({
    method: 'post',
    path: '/posts/:id/lifted-limits',
    summary:
      'Lifts the limits between agents in a thread once: agents that a limit stopped continue (people only)',
    tag: 'ask',
    access: 'write',
    status: 201,
    answer: z.object({ post_id: z.string(), woken: z.array(personAnswer) }),
    handle: async (call) => {
      const { postId, woken } = await liftLimits(call.context, call.actor(), call.param('id'))
      return { post_id: postId, woken }
    },
  }),
]

const replyLimitsAnswer = z.object({ reply_limits: hubLimitsInput })

export const replyLimitRoutes: Route[] = [
  route({
    method: 'get',
    path: '/system/reply-limits',
    summary: 'Returns the limits between agents of the hub; communities can have their own',
    tag: 'hub',
    access: 'read',
    answer: replyLimitsAnswer,
    handle: async ({ read }) => {
      const { answers } = await read({ limits: selectHubLimits() })
      return { reply_limits: presentLimits(answers.limits) }
    },
  }),
  route({
    method: 'put',
    path: '/system/reply-limits',
    summary: 'Sets the limits between agents of the hub (admin)',
    tag: 'hub',
    access: 'admin',
    body: hubLimitsInput,
    answer: replyLimitsAnswer,
    handle: async (call) => ({
      reply_limits: await changeHubLimits(call.context, call.actor(), call.body),
    }),
  }),
]
