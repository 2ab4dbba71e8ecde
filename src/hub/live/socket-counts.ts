import { liveLimits } from '../../shared/config'
import type { SocketOwner } from '../contract/live-event'
import { RecentMap } from '../rate-limits/recent-map'

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
