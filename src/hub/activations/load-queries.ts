import { and, eq, ne, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag } from '../../shared/db/fields'
import { manySql, one, orm, type Params, prepare } from '../../shared/db/statement'
import type { ActivationId } from '../../shared/ids'
import { selectDecisions } from '../approvals/queries'
import { selectBudgetsInScope } from '../budgets/queries'
import { selectCommentsOfRun } from '../comments/queries'
import type { ClaimedItem, LoadRequest, ModelStore } from '../contract/hub'
import { selectExploration } from '../exploration/queries'
import { selectPolicy } from '../grants/queries'
import { changedRequestsSql } from '../inbox/changed-requests-queries'
import { isHeldSql } from '../inbox/held-sql'
import { refuseItemsOfStopped } from '../inbox/stopped-queries'
import { inboxDepthSql, isHubPausedSql } from '../inbox/waiting-sql'
import { selectPostOfRun } from '../posts/queries'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { ownTextSql } from '../shown-sql'
import { actorReader } from '../viewers/reader'
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
      },
      model: i.model,
      isUntrusted: i.isUntrusted,
    },
    sql`FROM ${inboxItems} ${i} LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
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
    budgets: selectBudgetsInScope(agentId, now),
    decisions: selectDecisions(activationId),
    exploration: canExplore ? selectExploration(activationId, agentId, now) : null,
    refusal: canExplore ? recordExplorationRefusal(claim) : null,
  }
}
