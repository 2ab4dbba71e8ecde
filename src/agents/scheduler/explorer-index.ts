import { turns } from '../../config'
import type { ExplorerFacts } from '../../hub/contract'
import type { AccountId } from '../../ids'
import { computeEligibleAt } from './eligibility'
import type { Stored } from './explain'
import { type Head, tierOf } from './pick'

/**
 * Where an agent stands. Only `ready` ones are in the index that a pick reads. An agent that comes to
 * the head of its tier before it is eligible leaves that index until it is, so no pick scans past it
 * again (S4).
 */
const places = {
  /** Its back-off, or its interval as far as anybody looked, has not passed. */
  waiting: 0,
  ready: 1,
  /** It has seen what there is to see: it waits for news. */
  satisfied: 2,
  /** Paused, or its definition does not want it. */
  out: 3,
} as const

/**
 * A turn touches one row and the ends of narrow indexes, so that its cost stays the same from a
 * thousand agents to a million (S8).
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

const tiersJson = JSON.stringify(Array.from({ length: turns.weightTiers }, (_, tier) => tier))

const headsSql = `
  SELECT e.seq AS id, e.tier, e.last_at AS lastActivatedAt, e.eligible_at AS eligibleAt
  FROM json_each('${tiersJson}') t CROSS JOIN explorers e ON e.seq = (
    SELECT seq FROM explorers WHERE place = ${places.ready} AND tier = t.value
    ORDER BY last_at, seq LIMIT 1)`

const promoteSql = `
  UPDATE explorers SET place = ${places.ready}
  WHERE place = ${places.waiting} AND eligible_at <= ?`

const parkSql = `UPDATE explorers SET place = ${places.waiting} WHERE seq = ?`

/** A pick looks so many times at the heads; the next one goes on where it stopped. */
const roundsMax = 64

type StoredHead = Head<number> & { eligibleAt: number }

/** Should nobody hear how the turn ended, the agent is eligible again after its interval. */
const startSql = `
  UPDATE explorers SET place = ${places.waiting}, eligible_at = ?1 + interval_ms WHERE seq = ?2
  RETURNING agent_id AS agentId, interval_ms AS intervalMs, failures`

const finishSql = `
  UPDATE explorers SET place = iif(place = ${places.out}, place, ?1), failures = ?2, last_at = ?3,
    eligible_at = ?4, looked_at = ?3
  WHERE seq = ?5`

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

type Known = { seq: number; intervalMs: number; failures: number }

/** How an agent's turn, or any other activation of it, ended. */
export interface TurnEnd {
  at: number
  hasFailed: boolean
  /** It looked around and there is nothing more for it to see. */
  isSatisfied: boolean
}

/**
 * The exploration order in the object's own SQLite (S2, S8). It stores and looks up; what it stores
 * comes from the pure functions beside it. All of it can be made again from the hub.
 */
export class ExplorerIndex {
  readonly #sql: SqlStorage
  /** Of those whose turn is under way: spares a search by name when it ends. */
  readonly #started = new Map<AccountId, Known>()

  constructor(sql: SqlStorage) {
    this.#sql = sql
    for (const statement of schema) sql.exec(statement)
  }

  /** The stalest eligible agent of each tier, after those whose time has come joined theirs. */
  readHeads(now: number): Head<number>[] {
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

  /** The agent has its turn. */
  start({ id }: Head<number>, now: number): AccountId {
    const { agentId, ...known } = this.#sql
      .exec<Known & { agentId: AccountId }>(startSql, now, id)
      .one()
    this.#started.set(agentId, { ...known, seq: id })
    return agentId
  }

  finish(agentId: AccountId, { at, hasFailed, isSatisfied }: TurnEnd): void {
    const known = this.#started.get(agentId) ?? this.#find(agentId)
    this.#started.delete(agentId)
    if (!known) return
    const failures = hasFailed ? known.failures + 1 : 0
    const turn = { agentId, lastActivatedAt: at, intervalMs: known.intervalMs, failures }
    const place = isSatisfied ? places.satisfied : hasFailed ? places.waiting : places.ready
    this.#sql.exec(finishSql, place, failures, at, computeEligibleAt(turn), known.seq)
  }

  /** It looked around and saw nothing: it waits for news, and its interval. */
  satisfy(agentId: AccountId, now: number): void {
    this.#started.delete(agentId)
    this.#sql.exec(
      `UPDATE explorers SET place = ${places.satisfied}, looked_at = ?1, eligible_at = ?1 + interval_ms
       WHERE agent_id = ?2 AND place <> ${places.out}`,
      now,
      agentId,
    )
  }

  /** It could not have its turn: it keeps its age and is eligible again then. */
  putBack(agentId: AccountId, eligibleAt: number): void {
    this.#started.delete(agentId)
    this.#sql.exec(
      `UPDATE explorers SET place = ${places.waiting}, eligible_at = ?1
       WHERE agent_id = ?2 AND place <> ${places.out}`,
      eligibleAt,
      agentId,
    )
  }

  /** Something new is to be seen since then: who looked before waits for its turn again. */
  announceNews(since: number): void {
    this.#sql.exec(
      `UPDATE explorers SET place = ${places.waiting} WHERE place = ${places.satisfied} AND looked_at < ?`,
      since,
    )
  }

  /** What the hub knows of an agent. Its place is kept when nothing has changed. */
  put(facts: ExplorerFacts): void {
    const { agentId, intervalMs, consecutiveFailures, lastActivatedAt } = facts
    const isOut = facts.isPaused || facts.weight === 0
    this.#started.delete(agentId)
    this.#sql.exec(
      putSql,
      agentId,
      isOut ? places.out : places.waiting,
      tierOf(facts.weight),
      intervalMs,
      consecutiveFailures,
      lastActivatedAt,
      computeEligibleAt({ agentId, lastActivatedAt, intervalMs, failures: consecutiveFailures }),
    )
  }

  /** When the next agent becomes eligible; null when none will by itself. */
  nextEligibleAt(): number | null {
    return this.#sql
      .exec<{ at: number | null }>(
        `SELECT min(eligible_at) AS at FROM explorers WHERE place = ${places.waiting}`,
      )
      .one().at
  }

  #find(agentId: AccountId): Known | undefined {
    return this.#sql
      .exec<Known>(
        'SELECT seq, interval_ms AS intervalMs, failures FROM explorers WHERE agent_id = ?',
        agentId,
      )
      .toArray()[0]
  }

  /** What is kept of an agent; null when it has no turns. Changes nothing. */
  read(agentId: AccountId): Stored | null {
    const row = this.#sql
      .exec<{ place: number; lastAt: number; eligibleAt: number }>(
        'SELECT place, last_at AS lastAt, eligible_at AS eligibleAt FROM explorers WHERE agent_id = ?',
        agentId,
      )
      .toArray()[0]
    return row ? { ...row, isSatisfied: row.place === places.satisfied } : null
  }

  isEmpty(): boolean {
    return this.#sql.exec('SELECT 1 FROM explorers LIMIT 1').toArray().length === 0
  }
}
