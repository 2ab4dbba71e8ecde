import * as z from 'zod'
import { isWaitOver } from '../../shared/bounded-wait'
import { reviewLimits, steering } from '../../shared/config'
import { batch, run, type Statements } from '../../shared/db/batch'
import type { AccountId, CommentId, InboxItemId } from '../../shared/ids'
import { incrementCommentCount, insertComment } from '../comments/queries'
import type { PullRequest, Review } from '../contract/reviews'
import type { ActionContext } from '../database/action-context'
import { findFailedConstraint } from '../database/constraint-errors'
import { selectWakeResults, type WakeResult } from '../inbox/delivery-queries'
import { armSweep, wakeAgents } from '../inbox/wake'
import { renderText } from '../markdown/render-text'
import { maskCredentials } from '../rules/credential-patterns'
import { guardWriting, writingConstraints } from '../rules/writing'
import { systemAccountId } from '../schema/accounts'
import { queueText } from '../webhooks/queue-queries'
import { deferDeliveries } from '../webhooks/send-actions'
import {
  deleteHeldParts,
  type HeldReview,
  holdPart,
  insertReceivedReview,
  insertReviewItem,
  markPosted,
  type PullRequestOfTrigger,
  type ReviewedThread,
  recordPullNumber,
  recordRun,
  selectHeldParts,
  selectHeldReviews,
  selectReviewedThread,
  toRunKey,
} from './review-queries'

/** What another service sent to a trigger that takes reviews. */
interface SentReview {
  triggerId: string
  event: string
  payload: unknown
  /** Returns what records the delivery, in the batch that starts something for it. */
  record(note: string | null): Statements[string]
}

/** What became of a delivery. `note` says why nothing was started, or when something is. */
interface ReviewResult {
  isStarted: boolean
  note: string | null
}

const reasons = {
  noted: 'It says which branch a pull request has, and starts nothing.',
  noThread: 'No thread that the owner of the trigger reads has this branch from the agent.',
  duplicate: 'It was received before.',
  refused: 'The thread takes no comments, or the owner of the trigger must not write there.',
  held: 'It starts a run with the rest of its review, seconds later.',
}

const ignore = (note: string): ReviewResult => ({ isStarted: false, note })

/**
 * Takes an event of a trigger for reviews. A review of a pull request whose branch the agent pushed becomes a comment of the
 * thread that the branch belongs to, and a task of the agent there, once. A review arrives in parts: they are held
 * until it is complete, and posted by a sweep.
 *
 * @throws what the batch with the record fails with
 */
export async function takeReview(
  context: ActionContext,
  { triggerId, event, payload, record }: SentReview,
): Promise<ReviewResult> {
  const { db, clock, settings } = context
  const delivery = readReview(event, payload)
  if (delivery.kind === 'ignored') return ignore(delivery.reason)
  const pull = toPullOfTrigger(triggerId, delivery.pull)
  const number = isNumberOfHead(delivery.pull) ? recordPullNumber(pull) : null
  if (delivery.kind === 'pull_request') {
    if (number) await run(db, number)
    return ignore(reasons.noted)
  }
  const thread = await run(db, selectReviewedThread({ ...pull, now: clock.now() }))
  if (!thread) return ignore(reasons.noThread)
  const { kind: _, ...review } = delivery
  const masked = { ...review, text: maskCredentials(review.text, settings) }
  const take = review.reviewId === null ? startRun : holdReview
  return take(context, { triggerId, thread, review: masked, number, record }).catch(toRefusal)
}

interface Taken extends Pick<SentReview, 'triggerId' | 'record'> {
  thread: ReviewedThread
  review: Review
  number: ReturnType<typeof recordPullNumber> | null
}

/** Holds a part of a review. The sweep is armed until it knows when the review is complete. */
async function holdReview(
  context: ActionContext,
  { triggerId, thread, review, number, record }: Taken,
): Promise<ReviewResult> {
  const { db, clock, scheduler } = context
  const createdAt = clock.now()
  const commentId = clock.newId<CommentId>()
  const token = await armSweep(context)
  await batch(db, {
    part: holdPart({ triggerId, review, commentId, createdAt }),
    guard: guardReview(thread, createdAt),
    delivery: record(reasons.held),
    number,
  })
  const plan = async () => {
    await scheduler.sweepAt(createdAt + reviewLimits.quietMs)
    if (token !== null) await scheduler.disarm(token, null)
  }
  context.defer(plan())
  return { isStarted: true, note: reasons.held }
}

/** Posts a comment on the pull request, which is whole. */
async function startRun(
  context: ActionContext,
  { triggerId, thread, review, number, record }: Taken,
): Promise<ReviewResult> {
  const { clock } = context
  const createdAt = clock.now()
  const commentId = clock.newId<CommentId>()
  const { key } = review
  const token = await armSweep(context)
  const woken = await postReview(
    context,
    { triggerId, thread, parts: [review], commentId, runKey: key },
    {
      received: insertReceivedReview({ triggerId, reviewKey: key, commentId, createdAt }),
      delivery: record(null),
      number,
    },
  )
  context.defer(wakeAgents(context, woken, token))
  return { isStarted: true, note: null }
}

/** Returns why the batch was refused. @throws any other error */
function toRefusal(error: unknown): ReviewResult {
  const constraint = findFailedConstraint(error)
  if (constraint?.startsWith('received_reviews.')) return ignore(reasons.duplicate)
  if (constraint !== null && constraint in writingConstraints) return ignore(reasons.refused)
  throw error
}

const toPath = (repository: string): string => `github/${repository.toLowerCase()}`

const toPullOfTrigger = (
  triggerId: string,
  { repository, number, head }: PullRequest,
): PullRequestOfTrigger => ({
  triggerId,
  number,
  branch: head?.branch ?? null,
  repository: toPath(head?.repository ?? repository),
})

/** Numbers count the pull requests of one repository; that of a fork's branch is another one's. */
const isNumberOfHead = ({ head, repository }: PullRequest): boolean =>
  head !== null && toPath(head.repository) === toPath(repository)

/** What is posted, and where. */
interface Posting {
  triggerId: string
  thread: ReviewedThread
  parts: readonly [Review, ...Review[]]
  commentId: CommentId
  /** The key of what was received for which the comment may start a run. */
  runKey: string
}

/** Fails a batch when the owner of the trigger must not write in the thread. */
const guardReview = ({ requesterId, communityId, postId }: ReviewedThread, now: number) =>
  guardWriting({
    accountId: requesterId,
    activationId: null,
    communityId,
    now,
    act: 'comment',
    threadId: postId,
  })

/**
 * Writes parts of a review as comments of the thread, which the agent answers in one run. Returns whom it wakes.
 *
 * @param statements of the same batch, which record what was received
 * @throws what the batch fails with, the constraints of the guard among it
 */
async function postReview(
  context: ActionContext,
  { triggerId, thread, parts, commentId, runKey }: Posting,
  statements: Statements,
): Promise<WakeResult[]> {
  const { db, clock, settings, live } = context
  const { postId } = thread
  const now = clock.now()
  const comments = formatReview(parts).map((text, at) => ({
    id: at === 0 ? commentId : clock.newId<CommentId>(),
    itemId: clock.newId<InboxItemId>(),
    content: maskCredentials(text, settings),
  }))
  const cause = { triggerId, reviewKey: runKey, commentId }
  const { wakeResults, isQueued } = await batch(db, {
    ...statements,
    guard: guardReview(thread, now),
    comments: comments.map(({ id, content }) =>
      insertComment({
        id,
        postId,
        parentId: null,
        authorId: systemAccountId,
        content,
        depth: 0,
        upvotes: 0,
        downvotes: 0,
        activationId: null,
        createdAt: now,
        editedAt: null,
        ...renderText('comments', { id, content }).columns,
        deletedAt: null,
        hops: 0,
        removalId: null,
        isUntrusted: true,
      }),
    ),
    count: comments.map(() => incrementCommentCount({ postId })),
    items: comments.map(({ id, itemId }) =>
      insertReviewItem({ id: itemId, thread, commentId: id, at: now, cause }),
    ),
    isQueued: comments.map(({ id }) => queueText({ postId, commentId: id, now })),
    wakeResults: selectWakeResults(
      comments.map(({ itemId }) => itemId),
      now,
    ),
  })
  for (const { id } of comments) {
    context.defer(live.publish(`post:${postId}`, { type: 'comment', id, post_id: postId }))
  }
  deferDeliveries(context, isQueued.includes(true))
  return wakeResults
}

/** The agents to wake for what was posted, and when the next review is complete; null when none is held. */
export interface PostedReviews {
  wake: AccountId[]
  nextAt: number | null
}

/**
 * Posts the reviews that are complete, each as one comment that starts one run. What arrives after that of the same
 * review becomes a comment that starts none.
 *
 * @param held from `selectHeldReviews`
 */
export async function postHeldReviews(
  context: ActionContext,
  held: readonly HeldReview[],
  now: number,
): Promise<PostedReviews> {
  const due = held.filter(({ dueAt }) => isWaitOver(dueAt, now, reviewLimits.heldMs))
  if (due.length === 0) return { wake: [], nextAt: findNext(held) }
  const woken: WakeResult[] = []
  for (const each of due) {
    const found = await postHeldReview(context, each).catch((error: unknown) => {
      context.log.error('failed to post a review', { error })
      return []
    })
    woken.push(...found)
  }
  const nextAt = findNext(await run(context.db, selectHeldReviews()))
  const working = woken.filter(({ isWorkingThere }) => isWorkingThere)
  for (const { accountId } of working) context.defer(context.agents.wake(accountId, true))
  return {
    wake: woken.flatMap((each) => (each.isWorkingThere ? [] : [each.accountId])),
    nextAt: nextAt && Math.max(nextAt, now + reviewLimits.retryMs),
  }
}

const findNext = (held: readonly HeldReview[]): number | null =>
  held.length === 0 ? null : Math.min(...held.map(({ dueAt }) => dueAt))

async function postHeldReview(
  context: ActionContext,
  { triggerId, commentId }: HeldReview,
): Promise<WakeResult[]> {
  const { db, clock } = context
  const parts = takeParts(await run(db, selectHeldParts(commentId)))
  const [first, ...rest] = parts
  // Another sweep has posted it.
  if (!first) return []
  const now = clock.now()
  const pull = toPullOfTrigger(triggerId, first.pull)
  const thread = await run(db, selectReviewedThread({ ...pull, now }))
  const drop = async () => {
    await run(db, deleteHeldParts(triggerId, parts))
    return []
  }
  if (!thread) return drop()
  const runKey = toRunKey(first.reviewId)
  const posting = { triggerId, thread, parts: [first, ...rest] as const, commentId, runKey }
  const statements = {
    run: recordRun({ triggerId, reviewKey: runKey, commentId, createdAt: now }),
    posted: markPosted({ triggerId, parts, commentId, nextId: clock.newId<CommentId>() }),
  }
  return postReview(context, posting, statements).catch((error: unknown) => {
    const constraint = findFailedConstraint(error)
    // Another sweep has posted it.
    if (constraint === 'comments.id') return []
    if (constraint !== null && constraint in writingConstraints) return drop()
    throw error
  })
}

/** Returns the first parts, at least one, up to what is posted at once. */
function takeParts(rows: readonly { part: Review | null }[]): Review[] {
  let chars = 0
  return rows.flatMap(({ part }, at) => {
    if (part === null) return []
    chars += part.text.length
    return at === 0 || chars <= reviewLimits.charsMax ? [part] : []
  })
}

const verbs = {
  approved: 'approved',
  changes_requested: 'requested changes on',
  commented: 'reviewed',
} as const

/** A run reads so much of a comment that joins it. */
const charsMax = steering.charsMax
/** What is quoted in one piece; a head and a place fit beside it. */
const pieceCharsMax = charsMax - 1_000
const piecesMax = 10

/**
 * Returns the comments that a thread shows for parts of a review, in their order: one, unless the parts are longer
 * than a comment. Names that do not look like such are left out, and texts are quoted, so that nothing in them
 * mentions anybody or stands for a text of the hub.
 */
function formatReview(parts: readonly [Review, ...Review[]]): string[] {
  const [first] = parts
  const head = parts.length === 1 || first.place === null ? first : toHead(first)
  const texts = parts.flatMap((part) => {
    const [text, ...rest] = quote(part.text)
    if (text === undefined) return []
    const place = part === head ? null : part.place
    return [place ? `${formatPlace(place)}:\n\n${text}` : text, ...rest]
  })
  const comments = [formatSubject(head) + (texts.length > 0 ? ':' : '.')]
  for (const text of texts) {
    const joined = `${comments.at(-1)}\n\n${text}`
    if (joined.length <= charsMax) comments[comments.length - 1] = joined
    else comments.push(`${formatSubject(toHead(first))}:\n\n${text}`)
  }
  return comments
}

/** A review of which nothing is known but who wrote it. */
const toHead = (part: Review): Review => ({ ...part, state: 'commented', place: null })

/** Who did what to which pull request. */
function formatSubject({ author, state, place, pull }: Review): string {
  const who = /^[\w.-]{1,60}(\[bot\])?$/.test(author) ? `**${author}**` : '**Somebody**'
  const verb = state === null ? 'commented on' : verbs[state]
  const where = place === null ? '' : `${formatPlace(place)} of `
  return `${who} ${verb} ${where}${formatPull(pull)}`
}

const formatPull = ({ repository, number }: Review['pull']): string =>
  /^[\w.-]+\/[\w.-]+$/.test(repository)
    ? `[${repository}#${number}](https://github.com/${repository}/pull/${number})`
    : `pull request ${number}`

function formatPlace({ path, line }: NonNullable<Review['place']>): string {
  const name = /^[^`\p{C}]{1,300}$/u.test(path) ? path : 'a file'
  return `\`${line === null ? name : `${name}:${line}`}\``
}

/** Returns the quoted text in pieces of whole lines, as far as a line is not longer; none of an empty text. */
function quote(text: string): string[] {
  if (text === '') return []
  const pieces: string[] = []
  const lines = text.split(/\r\n|\r|\n/).flatMap((line) => line.match(/.{1,3000}/gsu) ?? [''])
  for (const line of lines) {
    const joined = `${pieces.at(-1)}\n> ${line}`
    if (pieces.length > 0 && joined.length <= pieceCharsMax) pieces[pieces.length - 1] = joined
    else pieces.push(`> ${line}`)
  }
  return pieces.length <= piecesMax ? pieces : [...pieces.slice(0, piecesMax), '> [...]']
}

/** What a delivery means for the hub. */
type Delivery =
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
  event: 'This event is not a review or a comment of a pull request.',
  noText: 'It has no text, so nothing is asked.',
  own: 'A tool of this hub wrote it.',
  author: 'Its author does not belong to the repository.',
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
          key: `line:${at}`,
          reviewId,
          pull: toPull(event),
          place,
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
const readReview = (event: string, body: unknown): Delivery =>
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
