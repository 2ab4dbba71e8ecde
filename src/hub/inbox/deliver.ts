import type { AccountId, InboxItemId } from '../../ids'
import type { ActionContext } from '../action-context'
import { explainBrake, toBrakeError } from '../brakes/explain-brake'
import type { Actor } from '../contract'
import type { Db } from '../db'
import { guardContribution, toContributionError } from '../exploration/contribution'
import { type Done, type OnceKey, runOnce } from '../idempotency/run-once'
import { findMentions } from '../mentions/find-mentions'
import { insertMentions, type Saying } from '../mentions/queries'
import { type CalledAgent, insertMentionItems, insertReplyItem, selectCalled } from './queries'

const EXCERPT_CHARS = 240

/** A post or comment to deliver. */
export interface Message {
  actor: Actor
  saying: Saying
  /** Markdown texts that can contain mentions: title and content, or a comment's content. */
  texts: string[]
  /** Author of the post or comment that this replies to, and whether that account is an agent of this hub. */
  answers: { id: AccountId; type: 'reply' | 'comment'; isHosted: boolean } | null
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
  once: Omit<OnceKey, 'accountId' | 'key'>,
  work: { answer: Answer; statements: D1PreparedStatement[] },
): Promise<Done<Answer>> {
  const { db, clock } = context
  const { actor, saying: source, answers: replyTo } = message
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
  statements.push(selectCalled(db, itemIds))
  const canWake = names.length > 0 || (replyTo?.isHosted === true && actor.kind === 'human')
  const token = canWake ? await armSweep(context) : null
  const done = await runOnce(
    db,
    { ...once, accountId: actor.accountId, key: actor.idempotencyKey },
    { now: source.at, answer: work.answer, statements },
  ).catch((error: unknown) => {
    throw toBrakeError(error) ?? toContributionError(error) ?? error
  })
  const woken = readWakeResults(done).filter(({ refusal }) => refusal === null)
  if (canWake) context.defer(wakeAll(context, woken, token))
  return done
}

/** Limits an exploration to one contribution with enough confidence. */
const guardExploration = (db: Db, { actor, saying: source }: Message): D1PreparedStatement[] => {
  const { activationId, accountId: agentId, confidence } = actor
  if (activationId === null) return []
  return [guardContribution(db, { activationId, agentId, confidence, now: source.at })]
}

/** Returns the agents that a delivered message addresses; none for an idempotent retry. */
const readWakeResults = (done: Done<unknown>): CalledAgent[] =>
  (done.results.at(-1)?.results ?? []) as unknown as CalledAgent[]

/** Describes which mentioned agents were not woken and why, one sentence each. */
export const explainUncalled = (done: Done<unknown>): string[] =>
  readWakeResults(done).flatMap(({ name, refusal }) =>
    refusal === null ? [] : [`@${name} was not woken. ${explainBrake(refusal)}`],
  )

/** Presents the same as part of an API response; empty when all mentioned agents were woken. */
export function presentUncalled(done: Done<unknown>): { notes?: string[] } {
  const notes = explainUncalled(done)
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
export async function wakeAll(
  { agents, scheduler }: ActionContext,
  woken: { accountId: AccountId }[],
  token: number | null,
): Promise<void> {
  await Promise.all(woken.map(({ accountId }) => agents.wake(accountId)))
  if (token !== null) await scheduler.disarm(token)
}
