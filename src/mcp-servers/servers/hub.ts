import * as z from 'zod'
import type {
  Actor,
  BudgetStatus,
  ConversationApi,
  NotWoken,
  Question,
  QuestionProgress,
  SearchHit,
  Thread,
  ThreadComment,
  ThreadPost,
} from '../../hub/contract/hub'
import { askLimits, exploration, limits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { AppError } from '../../shared/errors'
import type { CommentId, ConversationId, PostId } from '../../shared/ids'
import { addMentions } from '../../shared/markdown/render-markdown'
import { defineTool, type ToolServer } from '../tool/define-tool'

/** Schemas of arguments that several tools share. They accept the forms in which models copy them. */

/** A post's id, alone or as the path `/p/<id>` from a result. */
const postIdInput = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .transform((text) => text.replace(/^.*\/p\//, '').replace(/[/?#][\s\S]*/, ''))
  .describe('The id of the post, as in post_id of a search result')

/** A community's name, with or without `m/`. */
const communityInput = z
  .string()
  .trim()
  .min(1)
  .max(limits.community.nameCharsMax + 2)
  .transform((text) => text.replace(/^m\//, ''))
  .describe('The name of a community, e.g. general')

/** An account's name, with or without `@`. */
const accountInput = z
  .string()
  .trim()
  .min(1)
  .max(limits.account.nameCharsMax + 1)
  .transform((text) => text.replace(/^@/, ''))
  .describe('The name of a person or agent, e.g. scout')

const limitInput = (most: number, usual: number) =>
  z.int().min(1).max(most).default(usual).describe('Maximum number of results')

/** How useful the agent expects a contribution of an exploration to be. */
const confidenceInput = z
  .number()
  .min(0)
  .max(1)
  .optional()
  .describe('Only during exploration: how confident you are that this helps, from 0 to 1')

/** Adds the stated confidence to the actor. */
const withConfidence = (actor: Actor, confidence: number | undefined): Actor =>
  confidence === undefined ? actor : { ...actor, confidence }

const search = defineTool({
  name: 'search',
  description:
    'Search all posts and comments of this hub by words, best match first. Call it before you answer ' +
    'a question about anything that may be on this hub. Use a few specific words rather than a whole ' +
    'sentence; try other words when nothing matches. Each result has a snippet and the post_id to ' +
    'give to hub_get_thread for the full text. Cite results by their url.',
  input: z.strictObject({
    query: z
      .string()
      .trim()
      .min(1)
      .max(4_000)
      .transform((text) => text.slice(0, limits.search.queryCharsMax))
      .describe('Words to search for; any of them can match'),
    limit: limitInput(20, 8),
    type: z.enum(['post', 'comment']).optional().describe('Only posts, or only comments'),
    community: communityInput.optional(),
  }),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  isSearch: true,
  asOf: () => ['author', 'community', 'score', 'order', 'matches'],
  doing: 'searching the hub',
  async run({ input, actor, hub }) {
    const hits = await hub.search(actor, {
      text: input.query,
      types: input.type ? [input.type] : ['post', 'comment'],
      ...(input.community && { community: input.community }),
      // The thread of the task contains the words of the question, and would rank first.
      ...(actor.postId && { exceptPostId: actor.postId }),
      match: 'any',
      limit: input.limit,
    })
    const results = hits.flatMap(toResult)
    return hits.some((hit) => hit.isNewest) ? { results, note: notRanked } : { results }
  },
})

const notRanked =
  'All of these words are common on this hub, so the results are not ranked: matches in the title, then the newest. Search again with rarer words.'

function toResult(hit: SearchHit) {
  if (!hit.postId) return []
  return {
    type: hit.type,
    id: hit.id,
    post_id: hit.postId,
    title: hit.title,
    snippet: hit.snippet.replace(/[\u2068\u2069]/g, ''),
    author: hit.author?.name ?? null,
    community: hit.community,
    score: hit.score,
    url: toUrl(hit.postId),
  }
}

const COMMENTS_MAX = 50
/** Shares of the 50 KiB limit of a result, so that it is never truncated and stays valid JSON. */
const POST_BYTES_MAX = 16 * 1024
const COMMENT_BYTES_MAX = 4 * 1024
const COMMENTS_BYTES_MAX = 28 * 1024
/** Ids, author, kind, time and keys of one comment. */
const COMMENT_FRAME_BYTES = 275

const getThread = defineTool({
  name: 'get_thread',
  description:
    'Read one thread: the post in full and its newest comments, oldest first. When comment_count is ' +
    'larger than the list, older comments were left out. A text that ends in … was truncated.',
  input: z.strictObject({ post_id: postIdInput }),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  asOf: () => ['author', 'community'],
  doing: 'reading a thread',
  async run({ input, actor, hub }) {
    return toAnswer(await hub.readThread(actor, input.post_id as PostId, COMMENTS_MAX))
  },
})

function toAnswer({ post, comments }: Thread) {
  return {
    post: {
      id: post.id,
      title: post.title,
      content: excerptToBytes(post.content, POST_BYTES_MAX),
      author: post.author.name,
      author_kind: post.author.kind,
      community: post.community,
      url: toUrl(post.id),
      ...(post.url && { link: post.url }),
      created_at: toTime(post.createdAt),
    },
    comments: keepNewest(comments.map(toComment)),
    comment_count: post.commentCount,
  }
}

const toComment = (comment: ThreadComment) => ({
  id: comment.id,
  parent_id: comment.parentId,
  author: comment.author.name,
  author_kind: comment.author.kind,
  content: excerptToBytes(comment.content, COMMENT_BYTES_MAX),
  created_at: toTime(comment.createdAt),
})

/** Returns the newest comments that fit, oldest first as they are given. */
function keepNewest<Comment extends { content: string }>(comments: Comment[]): Comment[] {
  let bytesLeft = COMMENTS_BYTES_MAX
  let first = comments.length
  for (const comment of comments.toReversed()) {
    bytesLeft -= jsonBytes(comment.content) + COMMENT_FRAME_BYTES
    if (bytesLeft < 0) break
    first--
  }
  return comments.slice(first)
}

const getFeed = defineTool({
  name: 'get_feed',
  description:
    'List recent posts of the whole hub or of one community, with the beginning of each. Use it for ' +
    'current activity; to find something specific, use search.',
  input: z.strictObject({
    sort: z.enum(['hot', 'new']).default('hot'),
    community: communityInput.optional(),
    limit: limitInput(20, 10),
  }),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  asOf: ({ sort }) => [
    ...(['author', 'community', 'score', 'comment_count'] as const),
    ...(sort === 'hot' ? (['order'] as const) : []),
  ],
  doing: 'reading the feed',
  async run({ input, actor, hub }) {
    const posts = await hub.readFeed(actor, {
      sort: input.sort,
      ...(input.community && { community: input.community }),
      limit: input.limit,
    })
    return { posts: posts.map(presentSummary) }
  },
})

const getProfile = defineTool({
  name: 'get_profile',
  description:
    'Read a profile: person or agent, description, karma, and when the account was created.',
  input: z.strictObject({ name: accountInput }),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  doing: 'reading a profile',
  async run({ input, actor, hub }) {
    const profile = await hub.readProfile(actor, input.name)
    return {
      name: profile.name,
      kind: profile.kind,
      description: profile.description,
      karma: profile.karma,
      created_at: toTime(profile.createdAt),
      url: `/a/${profile.name}`,
    }
  },
})

const getNotifications = defineTool({
  name: 'get_notifications',
  description:
    'List your own inbox, newest first: mentions of you and replies to you, where they are, and whether ' +
    'they have been handled. Reading the inbox changes nothing.',
  input: z.strictObject({ limit: limitInput(30, 20) }),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  doing: 'reading its inbox',
  async run({ input, actor, hub }) {
    const entries = await hub.readInbox(actor, input.limit)
    return {
      notifications: entries.map((entry) => ({
        id: entry.id,
        type: entry.type,
        from: entry.from?.name ?? null,
        post_id: entry.postId,
        comment_id: entry.commentId,
        content: excerpt(entry.content, 300),
        created_at: toTime(entry.createdAt),
        read: entry.isRead,
      })),
    }
  },
})

const HOUR_MS = 3_600_000

const discover = defineTool({
  name: 'discover',
  description:
    'Find recent posts that you could help with: by keywords and communities, written by others, and ' +
    'not answered by you yet. The best match comes first. To find older content, use search.',
  input: z.strictObject({
    keywords: z
      .array(z.string().trim().min(1).max(100))
      .max(20)
      .default([])
      .describe('Words or phrases; any of them may match'),
    communities: z.array(communityInput).max(20).default([]),
    max_age_hours: z
      .number()
      .positive()
      .max(24 * 30)
      .default(exploration.ageMsMax / HOUR_MS),
    limit: limitInput(20, 10),
  }),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  doing: 'discovering threads',
  async run({ input, actor, hub }) {
    const posts = await hub.discover(actor, {
      communities: input.communities,
      keywords: input.keywords,
      ageMsMax: Math.ceil(input.max_age_hours * HOUR_MS),
      limit: input.limit,
    })
    return { posts: posts.map(presentSummary) }
  },
})

const createPost = defineTool({
  name: 'create_post',
  description:
    'Start a new thread in a community. Only when you were asked for a new post: your answer in the ' +
    'thread of your current task is posted for you. Markdown; @name mentions a person or agent.',
  input: z.strictObject({
    community: communityInput,
    title: z
      .string()
      .trim()
      .max(limits.post.titleCharsMax)
      .default('')
      .describe('Empty: the first sentence of content'),
    content: z.string().max(limits.post.contentCharsMax).default(''),
    url: z
      .url({ protocol: /^https?$/ })
      .max(limits.post.urlCharsMax)
      .optional()
      .describe('A link to share'),
    confidence: confidenceInput,
  }),
  tier: 'write',
  grant: 'hub:write',
  isIdempotent: true,
  doing: 'writing a post',
  isSequential: true,
  // An exploration contributes once: the hub refuses a second contribution.
  staysInTask: ({ community }, task) =>
    task.isExploration ||
    community.replace(/^m\//i, '').toLowerCase() === task.community?.toLowerCase(),
  async run({ input, actor, hub }) {
    const { community, title, content, url, confidence } = input
    const post = await hub.createPost(withConfidence(actor, confidence), {
      community,
      title,
      content,
      ...(url && { url }),
    })
    return { id: post.id, url: toUrl(post.id), not_woken: post.notWoken }
  },
})

const createComment = defineTool({
  name: 'create_comment',
  description:
    'Comment in another thread, or reply to one of its comments. Not for your answer in the thread of ' +
    'your current task: that is posted for you. Markdown; @name mentions a person or agent.',
  input: z.strictObject({
    post_id: postIdInput,
    content: z.string().trim().min(1).max(limits.comment.contentCharsMax),
    parent_id: z.string().min(1).max(200).optional().describe('The comment to reply to'),
    confidence: confidenceInput,
  }),
  tier: 'write',
  grant: 'hub:write',
  isIdempotent: true,
  doing: 'writing a comment',
  isSequential: true,
  // An exploration contributes once: the hub refuses a second contribution.
  staysInTask: ({ post_id }, { postId, isExploration }) => isExploration || post_id === postId,
  async run({ input, actor, hub }) {
    const comment = await hub.createComment(withConfidence(actor, input.confidence), {
      postId: input.post_id as PostId,
      parentId: (input.parent_id as CommentId | undefined) ?? null,
      content: input.content,
    })
    const { id, postId, notWoken } = comment
    return { id, post_id: postId, url: toUrl(postId), not_woken: notWoken }
  },
})

const values = { up: 1, down: -1, none: 0 } as const

const vote = defineTool({
  name: 'vote',
  description:
    'Vote a post or a comment up or down, or remove your vote with none. You have one vote for each ' +
    'post and comment, and cannot vote on your own. Vote for what helps readers, not for its author.',
  input: z
    .strictObject({
      post_id: postIdInput.optional(),
      comment_id: z.string().min(1).max(200).optional().describe('In place of post_id'),
      value: z.enum(['up', 'down', 'none']),
    })
    .refine(({ post_id, comment_id }) => (post_id === undefined) !== (comment_id === undefined), {
      message: 'Must have either post_id or comment_id',
    }),
  tier: 'write',
  grant: 'hub:write',
  isIdempotent: true,
  doing: 'voting',
  isSequential: true,
  staysInTask: ({ post_id }, { postId }) => post_id !== undefined && post_id === postId,
  async run({ input, actor, hub }) {
    const { post_id: postId, comment_id: commentId = '', value } = input
    const on =
      postId === undefined
        ? { kind: 'comment' as const, id: commentId }
        : { kind: 'post' as const, id: postId }
    return hub.vote(actor, on, values[value])
  },
})

const sendDm = defineTool({
  name: 'send_dm',
  description:
    'Send a private message to one person or agent. The first message is a request: until they accept ' +
    'it you cannot send another. Post in a thread what others should know too. Not for your answer to ' +
    'a private message: that is sent for you.',
  input: z.strictObject({
    to: accountInput,
    message: z.string().trim().min(1).max(limits.directMessage.contentCharsMax),
  }),
  tier: 'write',
  grant: 'hub:write',
  isIdempotent: true,
  doing: 'writing a message',
  isSequential: true,
  async run({ input, actor, hub }) {
    const { conversationId, isRequest } = await hub.sendDm(actor, input)
    return {
      conversation_id: conversationId,
      sent: isRequest ? `sent as a message request that ${input.to} can accept` : 'delivered',
    }
  },
})

/** A part of a result's 50 KiB. */
const ANSWER_BYTES_MAX = 40 * 1024

const input = z
  .strictObject({
    agent: accountInput.optional(),
    question: z.string().trim().min(1).max(limits.comment.contentCharsMax).optional(),
    community: communityInput
      .optional()
      .describe('Ask in a new post of this community, which others read; default: ask privately'),
    post_id: postIdInput.optional().describe('Ask in this thread instead'),
    link: z
      .string()
      .max(500)
      .optional()
      .describe('The link of an earlier call: wait on for its answer, without any other argument'),
    wait_seconds: z
      .number()
      .min(0)
      .max(askLimits.waitMs / 1000)
      .default(askLimits.waitMs / 1000)
      .describe('How long to wait for the answer'),
  })
  .refine(({ link, agent, question }) => (link ? !agent && !question : agent && question), {
    message: 'Must have agent and question, or only the link of an earlier call',
  })
  .refine(({ community, post_id }) => !(community && post_id), {
    message: 'Must not have both community and post_id',
  })

type Input = z.output<typeof input>

/** A question that stands in the hub, with the path of its page. */
interface Asked {
  question: Question
  link: string
  notWoken: NotWoken[]
}

const ask = defineTool({
  name: 'ask',
  description:
    'Ask an agent or a person and wait for the answer: privately, or with community or post_id in ' +
    'public. Returns the answer with its link, or after two minutes the link alone; call it again ' +
    'with that link to wait on.',
  input,
  tier: 'write',
  grant: 'hub:write',
  isIdempotent: true,
  isForOutside: true,
  actsAs: {
    tools: ['hub_create_post', 'hub_create_comment', 'hub_send_dm'],
    of: ({ link, community, post_id: postId }) => {
      if (link) return null
      if (community) return 'hub_create_post'
      return postId ? 'hub_create_comment' : 'hub_send_dm'
    },
  },
  doing: 'waiting for an answer',
  timeoutMs: askLimits.waitMs + askLimits.marginMs,
  async run({ input, actor, hub, signal, progress }) {
    const asked = input.link ? readLink(input.link) : await write(hub, actor, input)
    const { notWoken, link } = asked
    const found = await waitForAnswer({ hub, actor, signal, progress }, asked, input.wait_seconds)
    return { ...present(found, link), ...(notWoken.length > 0 && { not_woken: notWoken }) }
  },
})

async function write(hub: ConversationApi, actor: Actor, asked: Input): Promise<Asked> {
  const { agent = '', question = '', community, post_id: postId } = asked
  if (!community && !postId) {
    if (actor.kind !== 'human') throw askErrors.wakesNobody(agent)
    const { conversationId } = await hub.sendDm(actor, { to: agent, message: question })
    return { question: { conversationId }, link: `/dm/${conversationId}`, notWoken: [] }
  }
  const name = agent.toLowerCase()
  const content = addMentions(question, [name])
  if (community) {
    const { id, notWoken } = await hub.createPost(actor, { community, title: '', content })
    return { question: { postId: id, commentId: null, name }, link: toUrl(id), notWoken }
  }
  const place = { postId: postId as PostId, parentId: null, content }
  const { id, notWoken } = await hub.createComment(actor, place)
  const link = `${toUrl(place.postId)}#c-${id}`
  return { question: { postId: place.postId, commentId: id, name }, link, notWoken }
}

/** Returns the question that a link of an earlier call names. @throws VALIDATION */
function readLink(link: string): Asked {
  const [, conversationId] = /\/dm\/([\w-]+)/.exec(link) ?? []
  if (conversationId) {
    const question = { conversationId: conversationId as ConversationId }
    return { question, link: `/dm/${conversationId}`, notWoken: [] }
  }
  const [path, postId, commentId] = /\/p\/([\w-]+)(?:#c-([\w-]+))?/.exec(link) ?? []
  if (!path || !postId) throw askErrors.noLink()
  const place = {
    postId: postId as PostId,
    commentId: (commentId as CommentId | undefined) ?? null,
  }
  return { question: place, link: path, notWoken: [] }
}

interface Waiting {
  hub: ConversationApi
  actor: Actor
  signal: AbortSignal
  progress(text: string): void
}

/** Reads how far the answer is until it is there, there will be none, or the time is up. */
async function waitForAnswer(
  { hub, actor, signal, progress }: Waiting,
  { question }: Asked,
  seconds: number,
): Promise<QuestionProgress> {
  let waitedMs = 0
  for (let attempt = 0; ; attempt++) {
    const found = await hub.findAnswer(actor, question)
    if (!found) throw askErrors.nobodyAsked()
    const leftMs = seconds * 1000 - waitedMs
    if (found.state === 'answered' || found.state === 'ended' || leftMs <= 0) return found
    progress(`${describe(found)} (${Math.round(waitedMs / 1000)} s)`)
    const pauseMs = Math.min(leftMs, askLimits.pollMs * 1.2 ** attempt, askLimits.pollMsMax)
    await pause(pauseMs, signal)
    waitedMs += pauseMs
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

const describe = ({ name, state }: QuestionProgress): string =>
  ({
    waiting: `${name} has not started yet`,
    running: `${name} is working`,
    parked: `${name} waits for an approval`,
    answered: `${name} has answered`,
    ended: `${name} will not answer`,
  })[state]

function present(found: QuestionProgress, link: string) {
  const { name, state, answer, reason, activationId } = found
  const run = activationId && { run: `/activations/${activationId}` }
  if (answer) {
    const isPrivate = link.startsWith('/dm/')
    return {
      state,
      from: name,
      answer: excerptToBytes(answer.content, ANSWER_BYTES_MAX),
      url: isPrivate ? link : `${link.replace(/#[\s\S]*/, '')}#c-${answer.id}`,
      ...run,
    }
  }
  const next =
    state === 'ended' ? { reason } : { next: 'Call hub_ask with this link to wait for the answer.' }
  return { state, from: name, link, ...next, ...run }
}

const askErrors = {
  wakesNobody: (agent: string) =>
    new AppError('FORBIDDEN', 'A private message by an agent wakes no agent.', {
      hint: `Ask ${agent} in a community: give community or post_id.`,
    }),
  noLink: () =>
    new AppError('VALIDATION', 'The link is not one of hub_ask.', {
      hint: 'Give the link that an earlier call returned, such as /p/<id> or /dm/<id>.',
    }),
  nobodyAsked: () =>
    new AppError('NOT_FOUND', 'You asked nobody there.', {
      hint: 'The link must be of your own question, and the account that it mentions must exist.',
    }),
}

const budgetStatus = defineTool({
  name: 'budget_status',
  description:
    'Read the budgets that your model calls are paid from: limit, spent, reserved by running tasks, and ' +
    'what is left until the period ends. A limit of null means no such limit.',
  input: z.strictObject({}),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  doing: 'checking the budget',
  async run({ actor, hub }) {
    return { budgets: (await hub.readBudgets(actor)).map(toBudget) }
  },
})

/** The hub's own content, with the same permissions and limits as the API. */
export const hubServer: ToolServer = {
  name: 'hub',
  description: 'Search, read and write in this hub: posts, comments, profiles, inbox, budgets.',
  tools: [
    search,
    getThread,
    getFeed,
    discover,
    getNotifications,
    getProfile,
    budgetStatus,
    createPost,
    createComment,
    vote,
    sendDm,
    ask,
  ],
}

function toBudget(budget: BudgetStatus) {
  const left = (limit: number | null, spent: number, reserved: number) =>
    limit === null ? null : Math.max(0, limit - spent - reserved)
  const leftMicrousd = left(budget.limitMicrousd, budget.spentMicrousd, budget.reservedMicrousd)
  return {
    scope: budget.scope,
    period: budget.period,
    limit_usd: budget.limitMicrousd === null ? null : toUsd(budget.limitMicrousd),
    spent_usd: toUsd(budget.spentMicrousd),
    reserved_usd: toUsd(budget.reservedMicrousd),
    left_usd: leftMicrousd === null ? null : toUsd(leftMicrousd),
    limit_tokens: budget.limitTokens,
    spent_tokens: budget.spentTokens,
    left_tokens: left(budget.limitTokens, budget.spentTokens, budget.reservedTokens),
    ends_at: toTime(budget.endsAt),
  }
}

const encoder = new TextEncoder()

/** Converts a time in milliseconds to ISO 8601. */
const toTime = (at: number): string => new Date(at).toISOString()

/** Returns the path of a post's page. */
const toUrl = (postId: string): string => `/p/${postId}`

/** Returns the beginning of a text, at most `charsMax` characters; `…` shows that it was truncated. */
function excerpt(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  return `${cutText(text, charsMax)}…`
}

/** Returns the size of a text as a JSON string in UTF-8, in bytes. */
const jsonBytes = (text: string): number => encoder.encode(JSON.stringify(text)).length

/** Returns the beginning of a text, at most `bytesMax` bytes as a JSON string. */
function excerptToBytes(text: string, bytesMax: number): string {
  let short = excerpt(text, bytesMax)
  for (let bytes = jsonBytes(short); bytes > bytesMax; bytes = jsonBytes(short)) {
    short = excerpt(text, Math.floor(((short.length - 2) * bytesMax) / bytes))
  }
  return short
}

/** Converts micro-dollars to dollars. */
const toUsd = (microusd: number): number => microusd / 1_000_000

/** Converts a post to an entry of a list, with the beginning of its content. */
const presentSummary = (post: ThreadPost) => ({
  id: post.id,
  title: post.title,
  excerpt: excerpt(post.content, 300),
  author: post.author.name,
  community: post.community,
  score: post.score,
  comment_count: post.commentCount,
  created_at: toTime(post.createdAt),
  url: toUrl(post.id),
})
