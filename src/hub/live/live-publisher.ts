import { liveLimits, rateCounting } from '../../shared/config'
import { run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { AccountId } from '../../shared/ids'
import type { Log } from '../../shared/log'
import { isOfAccountOrKey, type LiveEvent, type SocketOwner } from '../contract/live-event'
import type { ActionContext, LivePublisher } from '../database/action-context'
import { RecentMap } from '../http/rate-counting'
import type { LiveObject } from './live-object'
import { nameOf, toLiveObjectName, toLiveRequest } from './live-request'
import { endWatching, selectWatchedAgents } from './queries'

/** Creates the publisher of live events. Delivery is best effort: a failed publish is ignored. */
export function createLivePublisher(
  namespace: DurableObjectNamespace<LiveObject>,
): Required<LivePublisher> {
  const counts = new SocketCounts(rateCounting.subjectsMax)
  const getObject = (topic: string) => namespace.getByName(toLiveObjectName(topic))
  const listObjects = () =>
    Array.from({ length: liveLimits.objects }, (_, index) => namespace.getByName(nameOf(index)))
  return {
    publish: async (topic, event) => {
      try {
        return await getObject(topic).publish(topic, event as LiveEvent)
      } catch {
        // The watchers reload the page when they reconnect.
        return true
      }
    },
    connect: (topic, snapshot, request, tags = []) =>
      getObject(topic).fetch(toLiveRequest({ topic, snapshot, tags }, request)),
    changeSubscription: (topic, postId, isWanted) =>
      getObject(topic).changeSubscription(topic, postId, isWanted),
    disconnect: async (tags) => {
      await Promise.all(listObjects().map((object) => object.disconnect(tags)))
    },
    announceStop: async () => {
      await Promise.all(listObjects().map((object) => object.announceStop()))
    },
    admit: (owner, now, countOnAgents, upgrade) => {
      const count = async () => {
        const held = listObjects().map(async (object) => object.countSockets(owner.tag))
        return sum(await Promise.all([...held, countOnAgents()]))
      }
      return counts.open(owner, now, count, upgrade)
    },
  }
}

const sum = (numbers: number[]): number => numbers.reduce((total, each) => total + each, 0)

/** Publishes to a topic that can have watchers, and notes when there turned out to be none. */
export async function publishToWatchers(
  { live, db, clock }: Pick<ActionContext, 'live' | 'db' | 'clock'>,
  topic: string,
  event: LiveEvent,
): Promise<void> {
  const isWatched = await live.publish(topic, event)
  if (!isWatched) await run(db, endWatching(topic, clock.now()))
}

/**
 * Closes the open sockets with any of the tags, of live pages, runs and runners; for a moment none with them can
 * be opened. The next request of their owners is checked anyway, so a failure is logged only.
 */
export async function closeSockets(
  { db, live, agents, log }: ActionContext,
  tags: string[],
): Promise<void> {
  if (tags.length === 0) return
  // A runner belongs to no community.
  const runnerTags = tags.filter(isOfAccountOrKey)
  await settle(log, [
    live.disconnect?.(tags),
    runnerTags.length === 0 ? null : agents.runners.disconnect(runnerTags),
    forWatchedAgents(db, (agentId) => agents.disconnect(agentId, tags)),
  ])
}

/** Closes all open sockets with 1001 and ends the turns of runs, because the hub is about to stop. A failure is logged only. */
export const announceStop = ({ db, live, agents, log }: ActionContext): Promise<void> =>
  settle(log, [
    live.announceStop?.(),
    agents.runners.announceStop(),
    agents.endTurns(),
    forWatchedAgents(db, (agentId) => agents.announceStop(agentId)),
  ])

async function settle(log: Log, closing: unknown[]): Promise<void> {
  for (const result of await Promise.allSettled(closing)) {
    if (result.status === 'rejected') log.error('failed to close sockets', { error: result.reason })
  }
}

async function forWatchedAgents(
  db: Db,
  close: (agentId: AccountId) => Promise<void>,
): Promise<void> {
  const watched = await run(db, selectWatchedAgents())
  await Promise.all(watched.map(({ agentId }) => close(agentId)))
}

/**
 * Makes a change after which some watchers may read less. Their sockets are closed before it, so that none
 * receives an event of after it, and after it, so that none stays open that was allowed before. Those who
 * still read connect again.
 *
 * @param tags of the watchers; none: nobody reads less
 */
export async function changeAccess<Result>(
  context: ActionContext,
  tags: string[],
  change: () => Promise<Result>,
): Promise<Result> {
  await closeSockets(context, tags)
  const result = await change()
  await closeSockets(context, tags)
  return result
}

/**
 * Admits upgrades of accounts and addresses up to their limit. This isolate adds up what it admits, which costs nothing;
 * at the limit the objects that hold the sockets are asked how many there are, which are right after any crash. So the
 * limit is exact where one isolate opens all sockets. Where several do, each object refuses what is over the limit on
 * its own.
 */
export class SocketCounts {
  readonly #owners: RecentMap<OwnerCount>

  /** @param ownersMax of which the counts are kept */
  constructor(ownersMax: number) {
    this.#owners = new RecentMap(ownersMax)
  }

  /**
   * Runs an upgrade when its owner may have one more socket; else returns null.
   *
   * @param count asks how many sockets of the owner are open
   */
  async open<Answer>(
    { tag, max }: SocketOwner,
    now: number,
    count: () => Promise<number>,
    upgrade: () => Promise<Answer>,
  ): Promise<Answer | null> {
    const owner = this.#owners.get(tag) ?? { openMax: 0, opening: 0, admitted: 0, recountAt: 0 }
    this.#owners.set(tag, owner)
    if (owner.openMax >= max && !(await recount(owner, max, now, count))) return null
    owner.openMax++
    owner.admitted++
    owner.opening++
    try {
      return await upgrade()
    } finally {
      owner.opening--
    }
  }
}

/** What is known of the sockets of one owner. */
interface OwnerCount {
  /** At least as many as are open: those that were closed since are found by counting again. */
  openMax: number
  /** Upgrades that were admitted and have no answer yet. */
  opening: number
  /** All upgrades that were admitted. */
  admitted: number
  /** When a full count is counted again, in milliseconds since the Unix epoch. */
  recountAt: number
}

/** Returns whether there is room after all. */
async function recount(
  owner: OwnerCount,
  max: number,
  now: number,
  count: () => Promise<number>,
): Promise<boolean> {
  if (now < owner.recountAt) return false
  owner.recountAt = now + liveLimits.recountMs
  // Upgrades that are in flight, and those admitted meanwhile, may be missing in the answer.
  const { admitted, opening } = owner
  owner.openMax = (await count()) + opening + (owner.admitted - admitted)
  if (owner.openMax >= max) return false
  owner.recountAt = 0
  return true
}
