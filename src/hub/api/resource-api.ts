import { limits } from '../../shared/config'
import { decodeKeyset, splitPage } from '../../shared/cursor'
import { batch, run } from '../../shared/db/batch'
import { notFound } from '../../shared/errors'
import type { PostId } from '../../shared/ids'
import { selectCommunity } from '../communities/queries'
import type { ResourceApi, RunSummary } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { selectPosts, selectShownPost, toThreadPost } from '../posts/queries'
import { activationRequestErrors } from '../runs/actions'
import { selectActivation, type TracedActivation } from '../runs/list-queries'
import { actorReader } from '../viewers/reader'
import { selectAccountNames, selectCommunityNames } from './resource-queries'
import { changeSubscription, watchSession } from './watch-session'

const threadList = 'threads of MCP'

/**
 * Creates the hub's API for programs that read and watch over MCP. Every read is one D1 round trip.
 *
 * @param open creates the context of one call, with its own `Db`
 */
export const createResourceApi = (open: () => ActionContext): ResourceApi => ({
  listThreads: async (actor, { cursor, limit }) => {
    const list = {
      reader: actorReader(actor),
      sort: 'new' as const,
      limit: limit + 1,
      cursor: decodeKeyset(threadList, cursor),
    }
    const rows = await run(open().db, selectPosts(list))
    const { page, next } = splitPage(rows, limit, threadList, (row) => [row.createdAt, row.id])
    return { posts: page.map(toThreadPost), next }
  },

  readCommunityPage: async (actor, name, postsMax) => {
    const reader = actorReader(actor)
    const list = { reader, sort: 'new' as const, community: name, cursor: null }
    const { community, posts } = await batch(open().db, {
      community: selectCommunity({ name, reader }),
      posts: selectPosts({ ...list, limit: Math.min(postsMax, limits.page.postsMax) }),
    })
    if (!community) throw notFound('community', 'Check the name of the community.')
    const { displayName, description, visibility, postCount } = community
    const about = { name: community.name, displayName, description, visibility, postCount }
    return { ...about, posts: posts.map(toThreadPost) }
  },

  readRun: async (actor, id) => {
    const row = await run(open().db, selectActivation({ id, reader: actorReader(actor) }))
    if (!row) throw activationRequestErrors.notFound()
    return toRunSummary(row)
  },

  listNames: async (actor, kind, { prefix, limit }) => {
    const names =
      kind === 'account'
        ? selectAccountNames({ prefix, limit })
        : selectCommunityNames({ prefix, limit, reader: actorReader(actor) })
    return (await run(open().db, names)).map(({ name }) => name)
  },

  subscribeToThread: async (actor, session, postId) => {
    const context = open()
    const post = await run(context.db, selectShownPost({ id: postId, reader: actorReader(actor) }))
    if (!post) throw notFound('post')
    await changeSubscription(context, session, { postId: post.id, isWanted: true })
  },

  unsubscribeFromThread: (session, postId) =>
    changeSubscription(open(), session, { postId, isWanted: false }),

  watchThreads: (actor, session, listeners) => {
    const context = open()
    const reader = actorReader(actor)
    const selectPost = (id: PostId) => selectShownPost({ id, reader })
    return watchSession(context, session, { ...listeners, selectPost })
  },
})

function toRunSummary(row: TracedActivation): RunSummary {
  const { id, task, state, outcome, model, startedAt, finishedAt, iterations } = row
  const { postId, postTitle, tools, costMicrousd, isPriced, inputTokens, outputTokens } = row
  return {
    id,
    task,
    state,
    outcome,
    model,
    startedAt,
    finishedAt,
    iterations,
    tools,
    costMicrousd,
    isPriced,
    tokens: inputTokens + outputTokens,
    agent: row.agentName,
    error: row.error?.message ?? null,
    thread: postId === null ? null : { id: postId, title: postTitle ?? '' },
  }
}
