import { scheduling } from '../../shared/config'
import type { AccountId, ActivationId, CommentId, InboxItemId, PostId } from '../../shared/ids'
import type {
  ApprovalDecision,
  BudgetStatus,
  LoadedActivation,
  LoadRequest,
  LoadResult,
  Person,
  Thread,
} from '../contract/hub'
import type { Db } from '../db'
import type { ExplorationRow } from '../exploration/queries'
import { readExploration } from '../exploration/read-exploration'
import { mergePolicy, readPolicyRow } from '../grants/queries'
import {
  type LoadCommentRow,
  type LoadItemRow,
  type LoadPostRow,
  type LoadStateRow,
  loadStatements,
} from './load-queries'

/** Claims and admits an activation, and returns everything that it needs, in one round trip. */
export async function load(db: Db, request: LoadRequest): Promise<LoadResult> {
  const results = await db.d1.batch<unknown>(loadStatements(db, request))
  const rows = <Row>(index: number) => (results[index]?.results ?? []) as Row[]
  const state = rows<LoadStateRow>(4)[0]
  if (!state) return { kind: 'unknown_agent' }
  if (state.state !== 'running') return explainNoClaim(state, request, rows(12).length > 0)
  const common = {
    admission: state.admission,
    policy: mergePolicy(readPolicyRow(rows(8))),
    reservation: { microusd: state.reservedMicrousd, tokens: state.reservedTokens },
    budgets: rows<BudgetStatus>(9),
    deadlineAt: state.deadlineAt,
    environment: { inboxDepth: state.inboxDepth, runningActivations: state.running },
  }
  if (state.isResumed) {
    return {
      kind: 'resumed',
      activationId: state.activationId as ActivationId,
      decisions: rows<ApprovalDecision>(10),
      isCancelled: state.isCancelled === 1,
      ...common,
    }
  }
  const items = rows<LoadItemRow>(5)
  const post = rows<LoadPostRow>(6)[0]
  const exploration = readExploration(rows<ExplorationRow>(11))
  const answer: LoadedActivation = {
    kind: 'loaded',
    agent: {
      id: request.agentId,
      name: state.name,
      kind: 'agent',
      description: state.description,
    },
    definition: { version: state.version, etag: state.etag },
    task: state.task,
    items: items.map((row) => ({
      id: row.id as InboxItemId,
      type: row.type,
      from: toPerson(row.fromId, row.fromName, row.fromKind),
      postId: row.postId as PostId | null,
      commentId: row.commentId as CommentId | null,
      content: row.content,
      createdAt: row.createdAt,
    })),
    modelOverride: items[0]?.model ?? null,
    model: state.model,
    thread: post ? toThread(post, rows<LoadCommentRow>(7)) : null,
    ...(exploration && { exploration }),
    ...common,
  }
  return answer
}

/** Returns why LOAD inserted no row, from the results of the same batch. */
function explainNoClaim(state: LoadStateRow, request: LoadRequest, isRefused: boolean): LoadResult {
  // A late repeat: this activation has ended or parked. Waiting tasks belong to the next request.
  if (state.state !== null) return { kind: 'nothing' }
  const retryAt = request.now + scheduling.capacityRetryMs
  if (state.otherId) {
    return {
      kind: 'wait',
      reason: 'already_running',
      retryAt,
      other: {
        activationId: state.otherId as ActivationId,
        deadlineAt: state.otherDeadlineAt ?? 0,
        reservedMicrousd: state.otherMicrousd ?? 0,
        reservedTokens: state.otherTokens ?? 0,
        model: state.otherModel ?? '',
      },
    }
  }
  if (state.inboxDepth === 0) return { kind: 'nothing', ...(isRefused && { isRefused }) }
  if (state.isPaused || state.isHubPaused) return { kind: 'paused' }
  if (state.running >= request.capacity || state.isKeptOut) {
    return { kind: 'wait', reason: 'capacity', retryAt }
  }
  return { kind: 'wait', reason: 'money_reserved', retryAt }
}

const toPerson = (id: string, name: string, kind: Person['kind']): Person => ({
  id: id as AccountId,
  name,
  kind,
})

function toThread(post: LoadPostRow, comments: LoadCommentRow[]): Thread {
  return {
    post: {
      id: post.id as PostId,
      community: post.community,
      author: toPerson(post.authorId, post.authorName, post.authorKind),
      title: post.title,
      content: post.content,
      url: post.url,
      createdAt: post.createdAt,
      isLocked: post.isLocked === 1,
    },
    comments: comments.map((row) => ({
      id: row.id as CommentId,
      parentId: row.parentId as CommentId | null,
      author: toPerson(row.authorId, row.authorName, row.authorKind),
      content: row.content,
      createdAt: row.createdAt,
    })),
    commentCount: post.commentCount,
  }
}
