import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { type HubEnv, readReader, requireViewerWith, toActor } from '../../hub/http/page-entry'
import { setVote, voteErrors, voteReads } from '../../hub/votes/actions'
import { formatPlural } from '../../shared/format'
import { postPath } from '../../shared/paths'
import type { PageViewer } from '../frame/frame'
import { readForm } from '../frame/read-form'
import { toLocalPath } from '../frame/requests'
import { page } from '../frame/send-page'
import { Icon } from '../parts/meter'

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

interface VoteFormProps {
  viewer: PageViewer | null
  postId: string
  /** Null for the post itself. */
  commentId: string | null
  /** What the vote is on, for screen readers. */
  of: string
  authorName: string
  score: number
  /** The viewer's own vote. */
  value: number
  /** Path to return to. */
  next: string
  /** Shows the up button only, as in lists. */
  isUpOnly?: boolean
}

/** Shows the score, with buttons for viewers who may vote. A pressed button removes the vote. */
export const VoteForm: FC<VoteFormProps> = (props) => {
  const { viewer, postId, commentId, of, authorName, score, value, next, isUpOnly } = props
  const points = (
    <span class="points" title={formatPlural(score, 'point', 'points')}>
      {score}
      <span class="vh"> {score === 1 ? 'point' : 'points'}</span>
    </span>
  )
  if (!viewer || viewer.name === authorName) return <div class="vote">{points}</div>
  return (
    <form class="vote" method="post" action={`${postPath(postId)}/vote`}>
      {commentId !== null && <input type="hidden" name="comment_id" value={commentId} />}
      <input type="hidden" name="next" value={next} />
      <VoteButton value={1} chosen={value} of={of} />
      {points}
      {!isUpOnly && <VoteButton value={-1} chosen={value} of={of} />}
    </form>
  )
}

const VoteButton: FC<{ value: 1 | -1; chosen: number; of: string }> = ({ value, chosen, of }) => (
  <button
    type="submit"
    name="value"
    value={chosen === value ? '0' : String(value)}
    aria-pressed={chosen === value ? 'true' : 'false'}
  >
    <Icon name={value === 1 ? 'up' : 'down'} />
    <span class="vh">
      Vote {value === 1 ? 'up' : 'down'} {of}
    </span>
  </button>
)
