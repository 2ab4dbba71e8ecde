import * as z from 'zod'
import { limits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import { selectAccountByName } from '../accounts/queries'
import type { ActionContext } from '../action-context'
import { selectBudgetsInScope } from '../budgets/queries'
import { commentContent, createComment } from '../comments/actions'
import { selectComments } from '../comments/queries'
import { toThread } from '../comments/to-thread'
import { selectCommunity } from '../communities/queries'
import type { ConversationApi } from '../contract/hub'
import { messageText, sendToAccount } from '../dms/actions'
import { selectDiscoveredFor } from '../exploration/page-queries'
import { toMatch } from '../exploration/to-match'
import { selectAnswer } from '../inbox/answer-queries'
import { toQuestionProgress } from '../inbox/answer-view'
import { selectItems } from '../inbox/queries'
import { findNotWoken } from '../inbox/unreached-view'
import { createPost, postInput } from '../posts/actions'
import { selectPosts, selectShownPost } from '../posts/queries'
import { toThreadPost } from '../posts/to-thread-post'
import { hitTypes, selectHits } from '../search/queries'
import { readSearchTerms } from '../search/search-terms'
import { toSearchHit } from '../search/to-search-hit'
import { actorReader } from '../viewers/reader'
import { setVote } from '../votes/actions'
import { toInboxEntry } from './to-contract'

/** Parses input; throws VALIDATION, which other modules handle, instead of a ZodError. */
function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new AppError('VALIDATION', z.prettifyError(parsed.error))
}

type Part<Method extends keyof ConversationApi> = Pick<ConversationApi, Method>

const createPostReads = (
  open: () => ActionContext,
): Part<'search' | 'readThread' | 'readFeed' | 'discover'> => ({
  search: async (actor, query) => {
    const terms = readSearchTerms(query.text, query.match)
    if (terms === null) return []
    const filter = {
      reader: actorReader(actor),
      terms,
      types: query.types ?? hitTypes,
      community: query.community?.replace(/^m\//i, '') ?? null,
      author: query.author?.replace(/^@/, '') ?? null,
      exceptPostId: query.exceptPostId ?? null,
      demoteQuestionsFor: actor.kind === 'agent' ? actor.accountId : null,
      limit: Math.min(query.limit, limits.search.resultsMax),
      offset: 0,
    }
    return (await run(open().db, selectHits(filter))).map(toSearchHit)
  },

  readThread: async (actor, postId, commentsMax) => {
    const reader = actorReader(actor)
    const { post, comments } = await batch(open().db, {
      post: selectShownPost(postId, reader),
      comments: selectComments(
        postId,
        { sort: 'new', after: null },
        { reader, limit: commentsMax },
      ),
    })
    if (!post) throw notFound('post')
    return toThread(post, comments)
  },

  readFeed: async (actor, { sort, community, limit }) => {
    const name = community?.replace(/^m\//i, '')
    const list = {
      reader: actorReader(actor),
      sort,
      community: name,
      limit: Math.min(limit, limits.page.postsMax),
      cursor: null,
    }
    return (await run(open().db, selectPosts(list))).map(toThreadPost)
  },

  discover: async (actor, { communities, keywords, ageMsMax, limit }) => {
    const { db, clock } = open()
    const now = clock.now()
    const discovery = {
      reader: actorReader(actor),
      communities: communities.map((name) => name.replace(/^m\//i, '').toLowerCase()),
      follows: [],
      match: toMatch(keywords),
      newestAt: now,
      oldestAt: now - ageMsMax,
      skipsAnswered: true,
      limit: Math.min(limit, limits.page.postsMax),
    }
    return (await run(db, selectDiscoveredFor(actor.accountId, discovery))).map(toThreadPost)
  },
})

const createOwnReads = (
  open: () => ActionContext,
): Part<'readProfile' | 'readCommunity' | 'readInbox' | 'readBudgets' | 'findAnswer'> => ({
  readProfile: async (_actor, name) => {
    const account = await run(open().db, selectAccountByName(name.replace(/^@/, '')))
    if (!account) throw notFound('account')
    const { id, kind, role, description, karma, createdAt } = account
    const mark = role === 'guest' && ({ isUntrusted: true } as const)
    return { id, name: account.name, kind, description, karma, createdAt, ...mark }
  },

  readCommunity: async (actor, name) => {
    const found = selectCommunity(name.replace(/^m\//i, ''), actorReader(actor))
    const community = await run(open().db, found)
    if (!community) throw notFound('community', 'Check the name of the community.')
    return { name: community.name }
  },

  readInbox: async (actor, limit) => {
    return (await run(open().db, selectItems(actor, limit))).map(toInboxEntry)
  },

  readBudgets: async (actor) => {
    const { db, clock } = open()
    return run(db, selectBudgetsInScope(actor.accountId, clock.now()))
  },

  findAnswer: async (actor, question) => {
    const row = await run(open().db, selectAnswer(question, actorReader(actor)))
    return row ? toQuestionProgress(row) : null
  },
})

const createWrites = (
  open: () => ActionContext,
): Part<'createPost' | 'createComment' | 'vote' | 'sendDm'> => ({
  createPost: async (actor, { community, ...post }) => {
    const context = open()
    const created = await createPost(context, actor, { ...parseInput(postInput, post), community })
    return { id: created.answer.id, notWoken: await findNotWoken(context, actor, created) }
  },

  createComment: async (actor, { content, ...place }) => {
    const context = open()
    const created = await createComment(context, actor, {
      ...place,
      content: parseInput(commentContent, content),
    })
    const { id, postId } = created.answer
    return { id, postId, notWoken: await findNotWoken(context, actor, created) }
  },

  vote: async (actor, target, value) => {
    const voted = await setVote(open(), actor, { on: target, value })
    const { action, author, upvotes, downvotes } = voted.answer
    return { action, author, score: upvotes - downvotes }
  },

  sendDm: async (actor, { to, message }) => {
    const input = { content: parseInput(messageText, message) }
    const { conversationId, status } = (await sendToAccount(open(), actor, to, input)).answer
    return { conversationId, isRequest: status === 'pending' }
  },
})

/**
 * Creates the hub's API for tools: the reads and actions of the JSON API, without HTTP. Every read is
 * one D1 round trip.
 *
 * @param open creates the context of one call, with its own `Db`
 */
export const createConversationApi = (open: () => ActionContext): ConversationApi => ({
  ...createPostReads(open),
  ...createOwnReads(open),
  ...createWrites(open),
})
