import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
import { oneSql, type Params, prepare, write } from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { ActivationId } from '../../shared/ids'
import { headroomOf, headroomSql } from '../budgets/scope-sql'
import type { ModelStore, RenewRequest } from '../contract/hub'
import { holdsSql } from '../inbox/held-sql'
import { inboxDepthSql, isHubPausedSql } from '../inbox/waiting-sql'
import { activations } from '../schema/activations'
import { agents } from '../schema/definitions'

/** Values of a renewal: the amounts spent, wanted, needed at least, and held by calls in flight. */
export interface Extension {
  activationId: ActivationId
  now: number
  spentMicrousd: number
  spentTokens: number
  wantMicrousd: number
  wantTokens: number
  floorMicrousd: number
  floorTokens: number
  heldMicrousd: number
  heldTokens: number
  /** JSON list; null leaves the models unchanged. */
  models: string | null
}

const x = alias(activations, 'x')
const g = alias(agents, 'g')
const r = headroomOf('r')
const noTokensMax = sql.raw(String(Number.MAX_SAFE_INTEGER))

/**
 * Records the amount spent, and extends the reservation for one more call when the budget allows: to the
 * amount spent so far plus `min(wanted, free)`. Otherwise everything but the amount spent and what calls in flight
 * hold is released while this activation waits, so that waiting activations never block each other. While a row runs,
 * `cost_microusd` and `input_tokens` hold the amount spent.
 *
 * A late renewal, from a run that another run has taken over, changes nothing (`spent` only grows) or
 * repeats the current state (a reservation that fits never shrinks).
 *
 * `models` are the models called since the last settlement and the one about to be called: the budgets
 * of all of them are charged from now on.
 */
export const extend = prepare((v: Params<Extension>) =>
  write(
    updateSet(
      activations,
      {
        costMicrousd: v.spentMicrousd,
        inputTokens: v.spentTokens,
        models: sql`room.models`,
        reservedAt: sql`room.at`,
        reservedMicrousd: sql`CASE WHEN room.fits
          THEN min(room.free_microusd, max(${activations.reservedMicrousd}, ${v.spentMicrousd} + ${v.wantMicrousd}))
          ELSE max(${v.spentMicrousd}, min(${activations.reservedMicrousd}, ${v.spentMicrousd} + ${v.heldMicrousd})) END`,
        reservedTokens: sql`CASE WHEN room.fits
          THEN min(room.free_tokens, max(${activations.reservedTokens}, ${v.spentTokens} + ${v.wantTokens}))
          ELSE max(${v.spentTokens}, min(${activations.reservedTokens}, ${v.spentTokens} + ${v.heldTokens})) END`,
      },
      sql`FROM (SELECT ask.models, ask.at, ${r.freeMicrousd}, ${r.freeTokens},
          ask.has_tokens AND ${r.leftMicrousd} > ${v.spentMicrousd} AND ${r.leftTokens} > ${v.spentTokens}
            AND ${r.freeMicrousd} - ${v.spentMicrousd} >= ${v.floorMicrousd}
            AND ${r.freeTokens} - ${v.spentTokens} >= ${v.floorTokens} AS fits
        FROM ask JOIN (${headroomSql}) r ON ${r.candidate} = ask.candidate) AS room
      WHERE ${activations.id} = ${v.activationId} AND ${activations.state} = 'running'
        AND ${activations.costMicrousd} <= ${v.spentMicrousd} AND ${activations.inputTokens} <= ${v.spentTokens}`,
      sql`WITH ask AS MATERIALIZED (
        SELECT ${x.id}, max(${v.now}, ${x.reservedAt}) AS at, 0 AS candidate, ${x.agentId}, ${x.communityId},
          ${x.priority}, ${x.requesters}, ${x.payers}, ${x.isForGuest}, coalesce(${v.models}, ${x.models}) AS models,
          ${x.settledTokens} + ${v.spentTokens} < coalesce(${g.activationTokensMax}, ${noTokensMax}) AS has_tokens
        FROM ${activations} ${x} JOIN ${agents} ${g} ON ${g.accountId} = ${x.agentId}
        WHERE ${x.id} = ${v.activationId})`,
    ),
  ),
)

const room = headroomOf('room')

type Renewal = Pick<RenewRequest, 'activationId' | 'agentId' | 'now'>

const stateFields = ({ agentId, now }: Params<Renewal>, { connectionsSql }: ModelStore) => ({
  /** The model providers that admins set up; null when there are none. */
  connections: sql<string | null>`CASE WHEN ${g.readsProviders} THEN ${connectionsSql} END`,
  state: x.state,
  reservedMicrousd: x.reservedMicrousd,
  reservedTokens: x.reservedTokens,
  spentMicrousd: x.costMicrousd,
  spentTokens: x.inputTokens,
  /** Tokens of calls that were settled when the activation was parked. */
  settledTokens: x.settledTokens,
  /** Token limit for all calls of one activation; null: only the loop's own limit applies. */
  tokensMax: g.activationTokensMax,
  /** By an admin, or because its account is disabled, banned or muted. */
  isPaused: flag(sql`${holdsSql(g, now).isPaused} OR ${holdsSql(g, now).isStopped}`),
  isHubPaused: flag(sql`${isHubPausedSql}`),
  leftMicrousd: sql<number>`coalesce(${room.leftMicrousd}, 0)`,
  leftTokens: sql<number>`coalesce(${room.leftTokens}, 0)`,
  freeMicrousd: sql<number>`coalesce(${room.freeMicrousd}, 0)`,
  freeTokens: sql<number>`coalesce(${room.freeTokens}, 0)`,
  running: sql<number>`(SELECT count(*) FROM ${activations} WHERE ${activations.state} = 'running')`,
  inboxDepth: inboxDepthSql(agentId),
})

/** The activation's row after a renewal, with what its budgets leave. */
export type StateRow = RowOf<ReturnType<typeof stateFields>>

const prepareState = (models: ModelStore) =>
  prepare((v: Params<Renewal>) =>
    oneSql(
      stateFields(v, models),
      sql`FROM ask ${x} JOIN ${agents} ${g} ON ${g.accountId} = ${x.agentId}
    LEFT JOIN (${headroomSql}) AS room ON ${room.candidate} = x.candidate`,
      sql`WITH ask AS MATERIALIZED (
      SELECT *, max(${v.now}, ${activations.reservedAt}) AS at, 0 AS candidate
      FROM ${activations} WHERE ${activations.id} = ${v.activationId})`,
    ),
  )

type StateStatement = ReturnType<typeof prepareState>
const states = new WeakMap<ModelStore, StateStatement>()

/** Prepares the statement once for each store, of which an isolate has one. */
export function selectState(models: ModelStore): StateStatement {
  const known = states.get(models) ?? prepareState(models)
  states.set(models, known)
  return known
}
