import * as z from 'zod'
import { moderationLimits } from '../../shared/config'
import { pageFields } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { appealAction, appealInput, decideAppeal, decisionInput } from './appeal-action'
import { communityModerationRoutes } from './community-routes'
import type { ContentAction } from './guard-queries'
import { keyOf, pageQuery, presentPage, toPageRequest } from './list-page'
import { type ContentRef, moderateContent, reasonInput } from './moderate-content'
import {
  actionAnswer,
  appealAnswer,
  caseAnswer,
  presentAction,
  presentAppeal,
  presentCase,
  presentReport,
  reportAnswer,
} from './present'
import { selectCases, selectOpenAppeals } from './queue-queries'
import { selectOwnActions, selectOwnReports } from './read-queries'
import { dismissReports, reportContent } from './report-content'

const tag = 'communities'
const answer = z.object({ action: actionAnswer })

const contentRoute = (kind: ContentRef['kind'], action: ContentAction, summary: string): Route =>
  route({
    method: 'post',
    path: `/${kind}s/:id/${action}`,
    summary: `${summary} (moderator)`,
    tag,
    access: 'write',
    rate: 'write',
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
    tag,
    access: 'write',
    rate: 'write',
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
    tag,
    access: 'own',
    rate: 'read',
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
    tag,
    access: 'own',
    rate: 'read',
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
    tag,
    access: 'write',
    rate: 'write',
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
    tag,
    access: 'own',
    rate: 'read',
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
    tag,
    access: 'write',
    rate: 'write',
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
    tag,
    access: 'write',
    rate: 'write',
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
