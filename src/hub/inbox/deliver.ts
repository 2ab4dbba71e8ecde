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

export interface Message {
  actor: Actor
  saying: Saying
  /** Markdown texts that may mention somebody: title and content, or a comment's content. */
  texts: string[]
  /** Whose words it answers, and whether that account is an agent of this hub. */
  answers: { id: AccountId; type: 'reply' | 'comment'; isHosted: boolean } | null
}

/**
 * Writes what was said, its mentions and its inbox items in ONE batch, and wakes the hosted agents
 * it is a task for (H5). The sweep is armed first, so that a wake-up that gets lost is made up for;
 * it is disarmed when every wake-up arrived.
 *
 * @throws BRAKED when the statements hold a brake that stops them
 */
export async function deliver<Answer>(
  context: ActionContext,
  message: Message,
  once: Omit<OnceKey, 'accountId' | 'key'>,
  work: { answer: Answer; statements: D1PreparedStatement[] },
): Promise<Done<Answer>> {
  const { db, clock } = context
  const { actor, saying, answers } = message
  const names = [...new Set(message.texts.flatMap(findMentions))]
  const items = names.map((name) => ({ id: clock.newId<InboxItemId>(), name }))
  const delivery = {
    ...saying,
    authorKind: actor.kind,
    excerpt: (message.texts.findLast((text) => text !== '') ?? '').slice(0, EXCERPT_CHARS),
  }
  const statements = [...guardTurn(db, message), ...work.statements]
  if (names.length > 0) {
    statements.push(insertMentions(db, saying, names), insertMentionItems(db, delivery, items))
  }
  const itemIds = items.map(({ id }) => id)
  if (answers) {
    const id = clock.newId<InboxItemId>()
    itemIds.push(id)
    statements.push(insertReplyItem(db, delivery, { id, to: answers.id, type: answers.type }))
  }
  statements.push(selectCalled(db, itemIds))
  const mayWake = names.length > 0 || (answers?.isHosted === true && actor.kind === 'human')
  const token = mayWake ? await armSweep(context) : null
  const done = await runOnce(
    db,
    { ...once, accountId: actor.accountId, key: actor.idempotencyKey },
    { now: saying.at, answer: work.answer, statements },
  ).catch((error: unknown) => {
    throw toBrakeError(error) ?? toContributionError(error) ?? error
  })
  const woken = readCalled(done).filter(({ refusal }) => refusal === null)
  if (mayWake) context.defer(wakeAll(context, woken, token))
  return done
}

/** Who looks around says one thing, and only when sure (S9). */
const guardTurn = (db: Db, { actor, saying }: Message): D1PreparedStatement[] => {
  const { activationId, accountId: agentId, confidence } = actor
  if (activationId === null) return []
  return [guardContribution(db, { activationId, agentId, confidence, now: saying.at })]
}

/** Whom a message that was delivered calls; nobody for a replay. */
const readCalled = (done: Done<unknown>): CalledAgent[] =>
  (done.results.at(-1)?.results ?? []) as unknown as CalledAgent[]

/** Which agents it did not call although it mentions them, and why, in sentences (H11). */
export const explainUncalled = (done: Done<unknown>): string[] =>
  readCalled(done).flatMap(({ name, refusal }) =>
    refusal === null ? [] : [`@${name} was not woken. ${explainBrake(refusal)}`],
  )

/** The same as part of an answer of the API; nothing when everybody was called. */
export function presentUncalled(done: Done<unknown>): { notes?: string[] } {
  const notes = explainUncalled(done)
  return notes.length > 0 ? { notes } : {}
}

/** Without a scheduler the message still goes in: its slow sweep finds the items later. */
export async function armSweep({ scheduler }: ActionContext): Promise<number | null> {
  try {
    return await scheduler.arm()
  } catch {
    return null
  }
}

export async function wakeAll(
  { agents, scheduler }: ActionContext,
  woken: { accountId: AccountId }[],
  token: number | null,
): Promise<void> {
  await Promise.all(woken.map(({ accountId }) => agents.wake(accountId)))
  if (token !== null) await scheduler.disarm(token)
}
