import * as z from 'zod'
import type { PullRequest, Review } from '../contract/review-hooks'

/** What a delivery means for the hub. */
export type Delivery =
  | ({ kind: 'review' } & Review)
  /** Says which branch a pull request has, and nothing more. */
  | { kind: 'pull_request'; pull: PullRequest }
  | { kind: 'ignored'; reason: string }

const ignored = (reason: string): Delivery => ({ kind: 'ignored', reason })

/** Who is answered: people whom the owners of the repository let write to it. */
const trusted = new Set(['OWNER', 'MEMBER', 'COLLABORATOR'])
/** The hub marks what its own tools write. */
const ownMark = '<!-- rookery:'

const id = z.int().min(0)
const repository = z.object({ full_name: z.string().max(200) })
const pullRequest = z.object({
  number: id,
  head: z.object({ ref: z.string().max(300), repo: repository.nullish() }),
})
const said = z.object({
  id,
  body: z.string().nullish(),
  user: z.object({ login: z.string() }).nullish(),
  author_association: z.string().optional(),
})
const base = { action: z.string(), repository }

const texts = {
  event: 'This event is not a review or a comment of a pull request',
  noText: 'It has no text, so nothing is asked',
  own: 'A tool of this hub wrote it',
  author: 'Its author does not belong to the repository',
}

const pullRequestEvent = z.object({ ...base, pull_request: pullRequest })

/** Declares an event; what does not have its shape is ignored. */
const declare =
  <Event extends z.ZodType>(shape: Event, read: (event: z.output<Event>) => Delivery) =>
  (body: unknown): Delivery => {
    const parsed = shape.safeParse(body)
    return parsed.success ? read(parsed.data) : ignored(texts.event)
  }

const events: ReadonlyMap<string, (body: unknown) => Delivery> = new Map(
  Object.entries({
    pull_request: declare(pullRequestEvent, (event) => ({
      kind: 'pull_request',
      pull: toPull(event),
    })),
    pull_request_review: declare(
      pullRequestEvent.extend({
        action: z.literal('submitted'),
        review: said.extend({ state: z.string() }),
      }),
      (event) => {
        const { review } = event
        const state = toState(review.state)
        const { id: reviewId } = review
        return toReview(review, { key: `review:${reviewId}`, reviewId, pull: toPull(event), state })
      },
    ),
    pull_request_review_comment: declare(
      pullRequestEvent.extend({
        action: z.literal('created'),
        comment: said.extend({
          pull_request_review_id: id.nullish(),
          path: z.string(),
          line: z.int().nullish(),
          original_line: z.int().nullish(),
        }),
      }),
      (event) => {
        const { id: at, path, line, original_line: before } = event.comment
        const place = { path, line: line ?? before ?? null }
        const reviewId = event.comment.pull_request_review_id ?? null
        return toReview(event.comment, {
          ...{ key: `line:${at}`, reviewId, pull: toPull(event), place },
        })
      },
    ),
    issue_comment: declare(
      z.object({
        action: z.literal('created'),
        repository,
        // Of an issue it is absent.
        issue: z.object({ number: id, pull_request: z.object({}) }),
        comment: said,
      }),
      ({ repository: { full_name: name }, issue, comment }) => {
        const pull = { repository: name, number: issue.number, head: null }
        return toReview(comment, { key: `comment:${comment.id}`, pull })
      },
    ),
  }),
)

/**
 * Reads a delivery in the shape of GitHub's webhooks.
 *
 * @param event the name of the event, from its header
 */
export const readReview = (event: string, body: unknown): Delivery =>
  events.get(event)?.(body) ?? ignored(texts.event)

const toPull = ({
  repository: { full_name: name },
  pull_request: { number, head },
}: z.output<typeof pullRequestEvent>): PullRequest => ({
  repository: name,
  number,
  head: head.repo ? { repository: head.repo.full_name, branch: head.ref } : null,
})

const toState = (state: string): Review['state'] =>
  state === 'approved' || state === 'changes_requested' ? state : 'commented'

/** A review without a text is ignored, unless it requests changes: its comments on lines arrive by themselves. */
function toReview(
  { body, user, author_association: association = '' }: z.output<typeof said>,
  about: Pick<Review, 'key' | 'pull'> & Partial<Pick<Review, 'reviewId' | 'state' | 'place'>>,
): Delivery {
  const text = body?.trim() ?? ''
  if (text.includes(ownMark)) return ignored(texts.own)
  if (!trusted.has(association)) return ignored(texts.author)
  if (text === '' && about.state !== 'changes_requested') return ignored(texts.noText)
  const author = user?.login ?? ''
  return { kind: 'review', reviewId: null, state: null, place: null, ...about, author, text }
}
