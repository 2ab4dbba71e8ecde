import type { Hono } from 'hono'
import { type HubEnv, readReader, requireViewerWith, toActor } from '../../hub/http/page-entry'
import { setVote, voteReads } from '../../hub/votes/actions'
import { voteErrors } from '../../hub/votes/errors'
import { readForm } from '../frame/read-form'
import { page } from '../frame/send-page'
import { toLocalPath } from '../frame/to-local-path'

const values = { '1': 1, '0': 0, '-1': -1 } as const

/** Registers `POST /p/:id/vote`, which redirects to the page with the pressed button. */
export function registerVotePages(app: Hono<HubEnv>): void {
  app.post(
    '/p/:id/vote',
    page(async (c) => {
      const form = await readForm(c)
      const commentId = form('comment_id')
      const on = commentId
        ? { kind: 'comment' as const, id: commentId }
        : { kind: 'post' as const, id: c.req.param('id') ?? '' }
      const reads = voteReads(on, await readReader(c))
      const { viewer, answers } = await requireViewerWith(c, 'write', reads, { isWriting: false })
      const value = values[form('value') as keyof typeof values]
      if (value === undefined) throw voteErrors.invalidValue()
      await setVote(c.var.context, toActor(viewer, null), { on, value }, answers)
      return c.redirect(toLocalPath(form('next')), 303)
    }),
  )
}
