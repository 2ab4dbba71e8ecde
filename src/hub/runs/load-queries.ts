import { and, eq, ne, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { steering } from '../../shared/config'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { ActivationId } from '../../shared/ids'
import { selectDecisions } from '../approvals/queries'
import { selectBudgetsInScope } from '../budgets/queries'
import { selectCommentsOfRun } from '../comments/queries'
import type {
  AccountKind,
  ClaimedItem,
  LoadRequest,
  ModelStore,
  RenewRequest,
  SteerRequest,
} from '../contract/hub'
import { selectPolicy } from '../grants/queries'
import { changedRequestsSql, refuseItemsOfStopped } from '../inbox/stop-queries'
import { seenImagesSql } from '../media/queries'
import { selectPostOfRun } from '../posts/queries'
import { isListedSql } from '../rules/follow-sql'
import { headroomOf, headroomSql } from '../rules/payers-sql'
import { canReadPostSql } from '../rules/readable-sql'
import { isCommentShownSql, ownTextSql } from '../rules/shown-sql'
import {
  holdsSql,
  inboxDepthSql,
  isForGuestSql,
  isHeldSql,
  isHubPausedSql,
  requestersOfItemSql,
  unreadItemsSql,
} from '../rules/waiting-sql'
import { selectExploration } from '../scheduling/exploration-queries'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { agents } from '../schema/definitions'
import { directMessages } from '../schema/dms'
import { inboxItems } from '../schema/inbox'
import { comments } from '../schema/posts'
import { actorReader, type Reader } from '../viewers/reader'
import {
  type Claim,
  claimDecision,
  claimItems,
  claimTask,
  claimTaskOrExploration,
  isBlockedByReservedSlotsSql,
  recordExplorationRefusal,
  recordRequesters,
  resumeParked,
} from './claim-queries'

const c = alias(accounts, 'c')
const g = alias(agents, 'g')
const x = alias(activations, 'x')
const other = alias(activations, 'other')
const i = alias(inboxItems, 'i')
const f = alias(accounts, 'f')
const saver = alias(accounts, 'saver')
const d = alias(directMessages, 'd')
const sent = alias(directMessages, 'sent')

/** The activation that a request created, or the parked one that it resumed. */
const ownIdSql = ({ activationId }: Params<Pick<Claim, 'activationId'>>): SQL =>
  sql`coalesce((SELECT ${activations.id} FROM ${activations} WHERE ${activations.resumedBy} = ${activationId}), ${activationId})`

/** Selects the agent, its activation `own` of this request, and the `other` one that runs. */
const prepareState = ({ connectionsSql }: ModelStore) =>
  prepare((v: Params<Claim>) =>
    one(
      orm
        .select({
          name: c.name,
          description: c.description,
          version: g.definitionVersion,
          etag: g.definitionEtag,
          /** By an admin, until its provider is back, or because its account is disabled, banned or muted. */
          isPaused: flag(isHeldSql(g, c, v.now)),
          own: {
            id: x.id,
            state: x.state,
            resumedBy: x.resumedBy,
            cancelRequestedAt: x.cancelRequestedAt,
            admission: x.admission,
            task: x.task,
            model: x.model,
            deadlineAt: x.deadlineAt,
            reservedMicrousd: x.reservedMicrousd,
            reservedTokens: x.reservedTokens,
          },
          other: {
            id: other.id,
            deadlineAt: other.deadlineAt,
            reservedMicrousd: other.reservedMicrousd,
            reservedTokens: other.reservedTokens,
            model: other.model,
            models: other.models,
          },
          isHubPaused: flag(sql`${isHubPausedSql}`),
          connections: sql<string | null>`CASE WHEN ${g.readsProviders} THEN ${connectionsSql} END`,
          running: sql<number>`(SELECT count(*) FROM ${activations} WHERE ${activations.state} = 'running')`,
          inboxDepth: inboxDepthSql(v.agentId),
          changedRequests: changedRequestsSql(v.agentId),
          /** Whether a slot is free but reserved for exploration. */
          isKeptOut: flag(sql`${x.id} IS NULL AND ${isBlockedByReservedSlotsSql(v)}`),
        })
        .from(g)
        .innerJoin(c, eq(c.id, g.accountId))
        .leftJoin(x, eq(x.id, ownIdSql(v)))
        .leftJoin(
          other,
          and(
            eq(other.agentId, v.agentId),
            sql`${other.state} = 'running'`,
            ne(other.id, ownIdSql(v)),
          ),
        )
        .where(eq(g.accountId, v.agentId)),
    ),
  )

type StateStatement = ReturnType<typeof prepareState>
const states = new WeakMap<ModelStore, StateStatement>()

/** Prepares the statement once for each store, of which an isolate has one. */
function selectState(models: ModelStore): StateStatement {
  const known = states.get(models) ?? prepareState(models)
  states.set(models, known)
  return known
}

const person = (account: typeof c | typeof f) => ({
  id: account.id,
  name: account.name,
  kind: account.kind,
})

const selectItems = prepare(({ activationId }: Params<{ activationId: ActivationId }>) =>
  manySql(
    {
      item: {
        id: i.id,
        type: sql<ClaimedItem['type']>`${i.type}`,
        from: person(f),
        postId: i.postId,
        commentId: i.commentId,
        content: ownTextSql(i),
        createdAt: i.createdAt,
        isFollowUp: flag(sql`${i.cause} IS NOT NULL`),
        savedBy: nullable(saver.name),
        images: seenImagesSql(d),
        request: i.request,
      },
      model: i.model,
      isUntrusted: i.isUntrusted,
    },
    sql`FROM ${inboxItems} ${i} LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
      LEFT JOIN ${accounts} ${saver} ON ${saver.id} = ${i.savedBy}
      LEFT JOIN ${directMessages} ${d} ON ${d.id} = (SELECT ${sent.id} FROM ${directMessages} ${sent}
        WHERE ${sent.conversationId} = ${i.conversationId} AND ${sent.createdAt} = ${i.createdAt}
          AND ${sent.authorId} = ${i.fromAccountId})
    WHERE ${i.claimedBy} = ${activationId} AND ${i.joinedAt} IS NULL ORDER BY ${i.createdAt}, ${i.id}`,
  ),
)

/** Returns the statements of LOAD as one batch: writes that claim, then reads of what was claimed. */
export function loadStatements(request: LoadRequest, models: ModelStore) {
  const { activationId, agentId, now, capacity, canExplore, explorationFloor = 0 } = request
  const reader = actorReader({ accountId: agentId, activationId })
  const claim = { activationId, agentId, now, capacity, floor: explorationFloor, reader }
  return {
    stopped: refuseItemsOfStopped({ agentId, now }),
    resume: resumeParked(claim),
    claimDecision: claimDecision(claim),
    claim: canExplore ? claimTaskOrExploration(claim) : claimTask(claim),
    claimItems: claimItems(claim),
    requesters: recordRequesters(claim),
    state: selectState(models)(claim),
    items: selectItems(claim),
    post: selectPostOfRun({ activationId, reader }),
    comments: selectCommentsOfRun({ activationId, reader }),
    policy: selectPolicy(agentId, activationId),
    budgets: selectBudgetsInScope({ agentId, now }),
    decisions: selectDecisions({ requestId: activationId }),
    exploration: canExplore ? selectExploration({ activationId, agentId, now }) : null,
    refusal: canExplore ? recordExplorationRefusal(claim) : null,
  }
}

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

const prepareRenewState = (models: ModelStore) =>
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

type RenewStateStatement = ReturnType<typeof prepareRenewState>
const renewStates = new WeakMap<ModelStore, RenewStateStatement>()

/** Prepares the statement once for each store, of which an isolate has one. */
export function selectRenewState(models: ModelStore): RenewStateStatement {
  const known = renewStates.get(models) ?? prepareRenewState(models)
  renewStates.set(models, known)
  return known
}

const m = alias(comments, 'm')
const w = alias(accounts, 'w')

const itemsMax = sql.raw(String(steering.itemsMax))
const charsMax = sql.raw(String(steering.charsMax))

/**
 * Claims for a running activation what its requesters wrote to the agent in its thread since it was loaded, and
 * what moderators wrote there. Items of anybody else wait: their rights are not those of the run. A run that was
 * stopped takes no more: what its requester writes then is for the next one.
 */
const joinItems = prepare((v: Params<SteerRequest>) =>
  write(
    updateSet(
      inboxItems,
      { claimedBy: v.activationId, joinedAt: v.now },
      sql`WHERE ${inboxItems.id} IN (
        SELECT ${i.id} FROM ${unreadItemsSql(i)}
          JOIN ${activations} ${x} ON ${x.id} = ${v.activationId} AND ${x.agentId} = ${v.agentId}
            AND ${x.state} = 'running' AND ${x.cancelRequestedAt} IS NULL
            AND ${x.postId} = ${i.postId} AND ${x.task} IN ('mention', 'reply')
          JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId} AND ${f.kind} = 'human'
        WHERE ${i.accountId} = ${v.agentId} AND ${i.readAt} IS NULL AND ${i.claimedBy} IS NULL AND ${i.commentId} IS NOT NULL
          AND ((${i.isTask} = 1 AND ${i.type} IN ('mention', 'reply') AND ${i.requesters} IS NULL
              AND ${isListedSql(i.fromAccountId, x.requesters)})
            OR (${i.cause} = 'moderation' AND ${i.createdAt} >= ${x.startedAt}))
        ORDER BY ${i.createdAt}, ${i.id} LIMIT ${itemsMax})`,
    ),
  ),
)

const steeringFields = {
  id: i.id,
  /** The requester, or the hub itself for a text from outside that the requester vouches for. */
  from: {
    id: f.id,
    name: sql<string>`coalesce(${w.name}, ${f.name})`,
    kind: sql<AccountKind>`coalesce(${w.kind}, ${f.kind})`,
  },
  commentId: i.commentId,
  text: sql<string>`coalesce(substr(${m.content}, 1, ${charsMax}), '')`,
  isModeration: flag(sql`${i.cause} IS NOT NULL AND ${i.cause} = 'moderation'`),
  isUntrusted: flag(
    sql`(${i.isUntrusted} = 1 OR coalesce(${i.cause}, '') = 'moderation' OR ${isForGuestSql(requestersOfItemSql(i))})`,
  ),
}

const selectJoined = prepare((v: Params<{ activationId: ActivationId; reader: Reader }>) =>
  manySql(
    steeringFields,
    sql`FROM ${inboxItems} ${i} JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
      LEFT JOIN ${comments} ${m} ON ${m.id} = ${i.commentId} AND ${isCommentShownSql(m)}
        AND ${canReadPostSql(i.postId, v.reader)}
      LEFT JOIN ${accounts} ${w} ON ${w.id} = ${m.authorId} AND ${w.kind} = 'system'
      WHERE ${i.claimedBy} = ${v.activationId} AND ${i.joinedAt} IS NOT NULL AND ${i.readAt} IS NULL
      ORDER BY ${i.createdAt}, ${i.id}`,
  ),
)

type Row = RowOf<typeof steeringFields>

/** Returns the statements that take comments into a running activation: a claim, then all that joined so far. */
export function steerStatements({ agentId, activationId, now }: SteerRequest): {
  join: Statement<void>
  steering: Statement<Row[]>
} {
  const reader = actorReader({ accountId: agentId, activationId })
  return {
    join: joinItems({ agentId, activationId, now }),
    steering: selectJoined({ activationId, reader }),
  }
}
