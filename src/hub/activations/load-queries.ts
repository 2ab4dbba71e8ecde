import { and, eq, ne, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag } from '../../shared/db/fields'
import { manySql, one, oneSql, orm, type Params, prepare } from '../../shared/db/statement'
import type { ActivationId } from '../../shared/ids'
import { isGuestCommentSql, isGuestSql } from '../accounts/guest-sql'
import { selectDecisions } from '../approvals/queries'
import { selectBudgetsInScope } from '../budgets/queries'
import { canReadPostSql, canReadSql } from '../communities/readable-sql'
import type { ClaimedItem, LoadRequest } from '../contract/hub'
import { selectExploration } from '../exploration/queries'
import { recordExplorationRefusal } from '../exploration/share-sql'
import { selectPolicy } from '../grants/queries'
import { inboxDepthSql, isHubPausedSql } from '../inbox/waiting-sql'
import { awaitsProviderSql } from '../outages/wait-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { comments } from '../schema/comments'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { actorReader, type Reader } from '../viewers/reader'
import {
  type Claim,
  claimDecision,
  claimItems,
  claimTask,
  claimTaskOrExploration,
  isBlockedByReservedSlotsSql,
  recordRequesters,
  resumeParked,
} from './claim-queries'

/** Newest comments included in the prompt, besides the ancestors of the comments that mention the agent. */
const newestCommentsMax = 50

const c = alias(accounts, 'c')
const g = alias(agents, 'g')
const x = alias(activations, 'x')
const other = alias(activations, 'other')
const i = alias(inboxItems, 'i')
const f = alias(accounts, 'f')
const p = alias(posts, 'p')
const m = alias(communities, 'm')
const u = alias(accounts, 'u')
const n = alias(comments, 'n')

/** The activation that a request created, or the parked one that it resumed. */
const ownIdSql = ({ activationId }: Params<Pick<Claim, 'activationId'>>): SQL =>
  sql`coalesce((SELECT ${activations.id} FROM ${activations} WHERE ${activations.resumedBy} = ${activationId}), ${activationId})`

/** Selects the agent, its activation `own` of this request, and the `other` one that runs. */
const selectState = prepare((v: Params<Claim>) =>
  one(
    orm
      .select({
        name: c.name,
        description: c.description,
        version: g.definitionVersion,
        etag: g.definitionEtag,
        /** By an admin, or until its provider is back. */
        isPaused: flag(sql`${g.isPaused} OR ${awaitsProviderSql(g.accountId)}`),
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
        running: sql<number>`(SELECT count(*) FROM ${activations} WHERE ${activations.state} = 'running')`,
        inboxDepth: inboxDepthSql(v.agentId),
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

const person = (account: typeof c | typeof f | typeof u) => ({
  id: account.id,
  name: account.name,
  kind: account.kind,
})

interface LoadedBy {
  activationId: ActivationId
  reader: Reader
}

const selectItems = prepare(({ activationId, reader }: Params<LoadedBy>) =>
  manySql(
    {
      item: {
        id: i.id,
        type: sql<ClaimedItem['type']>`${i.type}`,
        from: person(f),
        postId: i.postId,
        commentId: i.commentId,
        content: sql<string>`iif(${canReadPostSql(i.postId, reader)}, ${i.content}, '')`,
        createdAt: i.createdAt,
      },
      model: i.model,
    },
    sql`FROM ${inboxItems} ${i} LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
    WHERE ${i.claimedBy} = ${activationId} ORDER BY ${i.createdAt}, ${i.id}`,
  ),
)

const selectPost = prepare(({ activationId, reader }: Params<LoadedBy>) =>
  oneSql(
    {
      post: {
        id: p.id,
        community: m.name,
        author: person(u),
        title: p.title,
        content: p.content,
        url: p.url,
        createdAt: p.createdAt,
        isLocked: p.isLocked,
      },
      commentCount: p.commentCount,
      isFromGuest: isGuestSql(u),
      communityId: m.id,
      visibility: m.visibility,
    },
    sql`FROM ${activations} ${x} JOIN ${posts} ${p} ON ${p.id} = ${x.postId}
    JOIN ${communities} ${m} ON ${m.id} = ${p.communityId} JOIN ${accounts} ${u} ON ${u.id} = ${p.authorId}
    WHERE ${x.id} = ${activationId} AND ${p.deletedAt} IS NULL AND ${canReadSql(p.communityId, reader)}`,
  ),
)

const selectComments = prepare(({ activationId, reader }: Params<LoadedBy>) =>
  manySql(
    {
      id: n.id,
      parentId: n.parentId,
      author: person(u),
      content: n.content,
      createdAt: n.createdAt,
      isFromGuest: isGuestCommentSql(n, u),
    },
    sql`FROM ${comments} ${n} JOIN ${accounts} ${u} ON ${u.id} = ${n.authorId}
    WHERE ${n.id} IN (SELECT id FROM path UNION SELECT id FROM newest) AND ${n.deletedAt} IS NULL
      AND ${canReadPostSql(n.postId, reader)}
    ORDER BY ${n.createdAt}, ${n.id}`,
    sql`WITH RECURSIVE path (id, parent_id) AS (
      SELECT ${n.id}, ${n.parentId} FROM ${inboxItems} ${i} JOIN ${comments} ${n} ON ${n.id} = ${i.commentId}
        WHERE ${i.claimedBy} = ${activationId}
      UNION SELECT ${n.id}, ${n.parentId} FROM path JOIN ${comments} ${n} ON ${n.id} = path.parent_id
    ), newest (id) AS (
      SELECT ${n.id} FROM ${activations} ${x} JOIN ${comments} ${n} ON ${n.postId} = ${x.postId}
        WHERE ${x.id} = ${activationId} AND ${n.deletedAt} IS NULL
        ORDER BY ${n.createdAt} DESC, ${n.id} DESC LIMIT ${newestCommentsMax}
    )`,
  ),
)

/** Returns the statements of LOAD as one batch: writes that claim, then reads of what was claimed. */
export function loadStatements(request: LoadRequest) {
  const { activationId, agentId, now, capacity, canExplore, explorationFloor = 0 } = request
  const reader = actorReader({ accountId: agentId, activationId })
  const claim = { activationId, agentId, now, capacity, floor: explorationFloor, reader }
  return {
    resume: resumeParked(claim),
    claimDecision: claimDecision(claim),
    claim: canExplore ? claimTaskOrExploration(claim) : claimTask(claim),
    claimItems: claimItems(claim),
    requesters: recordRequesters(claim),
    state: selectState(claim),
    items: selectItems(claim),
    thread: selectPost(claim),
    comments: selectComments(claim),
    policy: selectPolicy(agentId, activationId),
    budgets: selectBudgetsInScope(agentId, now),
    decisions: selectDecisions(activationId),
    exploration: canExplore ? selectExploration(activationId, agentId, now) : null,
    refusal: canExplore ? recordExplorationRefusal(claim) : null,
  }
}
