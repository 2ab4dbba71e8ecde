import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { exploration } from '../../shared/config'
import { flag, type RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare, type Statement } from '../../shared/db/statement'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { AccountKind } from '../contract/hub'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { comments } from '../schema/comments'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { explorers } from '../schema/exploration'
import { posts } from '../schema/posts'
import { isCommentShownSql, isPostShownSql } from '../shown-sql'
import { canCommentSql, candidatesSql, canPostSql, type ExplorerOperands } from './discover-sql'

const a = alias(accounts, 'a')
const c = alias(comments, 'c')
const e = alias(explorers, 'e')
const g = alias(agents, 'g')
const m = alias(communities, 'm')
const p = alias(posts, 'p')
const u = alias(accounts, 'u')
const x = alias(activations, 'x')

interface CandidateComment {
  id: AccountId
  name: string
  kind: AccountKind
  content: string
}

const newestCommentsSql = sql<CandidateComment[]>`
  (SELECT json_group_array(json_object('id', n.author_id, 'name', n.name, 'kind', n.kind, 'content', n.content))
    FROM (SELECT * FROM (
      SELECT ${c.authorId}, ${a.name}, ${a.kind}, substr(${c.content}, 1, ${exploration.commentChars}) AS content,
        ${c.createdAt}, ${c.id}
      FROM ${comments} ${c} JOIN ${accounts} ${a} ON ${a.id} = ${c.authorId}
      WHERE ${c.postId} = ${p.id} AND ${isCommentShownSql(c)}
      ORDER BY ${c.createdAt} DESC, ${c.id} DESC LIMIT ${exploration.commentsShown})
      ORDER BY created_at, id) n)`
  .inlineParams()
  .mapWith((list: string): CandidateComment[] => JSON.parse(list))

const explorationFields = (explorer: ExplorerOperands) => ({
  postId: p.id,
  community: m.name,
  authorId: u.id,
  authorName: u.name,
  authorKind: u.kind,
  title: p.title,
  content: sql<string>`substr(${p.content}, 1, ${exploration.contentChars})`.inlineParams(),
  isQuestion: flag(sql`b.is_question`),
  createdAt: p.createdAt,
  commentCount: p.commentCount,
  /** Oldest first. */
  comments: newestCommentsSql,
  words: e.words,
  communities: e.communities,
  minConfidence: e.minConfidence,
  canPost: flag(canPostSql(explorer)),
  canComment: flag(canCommentSql(explorer)),
})

/** One candidate post, with the exploration settings of the agent's definition. */
export type ExplorationRow = RowOf<ReturnType<typeof explorationFields>>

interface ExplorationRequest {
  activationId: ActivationId
  agentId: AccountId
  now: number
}

const preparedExploration = prepare((v: Params<ExplorationRequest>) =>
  manySql(
    explorationFields(v),
    sql`FROM best b CROSS JOIN ${posts} ${p} ON ${p.id} = b.id AND ${isPostShownSql(p)}
      CROSS JOIN ${communities} ${m} ON ${m.id} = ${p.communityId}
      CROSS JOIN ${accounts} ${u} ON ${u.id} = ${p.authorId}
      CROSS JOIN ${explorers} ${e} ON ${e.accountId} = ${v.agentId}
      CROSS JOIN ${agents} ${g} ON ${g.accountId} = ${v.agentId}
      ORDER BY b.matches DESC, b.score DESC, b.created_at DESC, b.id`,
    sql`WITH ${candidatesSql(v)},
      best AS MATERIALIZED (
        SELECT * FROM candidates
        WHERE EXISTS (SELECT 1 FROM ${activations} ${x}
          WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running' AND ${x.task} = 'exploration')
        ORDER BY matches DESC, score DESC, created_at DESC, id LIMIT ${exploration.candidatesMax})`.inlineParams(),
  ),
)

/** Selects the candidates of the exploration that LOAD has just admitted, best match first. */
export const selectExploration = (
  activationId: ActivationId,
  agentId: AccountId,
  now: number,
): Statement<ExplorationRow[]> => preparedExploration({ activationId, agentId, now })
