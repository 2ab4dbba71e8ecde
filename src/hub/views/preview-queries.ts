import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import type { Answers } from '../../shared/db/batch'
import { flag, nullable } from '../../shared/db/fields'
import { manySql, oneSql, type Params, prepare } from '../../shared/db/statement'
import {
  connectedServicesSql,
  requestersSql,
  storedPolicyColumns,
  toolsVersionSql,
} from '../grants/queries'
import {
  followUpTargetsSql,
  isWorkingSql,
  mentionedSql,
  mentionTargetsSql,
  replyTargetSql,
} from '../inbox/delivery-queries'
import type { Reach } from '../inbox/reach'
import { commentLimitSql, postLimitSql } from '../moderation/reply-limit-queries'
import { type PersonAnswer, personSql } from '../rules/people-sql'
import { canReadSql } from '../rules/readable-sql'
import { countAgentRepliesSql, externalHopsSql, limitsSql } from '../rules/reply-limits-sql'
import { holdsSql, isHubPausedSql } from '../rules/waiting-sql'
import { writingRefusalSql } from '../rules/writing'
import { selectAdmissionsOf, selectPayingBudgetsOf } from '../runs/claim-queries'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { grantPolicies } from '../schema/approvals'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { comments, posts } from '../schema/posts'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { type Reader, requestReader } from '../viewers/reader'
import { selectHubState } from './board-queries'

/** A text that is not posted yet. */
export interface Draft {
  /** Names that it mentions, in their order. */
  names: string[]
  /** How far it reaches agents that it does not name. */
  reach: Reach
  /** Where it will be: a community, or a thread and the comment that it replies to. */
  place:
    | { community: string; postId: null }
    | { community: null; postId: string; parentId: string | null }
}

interface Values extends ViewerValues {
  reader: Reader
  /** JSON list. */
  names: string
  reach: Reach
  /** '' for a comment. */
  community: string
  /** '' for a post. */
  postId: string
  parentId: string
}

const a = alias(accounts, 'a')
const c = alias(communities, 'c')
const g = alias(agents, 'g')
const p = alias(posts, 'p')
const parent = alias(comments, 'parent')
const d = alias(grantPolicies, 'd')
const o = alias(grantPolicies, 'o')
const x = alias(activations, 'x')
/** The alias of the task in a claim. */
const first = alias(inboxItems, 'first')

const viewerIdSql = sql`(SELECT id FROM viewer)`
const viewerKindSql = sql`(SELECT kind FROM viewer)`
const communityIdSql = sql`(SELECT community_id FROM place)`
const threadIdSql = sql`(SELECT thread_id FROM place)`

/**
 * The viewer, and `place`: the community, thread, comment and author that the text will be in or reply to; no
 * row when the viewer does not read it.
 */
const placeCte = (v: Params<Values>): SQL => sql`${viewerCte(v)},
  place AS (
    SELECT ${c.id} AS community_id, NULL AS thread_id, NULL AS parent_id, NULL AS reply_to FROM ${communities} ${c}
    WHERE ${v.postId} = '' AND ${c.name} = ${v.community} AND ${canReadSql(c.id, v.reader)}
    UNION ALL
    SELECT ${p.communityId}, ${p.id}, iif(${parent.depth} >= ${sql.raw(String(limits.comment.depthMax))}, ${parent.parentId}, ${parent.id}),
      coalesce(${parent.authorId}, ${p.authorId})
    FROM ${posts} ${p} LEFT JOIN ${comments} ${parent} ON ${parent.id} = ${v.parentId} AND ${parent.postId} = ${p.id}
      AND ${parent.deletedAt} IS NULL
    WHERE ${p.id} = ${v.postId} AND ${p.deletedAt} IS NULL AND (${v.parentId} = '' OR ${parent.id} IS NOT NULL)
      AND ${canReadSql(p.communityId, v.reader)})`

/** An agent's text has one hop more than what it follows from, and counts as one of the agents' comments. */
const addressing = (v: Params<Values>) => ({
  authorId: viewerIdSql,
  authorKind: viewerKindSql,
  at: sql`${v.now}`,
  communityId: communityIdSql,
  hops: sql`iif(${viewerKindSql} = 'agent', 1 + coalesce(
    ${externalHopsSql({ post: threadIdSql, parent: sql`(SELECT parent_id FROM place)` }, viewerIdSql)}, 0), 0)`,
  written: sql`(${countAgentRepliesSql(threadIdSql)} + (${threadIdSql} IS NOT NULL))`,
})

/** A comment that is not stored yet. */
const threadText = (v: Params<Values>) => ({
  ...addressing(v),
  postId: threadIdSql,
  commentId: sql.raw("''"),
})

/** Number of the author that a comment replies to, behind all mentions. */
const replyNth = sql.raw(String(limits.mentionsPerItemMax * 100))

const isCommentSql = sql`(SELECT thread_id IS NOT NULL FROM place)`
const parentAuthorSql = sql`(SELECT CASE WHEN parent_id IS NOT NULL THEN reply_to END FROM place)`

/** The accounts that the text will reach, as `targets`, from the selects of delivery. */
const targetsCte = (v: Params<Values>): SQL => {
  const stored = mentionedSql(v.names)
  const mentioned = sql`SELECT nth, NULL AS item_id, account_id FROM (${stored})`
  const joins = sql`(${isCommentSql} AND ${viewerKindSql} = 'human' AND json_array_length(${v.names}) = 1
    AND EXISTS (SELECT 1 FROM ${accounts} ${a} WHERE ${a.id} = to_id
      AND ${isWorkingSql({ postId: threadIdSql, authorId: viewerIdSql }, true)}))`
  const reply = replyTargetSql(threadText(v), {
    to: sql`(SELECT reply_to FROM place)`,
    type: sql`iif((SELECT parent_id FROM place) IS NULL, 'comment', 'reply')`,
    isSilent: sql`(${v.reach} <> 'open')`,
    isMentioned: sql`${a.id} IN (SELECT account_id FROM (${stored}))`,
  })
  const followUps = followUpTargetsSql(threadText(v), {
    parentAuthorId: parentAuthorSql,
    hasMention: sql`EXISTS (SELECT 1 FROM (${stored}))`,
    isTaken: sql`${a.id} IN (SELECT to_id FROM replied WHERE answers)`,
  })
  return sql`${placeCte(v)},
  replied AS MATERIALIZED (SELECT * FROM (${reply}) WHERE ${isCommentSql}),
  targets AS MATERIALIZED (
    SELECT nth, to_id, 'mention' AS cause, answers, refusal, ${joins} AS joins
    FROM (${mentionTargetsSql(addressing(v), mentioned)})
    UNION ALL
    SELECT ${replyNth}, to_id, 'reply', answers OR refusal IS NOT NULL, refusal, answers AND is_working FROM replied
    UNION ALL
    SELECT ${replyNth} + 1, to_id, 'follow_up', answers, NULL, is_working FROM (${followUps})
    WHERE ${isCommentSql} AND ${viewerKindSql} = 'human' AND ${v.reach} = 'open')`
}

const noRunSql = sql.raw('NULL')

/** Selects for whom and where the text will be, and why it would not be posted. */
const selectPlace = prepare((v: Params<Values>) =>
  oneSql(
    {
      communityId: sql<string>`community_id`,
      limits: { hopLimit: sql<number>`l.hop_limit`, replyLimit: sql<number>`l.reply_limit` },
      requester: sql`(SELECT ${personSql(viewer)} FROM ${viewer})`.mapWith(
        (json: string): PersonAnswer => JSON.parse(json),
      ) as SQL<PersonAnswer>,
      connected: connectedServicesSql(viewerIdSql),
      /** The name of a constraint, whose error says why. */
      refusal: sql<string | null>`coalesce(${writingRefusalSql({
        accountId: viewerIdSql,
        activationId: noRunSql,
        communityId: communityIdSql,
        act: sql`iif(thread_id IS NULL, 'post', 'comment')`,
        threadId: sql`thread_id`,
        now: v.now,
      })}, CASE WHEN ${viewerKindSql} <> 'agent' THEN NULL
        WHEN thread_id IS NULL THEN ${postLimitSql({ agentId: viewerIdSql, activationId: noRunSql, now: v.now })}
        ELSE ${commentLimitSql({ agentId: viewerIdSql, activationId: noRunSql, now: v.now, postId: threadIdSql, communityId: communityIdSql })} END)`,
    },
    sql`FROM place CROSS JOIN ${limitsSql(communityIdSql)} WHERE EXISTS (SELECT 1 FROM viewer)`,
    placeCte(v),
  ),
)

/** Selects the accounts that the text will address, agents of this hub with what decides about their runs. */
const selectTargets = prepare((v: Params<Values>) => {
  const holds = holdsSql(g, v.now)
  return manySql(
    {
      id: a.id,
      name: a.name,
      account: personSql(a),
      cause: sql<'mention' | 'reply' | 'follow_up'>`t.cause`,
      /** An agent that works in the thread for the author reads it in that run. */
      joins: flag(sql`t.joins`),
      answers: flag(sql`t.answers`),
      refusal: sql<string | null>`t.refusal`,
      /** Null for an account that this hub does not run. */
      model: nullable(g.model),
      etag: nullable(g.definitionEtag),
      tokensMax: nullable(g.activationTokensMax),
      isPaused: flag(holds.isPaused),
      isStopped: flag(holds.isStopped),
      awaitsProvider: flag(holds.awaitsProvider),
      isHubPaused: flag(sql`${isHubPausedSql}`),
      isRunning: flag(
        sql`EXISTS (SELECT 1 FROM ${activations} ${x} WHERE ${x.agentId} = ${a.id} AND ${x.state} = 'running')`,
      ),
      requested: nullable(g.grants),
      default: storedPolicyColumns(d),
      own: storedPolicyColumns(o),
      toolsVersion: toolsVersionSql,
      /** The author as a requester, for whom lines of the policy hold. */
      requesters: requestersSql(
        sql`json_array(${viewerIdSql})`,
        sql`coalesce(${o.named}, ${d.named}, '{}')`,
      ),
      owner: requestersSql(
        sql`iif(${a.ownerId} IS NULL, '[]', json_array(${a.ownerId}))`,
        sql`coalesce(${o.named}, ${d.named}, '{}')`,
      ),
    },
    sql`FROM targets t JOIN ${accounts} ${a} ON ${a.id} = t.to_id LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      LEFT JOIN ${grantPolicies} ${d} ON ${d.accountId} = '*' LEFT JOIN ${grantPolicies} ${o} ON ${o.accountId} = ${a.id}
      ORDER BY t.nth`,
    targetsCte(v),
  )
})

/** The tasks that the text will create, for the claims of all agents that it wakes. */
const asked = (v: Params<Values>) => ({
  agentId: first.accountId,
  now: v.now,
  task: sql`SELECT t.nth, t.to_id AS account_id, NULL AS id, iif(t.cause = 'mention', 'mention', 'reply') AS type, NULL AS task, ${threadIdSql} AS post_id,
      NULL AS model, NULL AS activation_id, NULL AS priority, NULL AS conversation_id,
      ${viewerIdSql} AS from_account_id, NULL AS requesters
    FROM targets t WHERE t.answers AND t.refusal IS NULL AND NOT t.joins`,
  place: { communityId: communityIdSql, candidate: sql`first.nth * 1000 + m.key` },
  before: targetsCte(v),
})

const selectAdmissions = prepare((v: Params<Values>) => selectAdmissionsOf(asked(v)))
const selectPayingBudgets = prepare((v: Params<Values>) => selectPayingBudgetsOf(asked(v)))

/** Returns the reads that say what posting a text would do. */
export const previewStatements = (draft: Draft, credential: Credential | null, now: number) => {
  const { place } = draft
  const values: Values = {
    ...viewerValues(credential, now),
    reader: requestReader(credential, now),
    names: JSON.stringify(draft.names),
    reach: draft.reach,
    community: place.community?.replace(/^m\//i, '') ?? '',
    postId: place.postId ?? '',
    parentId: (place.postId !== null && place.parentId) || '',
  }
  return {
    place: selectPlace(values),
    targets: selectTargets(values),
    admissions: selectAdmissions(values),
    budgets: selectPayingBudgets(values),
    hub: selectHubState(now),
  }
}

export type PreviewFacts = Answers<ReturnType<typeof previewStatements>>
export type PreviewTarget = PreviewFacts['targets'][number]
