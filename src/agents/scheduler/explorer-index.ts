import type { Explorer } from '../../hub/contract/hub'
import { explorationScheduling } from '../../shared/config'
import type { AccountId } from '../../shared/ids'
import { computeEligibleAt, type StoredExplorer } from './explain'

/**
 * States of an agent in the index. A pick reads only `ready` agents. An agent that reaches the head of
 * its tier before it is eligible becomes `waiting`, so that no pick scans past it again.
 */
const places = {
  /** The backoff has not ended, or the interval was found not to have ended. */
  waiting: 0,
  ready: 1,
  /** The agent has seen all posts and waits for new ones. */
  satisfied: 2,
  /** Paused, or exploration is not enabled. */
  out: 3,
} as const

/**
 * An exploration touches one row and the ends of narrow indexes, so its cost is the same for a
 * thousand agents and for a million.
 */
const schema = [
  `CREATE TABLE IF NOT EXISTS explorers (
    seq INTEGER PRIMARY KEY,
    agent_id TEXT NOT NULL UNIQUE,
    place INTEGER NOT NULL,
    tier INTEGER NOT NULL,
    interval_ms INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    eligible_at INTEGER NOT NULL,
    looked_at INTEGER NOT NULL DEFAULT 0)`,
  `CREATE INDEX IF NOT EXISTS explorers_ready ON explorers (tier, last_at) WHERE place = ${places.ready}`,
  `CREATE INDEX IF NOT EXISTS explorers_waiting ON explorers (eligible_at) WHERE place = ${places.waiting}`,
  `CREATE INDEX IF NOT EXISTS explorers_satisfied ON explorers (looked_at) WHERE place = ${places.satisfied}`,
]

const tiersJson = JSON.stringify(
  Array.from({ length: explorationScheduling.weightTiers }, (_, tier) => tier),
)

const headsSql = `
  SELECT e.seq AS id, e.tier, e.last_at AS lastExploredAt, e.eligible_at AS eligibleAt
  FROM json_each('${tiersJson}') t CROSS JOIN explorers e ON e.seq = (
    SELECT seq FROM explorers WHERE place = ${places.ready} AND tier = t.value
    ORDER BY last_at, seq LIMIT 1)`

const promoteSql = `
  UPDATE explorers SET place = ${places.ready}
  WHERE place = ${places.waiting} AND eligible_at <= ?`

/** Times of before the clock was set back: an agent waits for its interval or the longest backoff, and never longer. */
const boundSql = `
  UPDATE explorers SET eligible_at = ?1 WHERE place = ${places.waiting}
    AND eligible_at > ?1 + ${explorationScheduling.backOffMsMax} AND eligible_at > ?1 + interval_ms`

const parkSql = `UPDATE explorers SET place = ${places.waiting} WHERE seq = ?`

/** Reads of the heads per pick; the next pick continues. */
const roundsMax = 64

type StoredHead = TierHead<number> & { eligibleAt: number }

/** Also sets the next eligible time, in case the end of the exploration is never reported. */
const startSql = `
  UPDATE explorers SET place = ${places.waiting}, eligible_at = ?1 + interval_ms WHERE seq = ?2
  RETURNING agent_id AS agentId, interval_ms AS intervalMs, failures, last_at AS lastExploredAt`

const finishSql = `
  UPDATE explorers SET place = iif(place = ${places.out}, place, ?1), failures = ?2, last_at = ?3,
    eligible_at = ?4, looked_at = ?3
  WHERE seq = ?5`

/** For the end of another activation: the agent goes on waiting for news if it does. */
const delaySql = `
  UPDATE explorers SET place = iif(place IN (${places.out}, ${places.satisfied}), place, ${places.waiting}),
    failures = ?1, eligible_at = ?2
  WHERE seq = ?3`

const putSql = `
  INSERT INTO explorers (agent_id, place, tier, interval_ms, failures, last_at, eligible_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
  ON CONFLICT (agent_id) DO UPDATE SET
    place = CASE WHEN ?2 = ${places.out} THEN ${places.out}
      WHEN place = ${places.out} THEN ${places.waiting}
      WHEN tier = ?3 AND interval_ms = ?4 AND last_at >= ?6 AND failures = ?5 THEN place
      ELSE ${places.waiting} END,
    eligible_at = iif(interval_ms = ?4 AND last_at >= ?6 AND failures = ?5, eligible_at, ?7),
    tier = ?3, interval_ms = ?4, failures = ?5, last_at = max(last_at, ?6)`

type ExplorerRow = { seq: number; intervalMs: number; failures: number; lastExploredAt: number }

/** How an exploration, or any other activation of an agent, ended. */
interface ActivationEnd {
  at: number
  isExploration: boolean
  hasFailed: boolean
  /** The agent explored and has seen all posts. */
  isSatisfied: boolean
}

/**
 * The exploration order in the object's own SQLite. It stores and reads values that pure functions in
 * this folder compute. The whole index can be rebuilt from the hub.
 */
export class ExplorerIndex {
  readonly #sql: SqlStorage
  /** Rows of exploring agents, which saves a lookup by id when the exploration ends. */
  readonly #started = new Map<AccountId, ExplorerRow>()

  constructor(sql: SqlStorage) {
    this.#sql = sql
    for (const statement of schema) sql.exec(statement)
  }

  /** Makes eligible agents ready, then returns the stalest eligible agent of each tier. */
  readHeads(now: number): TierHead<number>[] {
    this.#sql.exec(boundSql, now)
    this.#sql.exec(promoteSql, now)
    let heads: StoredHead[] = []
    for (let round = 0; round < roundsMax; round++) {
      heads = this.#sql.exec<StoredHead & Record<string, SqlStorageValue>>(headsSql).toArray()
      const early = heads.filter(({ eligibleAt }) => eligibleAt > now)
      for (const { id } of early) this.#sql.exec(parkSql, id)
      if (early.length === 0) break
    }
    return heads.filter(({ eligibleAt }) => eligibleAt <= now)
  }

  /** Records that the head's exploration starts, and returns its agent. */
  start({ id }: TierHead<number>, now: number): AccountId {
    const { agentId, ...row } = this.#sql
      .exec<ExplorerRow & { agentId: AccountId }>(startSql, now, id)
      .one()
    this.#started.set(agentId, { ...row, seq: id })
    return agentId
  }

  /**
   * Records how an activation of the agent ended. One that was no exploration changes nothing, unless it
   * failed, ended a series of failures, or ran in place of an exploration.
   */
  finish(agentId: AccountId, end: ActivationEnd): void {
    const { at, isExploration, hasFailed, isSatisfied } = end
    const started = this.#started.get(agentId)
    const row = started ?? this.#find(agentId)
    this.#started.delete(agentId)
    if (!row) return
    const { seq, intervalMs } = row
    const failures = hasFailed ? row.failures + 1 : 0
    const lastExploredAt = isExploration ? at : row.lastExploredAt
    const input = { agentId, lastExploredAt, lastActivatedAt: at, intervalMs, failures }
    const eligibleAt = computeEligibleAt(input)
    if (isExploration) {
      const place = isSatisfied ? places.satisfied : hasFailed ? places.waiting : places.ready
      this.#sql.exec(finishSql, place, failures, at, eligibleAt, seq)
    } else if (started || failures !== row.failures) {
      this.#sql.exec(delaySql, failures, eligibleAt, seq)
    }
  }

  /**
   * Records that the agent found no post: it waits for new posts and for its interval. One that has never explored
   * waits for new posts only, so that its first exploration does not take a whole interval.
   */
  markSatisfied(agentId: AccountId, now: number): void {
    this.#started.delete(agentId)
    this.#sql.exec(
      `UPDATE explorers SET place = ${places.satisfied}, looked_at = ?1,
         eligible_at = ?1 + iif(last_at = 0, min(interval_ms, ?3), interval_ms)
       WHERE agent_id = ?2 AND place <> ${places.out}`,
      now,
      agentId,
      explorationScheduling.firstLooksMs,
    )
  }

  /** Returns an agent whose exploration was refused to the queue, eligible at `eligibleAt`. */
  requeue(agentId: AccountId, eligibleAt: number): void {
    this.#started.delete(agentId)
    this.#sql.exec(
      `UPDATE explorers SET place = ${places.waiting}, eligible_at = ?1
       WHERE agent_id = ?2 AND place <> ${places.out}`,
      eligibleAt,
      agentId,
    )
  }

  /** Requeues satisfied agents that explored before `since`, because there are new posts. */
  requeueSatisfied(since: number): void {
    this.#sql.exec(
      `UPDATE explorers SET place = ${places.waiting} WHERE place = ${places.satisfied} AND looked_at < ?`,
      since,
    )
  }

  /** Inserts or updates an agent from the hub's facts. Its place is kept when nothing has changed. */
  put(facts: Explorer): void {
    const { agentId, intervalMs, consecutiveFailures, lastExploredAt, lastActivatedAt } = facts
    const isOut = facts.isPaused || facts.weight === 0
    this.#started.delete(agentId)
    this.#sql.exec(
      putSql,
      agentId,
      isOut ? places.out : places.waiting,
      tierOf(facts.weight),
      intervalMs,
      consecutiveFailures,
      lastExploredAt,
      computeEligibleAt({
        agentId,
        lastExploredAt,
        lastActivatedAt,
        intervalMs,
        failures: consecutiveFailures,
      }),
    )
  }

  /** Returns when the next waiting agent becomes eligible; null when no agent waits. */
  nextEligibleAt(): number | null {
    return this.#sql
      .exec<{ at: number | null }>(
        `SELECT min(eligible_at) AS at FROM explorers WHERE place = ${places.waiting}`,
      )
      .one().at
  }

  #find(agentId: AccountId): ExplorerRow | undefined {
    return this.#sql
      .exec<ExplorerRow>(
        'SELECT seq, interval_ms AS intervalMs, failures, last_at AS lastExploredAt FROM explorers WHERE agent_id = ?',
        agentId,
      )
      .toArray()[0]
  }

  /** Returns an agent's row; null when the agent doesn't explore. Changes nothing. */
  read(agentId: AccountId): StoredExplorer | null {
    const row = this.#sql
      .exec<Omit<StoredExplorer, 'isSatisfied'> & { place: number }>(
        'SELECT place, last_at AS lastExploredAt, failures, eligible_at AS eligibleAt FROM explorers WHERE agent_id = ?',
        agentId,
      )
      .toArray()[0]
    return row ? { ...row, isSatisfied: row.place === places.satisfied } : null
  }

  clear(): void {
    this.#sql.exec('DELETE FROM explorers')
  }

  isEmpty(): boolean {
    return this.#sql.exec('SELECT 1 FROM explorers LIMIT 1').toArray().length === 0
  }
}

/** The stalest eligible agent of a tier. */
export interface TierHead<Id> {
  id: Id
  tier: number
  /** 0 when the agent never explored: it then precedes all agents of its tier that did. */
  lastExploredAt: number
}

const spread = Math.log(explorationScheduling.weightMax / explorationScheduling.weightMin)
const lastTier = explorationScheduling.weightTiers - 1

/** Returns the tier whose weight is nearest by logarithm; 0 is the lightest. */
export function tierOf(weight: number): number {
  const share =
    Math.log(Math.max(weight, explorationScheduling.weightMin) / explorationScheduling.weightMin) /
    spread
  return Math.min(lastTier, Math.round(share * lastTier))
}

/** Returns the weight of a tier. */
export const tierWeight = (tier: number): number =>
  explorationScheduling.weightMin * Math.exp((spread * tier) / lastTier)

const weights = Array.from({ length: explorationScheduling.weightTiers }, (_, tier) =>
  tierWeight(tier),
)

/** Returns the priority index of an agent: `w * h * (h + 1) / 2`, where h is staleness in slots. */
export const computeIndex = (weight: number, slots: number): number =>
  (weight * slots * (slots + 1)) / 2

/**
 * Returns the head with the highest index; null when there are none. Within a tier the head is the
 * stalest, and the index grows with staleness, so the heads are the only candidates. The heavier tier
 * wins a tie.
 */
export function pick<Id>(
  heads: readonly TierHead<Id>[],
  now: number,
  index: (weight: number, slots: number) => number = computeIndex,
): TierHead<Id> | null {
  let best: TierHead<Id> | null = null
  let bestIndex = -1
  for (const head of heads) {
    const slots = Math.max(0, now - head.lastExploredAt) / explorationScheduling.slotMs
    const value = index(weights[head.tier] ?? 1, slots)
    const isBetter = value > bestIndex || (value === bestIndex && head.tier > (best?.tier ?? -1))
    if (isBetter) {
      best = head
      bestIndex = value
    }
  }
  return best
}
