import { turns } from '../../config'
import type { ExplorerFacts } from '../../hub/contract'
import type { AccountId } from '../../ids'
import { computeEligibleAt } from './eligibility'
import { type Head, tierOf } from './pick'

/**
 * Where an agent stands. Only `ready` ones are in the index that a pick reads, so a pick never scans
 * past one that is not eligible (S4).
 */
const places = {
  /** Its interval or back-off has not passed. */
  waiting: 0,
  ready: 1,
  /** It has seen what there is to see: it waits for news. */
  satisfied: 2,
  /** Paused, or its definition does not want it. */
  out: 3,
} as const

const schema = [
  `CREATE TABLE IF NOT EXISTS explorers (
    agent_id TEXT PRIMARY KEY,
    place INTEGER NOT NULL,
    tier INTEGER NOT NULL,
    interval_ms INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    eligible_at INTEGER NOT NULL,
    looked_at INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
  `CREATE INDEX IF NOT EXISTS explorers_ready ON explorers (tier, last_at) WHERE place = ${places.ready}`,
  `CREATE INDEX IF NOT EXISTS explorers_waiting ON explorers (eligible_at) WHERE place = ${places.waiting}`,
  `CREATE INDEX IF NOT EXISTS explorers_satisfied ON explorers (looked_at) WHERE place = ${places.satisfied}`,
]

const tiersJson = JSON.stringify(Array.from({ length: turns.weightTiers }, (_, tier) => tier))

const headsSql = `
  SELECT e.agent_id AS id, e.tier, e.last_at AS lastActivatedAt
  FROM json_each('${tiersJson}') t CROSS JOIN explorers e ON e.agent_id = (
    SELECT agent_id FROM explorers WHERE place = ${places.ready} AND tier = t.value
    ORDER BY last_at, agent_id LIMIT 1)`

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

  constructor(sql: SqlStorage) {
    this.#sql = sql
    for (const statement of schema) sql.exec(statement)
  }

  /** The stalest eligible agent of each tier, after those whose time has come joined theirs. */
  readHeads(now: number): Head<AccountId>[] {
    this.#sql.exec(
      `UPDATE explorers SET place = ${places.ready} WHERE place = ${places.waiting} AND eligible_at <= ?`,
      now,
    )
    return this.#sql.exec(headsSql).toArray() as unknown as Head<AccountId>[]
  }

  /**
   * The agent has its turn. Should nobody hear how it ended, it is eligible again after its interval.
   */
  start(agentId: AccountId, now: number): void {
    this.#sql.exec(
      `UPDATE explorers SET place = ${places.waiting}, eligible_at = ? + interval_ms WHERE agent_id = ?`,
      now,
      agentId,
    )
  }

  finish(agentId: AccountId, { at, hasFailed, isSatisfied }: TurnEnd): void {
    const known = this.#sql
      .exec<{ intervalMs: number; failures: number; place: number }>(
        'SELECT interval_ms AS intervalMs, failures, place FROM explorers WHERE agent_id = ?',
        agentId,
      )
      .toArray()[0]
    if (!known) return
    const failures = hasFailed ? known.failures + 1 : 0
    const turn = { agentId, lastActivatedAt: at, intervalMs: known.intervalMs, failures }
    const place = isSatisfied ? places.satisfied : places.waiting
    this.#sql.exec(
      `UPDATE explorers SET place = ?, failures = ?, last_at = ?, eligible_at = ?, looked_at = ?
       WHERE agent_id = ?`,
      known.place === places.out ? places.out : place,
      failures,
      at,
      computeEligibleAt(turn),
      at,
      agentId,
    )
  }

  /** It looked around and saw nothing: it waits for news, and its interval. */
  satisfy(agentId: AccountId, now: number): void {
    this.#sql.exec(
      `UPDATE explorers SET place = ${places.satisfied}, looked_at = ?, eligible_at = ? + interval_ms
       WHERE agent_id = ? AND place <> ${places.out}`,
      now,
      now,
      agentId,
    )
  }

  /** It could not have its turn: it keeps its age and is eligible again then. */
  putBack(agentId: AccountId, eligibleAt: number): void {
    this.#sql.exec(
      `UPDATE explorers SET place = ${places.waiting}, eligible_at = ?
       WHERE agent_id = ? AND place <> ${places.out}`,
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
    const turn = { ...facts, failures: facts.consecutiveFailures }
    const isOut = facts.isPaused || facts.weight === 0
    this.#sql.exec(
      `INSERT INTO explorers (agent_id, place, tier, interval_ms, failures, last_at, eligible_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
       ON CONFLICT (agent_id) DO UPDATE SET
         place = CASE WHEN ?2 = ${places.out} THEN ${places.out}
           WHEN place = ${places.out} THEN ${places.waiting}
           WHEN tier = ?3 AND interval_ms = ?4 AND last_at >= ?6 AND failures = ?5 THEN place
           ELSE ${places.waiting} END,
         eligible_at = CASE WHEN interval_ms = ?4 AND last_at >= ?6 AND failures = ?5 THEN eligible_at ELSE ?7 END,
         tier = ?3, interval_ms = ?4, failures = ?5, last_at = max(last_at, ?6)`,
      facts.agentId,
      isOut ? places.out : places.waiting,
      tierOf(facts.weight),
      facts.intervalMs,
      facts.consecutiveFailures,
      facts.lastActivatedAt,
      computeEligibleAt(turn),
    )
  }

  /** When the next agent becomes eligible; null when none will by itself. */
  nextEligibleAt(): number | null {
    const row = this.#sql
      .exec<{ at: number | null }>(
        `SELECT min(eligible_at) AS at FROM explorers WHERE place = ${places.waiting}`,
      )
      .one()
    return row.at
  }

  isEmpty(): boolean {
    return this.#sql.exec('SELECT 1 FROM explorers LIMIT 1').toArray().length === 0
  }
}
