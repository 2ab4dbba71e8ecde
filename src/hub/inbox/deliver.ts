import { following, replyLimits } from '../../shared/config'
import type { Statement } from '../../shared/db/statement'
import type { AccountId, InboxItemId } from '../../shared/ids'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { type IdempotentRequest, type IdempotentResult, runOnce } from '../database/run-once'
import { selectIsTopicWatched } from '../live/queries'
import { deferMail } from '../mail/send-actions'
import { replyLimitConstraints } from '../rules/reply-limits'
import { writingConstraints } from '../rules/writing'
import { actorReader } from '../viewers/reader'
import { queueText } from '../webhooks/queue-queries'
import { deferDeliveries } from '../webhooks/send-actions'
import {
  contributionConstraints,
  countRefusedMentions,
  guardContribution,
  insertFollowUpItems,
  insertMentionItems,
  insertMentions,
  insertReplyItem,
  type PostedContent,
  selectWakeResults,
  type WakeResult,
} from './delivery-queries'
import { deferPushes } from './push-actions'
import { queuePushes } from './push-queries'
import { type MentionedNames, selectUnreached, type UnreachedName } from './queries'
import { type Reach, readReach } from './reach'
import { type StoppedRun, stopStatements, type WithdrawnQuestion } from './stop-queries'
import { armSweep, wakeAgents } from './wake'

/** A post or comment to deliver. */
export interface Message {
  actor: Actor
  source: PostedContent
  /** Title and content of a post, or a comment's content. */
  texts: string[]
  /** Names that the texts mention, in lower case. */
  names: string[]
  /** Author of the post or comment that this replies to, and whether that account is an agent of this hub. */
  replyTo: { id: AccountId; type: 'reply' | 'comment'; isHosted: boolean } | null
  /** When it becomes news for exploring agents; null when it does not, or when no agent explores. */
  newsAt: number | null
  /** The topic whose watchers are notified; null for none. */
  topic: string | null
  /** What the author asks where the texts are data of another service; absent: the texts ask. */
  request?: string
  /** Whether agents were asked in the thread, which a person's comment can reach without their names. */
  hasRuns?: boolean
}

/** Result of a delivery, with the agents that it addresses; none for an idempotent retry. */
export type Delivered<Answer> = IdempotentResult<
  Answer,
  {
    readonly wakeResults: Statement<WakeResult[]>
    readonly unreached: Statement<UnreachedName[]> | null
    readonly stopped: Statement<StoppedRun[]> | null
    readonly withdrawn: Statement<WithdrawnQuestion[]> | null
    readonly isWatched: Statement<boolean> | null
    readonly isQueued: Statement<boolean>
  }
>

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
  work: { answer: Answer; statements: readonly Statement<unknown>[] },
): Promise<Delivered<Answer>> {
  const { db } = context
  const { actor, source } = message
  const names = [...new Set(message.names)]
  const reach = findReach(message)
  const { items, itemIds } = createItems(context, message, names, reach)
  const stop = reach === 'stop' ? stopStatements(toStop(message)) : null
  const canWake = names.length > 0 || canWakeUnnamed(message, reach)
  const token = canWake ? await armSweep(context) : null
  const done = await runOnce(
    db,
    { ...once, accountId: actor.accountId, key: actor.idempotencyKey },
    {
      now: source.at,
      answer: work.answer,
      statements: {
        contribution: guardExploration(message),
        work: work.statements,
        mentions: names.length > 0 ? insertMentions(source, names) : null,
        items,
        isPushed: itemIds.length > 0 ? queuePushes(itemIds, source.at) : null,
        isQueued: queueText({ ...source, now: source.at, itemIds }),
        stop: stop?.writes ?? [],
        wakeResults: selectWakeResults(itemIds, source.at),
        unreached: names.length > 0 ? selectUnreached(toMentionedNames(message, names)) : null,
        isWatched: message.topic === null ? null : selectIsTopicWatched(message.topic),
        stopped: stop?.stopped ?? null,
        withdrawn: stop?.withdrawn ?? null,
      },
      constraints,
    },
  )
  const stopped = done.results?.stopped ?? []
  const ending = stopped.flatMap((run) => (run.isParked ? [{ accountId: run.agentId }] : []))
  const woken = readWakeResults(done).filter(({ refusal }) => refusal === null)
  const { disarmed, newsAt } = findAnnounced(done, message, token)
  if (canWake) context.defer(wakeAgents(context, [...woken, ...ending], disarmed, newsAt))
  else if (newsAt !== null) context.defer(context.scheduler.announceNews(newsAt))
  deferPushes(context, done.results?.isPushed ?? false)
  deferMail(context, done.results?.isQueued)
  deferDeliveries(context, done.results?.isQueued)
  const running = stopped.filter(({ isParked }) => !isParked)
  if (running.length > 0) context.defer(cancelRuns(context, running))
  return done
}

const toMentionedNames = (
  { actor, source: { postId, commentId, at } }: Message,
  names: readonly string[],
): MentionedNames => ({ postId, commentId, names, reader: actorReader(actor), now: at })

/** Returns whether a message can wake agents that it does not name. */
const canWakeUnnamed = ({ actor, replyTo }: Message, reach: Reach | null): boolean =>
  reach === 'open' ||
  reach === 'stop' ||
  (replyTo?.isHosted === true && actor.kind === 'human' && reach !== 'silent')

/**
 * Returns what to disarm and to announce. A duplicate does not know whom it addressed, so the sweep stays armed
 * and finds them; its news was announced before.
 */
const findAnnounced = (
  { isDuplicate }: Delivered<unknown>,
  { newsAt }: Message,
  token: number | null,
): { disarmed: number | null; newsAt: number | null } =>
  isDuplicate ? { disarmed: null, newsAt: null } : { disarmed: token, newsAt }

const constraints = {
  ...writingConstraints,
  ...contributionConstraints,
  ...replyLimitConstraints(replyLimits.defaults),
}

/**
 * Returns how far the message reaches agents that it does not name; null when no agent has run in the thread, or an
 * agent writes, which always needs a mention. A stop also concerns agents that have not started there.
 */
function findReach({ actor, source, texts, hasRuns }: Message): Reach | null {
  if (actor.kind !== 'human' || source.commentId === null) return null
  const reach = readReach(texts[0] ?? '')
  if (hasRuns || reach === 'stop') return reach
  return reach === 'open' ? null : 'silent'
}

const toStop = ({ source, replyTo }: Message) => ({
  ...source,
  parentAuthorId: replyTo?.type === 'reply' ? replyTo.id : null,
})

/** Asks agents to stop. An agent that cannot be reached goes on; a second stop asks again. */
const cancelRuns = ({ agents }: ActionContext, runs: StoppedRun[]): Promise<unknown> =>
  Promise.allSettled(runs.map(({ id, agentId }) => agents.cancel(agentId, id)))

/**
 * Creates the inbox items of a message: those of its mentions, that of the account it replies to, then those
 * of the agents that it reaches without their names.
 */
function createItems(
  { clock }: ActionContext,
  { actor, source, replyTo, request: asked }: Message,
  names: string[],
  reach: Reach | null,
): { items: Statement<void>[]; itemIds: InboxItemId[] } {
  const request = asked ?? null
  const { kind: authorKind, activationId, hasReadUntrusted: isUntrusted = false } = actor
  const delivery = { ...source, authorKind, activationId, isUntrusted, request }
  const mentioned = names.map((name) => ({ id: clock.newId<InboxItemId>(), name }))
  const itemIds = mentioned.map(({ id }) => id)
  const items: Statement<void>[] = []
  if (names.length > 0) items.push(insertMentionItems(delivery, mentioned))
  if (names.length > 0 && actor.kind === 'agent') {
    const { postId, commentId, at } = source
    items.push(countRefusedMentions({ postId, commentId, at, runningId: null }))
  }
  if (replyTo) {
    const id = clock.newId<InboxItemId>()
    itemIds.push(id)
    const isSilent = reach === 'silent' || reach === 'stop'
    items.push(insertReplyItem(delivery, { id, to: replyTo.id, type: replyTo.type, isSilent }))
  }
  if (reach === 'open') {
    const ids = Array.from({ length: following.agentsMax }, () => clock.newId<InboxItemId>())
    const parentAuthorId = replyTo?.type === 'reply' ? replyTo.id : null
    itemIds.push(...ids)
    items.push(insertFollowUpItems({ ...delivery, parentAuthorId }, ids))
  }
  return { items, itemIds }
}

/** Limits an exploration to one contribution with enough confidence; null outside of an activation. */
const guardExploration = ({ actor, source }: Message): Statement<void> | null => {
  const { activationId, accountId: agentId, confidence } = actor
  if (activationId === null) return null
  return guardContribution({ activationId, agentId, confidence, now: source.at })
}

const readWakeResults = (done: Delivered<unknown>): WakeResult[] => done.results?.wakeResults ?? []
