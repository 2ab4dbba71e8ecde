import type { Hono } from 'hono'
import * as z from 'zod'
import { communityErrors } from '../../hub/communities/actions'
import { selectOpenings } from '../../hub/communities/opening-queries'
import { selectCommunity, selectModerators } from '../../hub/communities/queries'
import {
  type HubEnv,
  readCredential,
  readReader,
  requireViewer,
  toActor,
} from '../../hub/http/page-entry'
import {
  liftCommunityBan,
  moderationErrors,
  reasonInput,
  reportContent,
} from '../../hub/moderation/actions'
import {
  appealAction,
  appealInput,
  decideAppeal,
  decisionInput,
} from '../../hub/moderation/appeal-actions'
import {
  selectBans,
  selectLog,
  selectOpenBanAppeals,
  selectOwnActions,
  selectOwnReports,
  selectTarget,
} from '../../hub/moderation/queries'
import {
  selectCases,
  selectMayModerate,
  selectOpenAppeals,
} from '../../hub/moderation/queue-queries'
import { moderationLimits, openings } from '../../shared/config'
import { decodeKeyset, splitPage } from '../../shared/cursor'
import { contentFormPath, moderationLogPath } from '../../shared/paths'
import { createForm, readFormWith, rejectForm } from '../form/form-state'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { moderateByForm, showModeratePage } from './moderate-form'
import { type AppealFormState, appealForm, MinePage, registerNoticePages } from './notice-page'
import { LogPage, QueuePage, type ReportFormState, ReportPage, reportForm } from './queue-page'

const { pageMax } = moderationLimits

/** Registers the pages of moderation, and the forms about posts and comments in threads. */
export function registerModerationPages(app: Hono<HubEnv>): void {
  app.get('/moderation', page(showQueue))
  app.post('/moderation/appeals/:id', page(decideByForm))
  app.get(
    '/moderation/mine',
    page((c) => showMine(c, null)),
  )
  app.post('/moderation/mine', page(appealByForm))
  app.get('/moderation/log/:name', page(showLog))
  app.post('/moderation/log/:name/lift/:id', page(liftByForm))
  app.get(
    '/p/:id/report',
    page((c) => showReportForm(c, c.req.query('comment') ?? '', createForm({ reason: '' }))),
  )
  app.post('/p/:id/report', page(reportByForm))
  app.get('/p/:id/moderate', page(showModeratePage))
  app.post('/p/:id/moderate', page(moderateByForm))
  registerNoticePages(app)
}

/** @throws UNAUTHORIZED without a key or session */
async function requireCredential(c: PageContext) {
  const credential = await readCredential(c)
  if (!credential) await requireViewer(c, 'read')
  return credential
}

const queueList = '/moderation'

async function showQueue(c: PageContext): Promise<Response> {
  const credential = await requireCredential(c)
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    cases: selectCases(credential, now, {
      after: decodeKeyset(queueList, c.req.query('cursor')),
      limit: pageMax + 1,
    }),
    appeals: selectOpenAppeals(credential, now, pageMax),
    banAppeals: selectOpenBanAppeals(credential, now, { after: null, limit: pageMax }),
  })
  if (!frame.viewer) await requireViewer(c, 'read')
  if (frame.viewer?.queueCount == null) throw moderationErrors.forbidden()
  const { appeals, banAppeals } = answers
  const { page: cases, next } = splitPage(answers.cases, pageMax, queueList, (row) => [
    row.since,
    row.reportId,
  ])
  return sendPage(
    c,
    <QueuePage frame={frame} cases={cases} appeals={appeals} banAppeals={banAppeals} next={next} />,
  )
}

async function decideByForm(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const form = await readForm(c)
  const input = decisionInput.parse({ decision: form('decision'), reason: form('reason') })
  await decideAppeal(c.var.context, toActor(viewer, null), c.req.param('id') ?? '', input)
  return c.redirect('/moderation', 303)
}

async function showMine(
  c: PageContext,
  form: AppealFormState | null,
  status = 200,
): Promise<Response> {
  const credential = await requireCredential(c)
  const now = c.var.context.clock.now()
  const request = { before: null, limit: pageMax }
  const { frame, answers } = await readPage(c, {
    actions: selectOwnActions(credential, now, request),
    reports: selectOwnReports(credential, now, request),
  })
  if (!frame.viewer) await requireViewer(c, 'read')
  return sendPage(c, <MinePage frame={frame} {...answers} form={form} />, status)
}

async function appealByForm(c: PageContext): Promise<Response> {
  const read = readFormWith(appealInput, await readForm(c), appealForm)
  const viewer = await requireViewer(c, 'write', { isWriting: false })
  if (!read.isValid) return showMine(c, read.form, 400)
  try {
    await appealAction(c.var.context, await readFormActor(c, viewer), read.value)
  } catch (error) {
    const { form, status } = rejectForm(appealForm, read.form, error)
    return showMine(c, form, status)
  }
  return c.redirect('/moderation/mine', 303)
}

/** Mutes and bans of a community that its page lists. */
const bansShown = 200

async function showLog(c: PageContext): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const credential = await readCredential(c)
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    community: selectCommunity({ name, reader: await readReader(c) }),
    actions: selectLog(name, {
      before: decodeKeyset(moderationLogPath(name), c.req.query('cursor')),
      limit: pageMax + 1,
    }),
    moderators: selectModerators({ community: name }),
    bans: selectBans(name, now, { before: null, limit: bansShown }),
    mayModerate: selectMayModerate(credential, now, name),
    openings: selectOpenings(credential, now, {
      community: name,
      before: null,
      limit: openings.listed,
    }),
  })
  const { community, actions: rows, ...rest } = answers
  if (!community) throw communityErrors.unknownPage()
  const path = moderationLogPath(community.name)
  const { page: actions, next } = splitPage(rows, pageMax, path, (row) => [row.createdAt, row.id])
  return sendPage(
    c,
    <LogPage frame={frame} community={community.name} actions={actions} next={next} {...rest} />,
  )
}

async function liftByForm(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const form = await readForm(c)
  const community = c.req.param('name') ?? ''
  const ban = { community, id: c.req.param('id') ?? '' }
  const input = reasonInput.parse({ reason: form('reason') })
  await liftCommunityBan(c.var.context, toActor(viewer, null), ban, input)
  return c.redirect(moderationLogPath(community), 303)
}

const toRef = (postId: string, commentId: string) =>
  commentId ? { kind: 'comment' as const, id: commentId } : { kind: 'post' as const, id: postId }

async function showReportForm(
  c: PageContext,
  commentId: string,
  form: ReportFormState,
  status = 200,
): Promise<Response> {
  await requireCredential(c)
  const on = toRef(c.req.param('id') ?? '', commentId)
  const { frame, answers } = await readPage(c, {
    target: selectTarget(on.kind, on.id, await readReader(c)),
  })
  if (!frame.viewer) await requireViewer(c, 'read')
  const { target } = answers
  if (!target || target.isDeleted) throw moderationErrors.unknownTarget(on.kind)
  const isSent = c.req.method === 'GET' && c.req.query('sent') === '1'
  const names = { authorName: target.author.name, communityName: target.community.name }
  const { postId } = target
  const page = { ...names, postId, commentId: target.commentId, form, isSent }
  return sendPage(c, <ReportPage frame={frame} {...page} />, status)
}

const commentField = z.string().max(100)

async function reportByForm(c: PageContext): Promise<Response> {
  const send = await readForm(c)
  const read = readFormWith(reasonInput, send, reportForm)
  const commentId = commentField.parse(send('comment_id'))
  const viewer = await requireViewer(c, 'write')
  if (!read.isValid) return showReportForm(c, commentId, read.form, 400)
  const postId = c.req.param('id') ?? ''
  try {
    const on = toRef(postId, commentId)
    await reportContent(c.var.context, await readFormActor(c, viewer), on, read.value)
  } catch (error) {
    const { form, status } = rejectForm(reportForm, read.form, error)
    if (status === 404) throw error
    return showReportForm(c, commentId, form, status)
  }
  const formPath = contentFormPath('report', postId, commentId || null)
  return c.redirect(`${formPath}${commentId ? '&' : '?'}sent=1`, 303)
}
