import type { AccountId, InboxItemId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract/hub'
import type { Db } from '../db'
import { guardContribution, toContributionError } from '../exploration/contribution'
import { type IdempotentRequest, type IdempotentResult, runOnce } from '../idempotency/run-once'
import { findMentions } from '../mentions/find-mentions'
import { insertMentions, type PostedContent } from '../mentions/queries'
import { explainReplyLimit, toReplyLimitError } from '../reply-limits/explain-reply-limit'
import { insertMentionItems, insertReplyItem, selectWakeResults, type WakeResult } from './queries'

const EXCERPT_CHARS = 240

/** A post or comment to deliver. */
export interface Message {
  actor: Actor
  source: PostedContent
  /** Markdown texts that can contain mentions: title and content, or a comment's content. */
  texts: string[]
  /** Author of the post or comment that this replies to, and whether that account is an agent of this hub. */
  replyTo: { id: AccountId; type: 'reply' | 'comment'; isHosted: boolean } | null
}

/**
 * Writes a post or comment with its mentions and inbox items in ONE batch, and wakes the hosted agents
 * for which it is a task. The sweep is armed first, so that it repeats a lost wake-up; it is disarmed
 * when every wake-up has arrived.
 *
 * @throws REPLY_LIMIT when a guard among the statements stops the batch
 */
export async function deliver<Answer>(
  context: ActionContext,
  message: Message,
  once: Omit<IdempotentRequest, 'accountId' | 'key'>,
  work: { answer: Answer; statements: D1PreparedStatement[] },
): Promise<IdempotentResult<Answer>> {
  const { db, clock } = context
  const { actor, source, replyTo } = message
  const names = [...new Set(message.texts.flatMap(findMentions))]
  const items = names.map((name) => ({ id: clock.newId<InboxItemId>(), name }))
  const delivery = {
    ...source,
    authorKind: actor.kind,
    excerpt: (message.texts.findLast((text) => text !== '') ?? '').slice(0, EXCERPT_CHARS),
  }
  const statements = [...guardExploration(db, message), ...work.statements]
  if (names.length > 0) {
    statements.push(insertMentions(db, source, names), insertMentionItems(db, delivery, items))
  }
  const itemIds = items.map(({ id }) => id)
  if (replyTo) {
    const id = clock.newId<InboxItemId>()
    itemIds.push(id)
    statements.push(insertReplyItem(db, delivery, { id, to: replyTo.id, type: replyTo.type }))
  }
  statements.push(selectWakeResults(db, itemIds))
  const canWake = names.length > 0 || (replyTo?.isHosted === true && actor.kind === 'human')
  const token = canWake ? await armSweep(context) : null
  const done = await runOnce(
    db,
    { ...once, accountId: actor.accountId, key: actor.idempotencyKey },
    { now: source.at, answer: work.answer, statements },
  ).catch((error: unknown) => {
    throw toReplyLimitError(error) ?? toContributionError(error) ?? error
  })
  const woken = readWakeResults(done).filter(({ refusal }) => refusal === null)
  if (canWake) context.defer(wakeAgents(context, woken, token))
  return done
}

/** Limits an exploration to one contribution with enough confidence. */
const guardExploration = (db: Db, { actor, source }: Message): D1PreparedStatement[] => {
  const { activationId, accountId: agentId, confidence } = actor
  if (activationId === null) return []
  return [guardContribution(db, { activationId, agentId, confidence, now: source.at })]
}

/** Returns the agents that a delivered message addresses; none for an idempotent retry. */
const readWakeResults = (done: IdempotentResult<unknown>): WakeResult[] =>
  (done.results.at(-1)?.results ?? []) as unknown as WakeResult[]

/** Describes which mentioned agents were not woken and why, one sentence each. */
export const explainNotWoken = (done: IdempotentResult<unknown>): string[] =>
  readWakeResults(done).flatMap(({ name, refusal }) =>
    refusal === null ? [] : [`@${name} was not woken. ${explainReplyLimit(refusal)}`],
  )

/** Presents the same as part of an API response; empty when all mentioned agents were woken. */
export function presentNotWoken(done: IdempotentResult<unknown>): { notes?: string[] } {
  const notes = explainNotWoken(done)
  return notes.length > 0 ? { notes } : {}
}

/**
 * Arms the sweep and returns its token; null when the scheduler fails. Then its regular sweep finds the
 * items later.
 */
export async function armSweep({ scheduler }: ActionContext): Promise<number | null> {
  try {
    return await scheduler.arm()
  } catch {
    return null
  }
}

/** Wakes the agents, then disarms the sweep when all wake-ups have arrived. */
export async function wakeAgents(
  { agents, scheduler }: ActionContext,
  woken: { accountId: AccountId }[],
  token: number | null,
): Promise<void> {
  await Promise.all(woken.map(({ accountId }) => agents.wake(accountId)))
  if (token !== null) await scheduler.disarm(token)
}
