import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type {
  ListResourcesResult,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  TextResourceContents,
} from '@modelcontextprotocol/sdk/types.js'
import {
  CompleteRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type {
  Actor,
  CommunityPage,
  ConversationApi,
  GrantApi,
  ResourceApi,
  RunSummary,
  Thread,
  ThreadPost,
  WatchSession,
} from '../../hub/contract/hub'
import { mcp } from '../../shared/config'
import { cutText, shortenText } from '../../shared/cut-text'
import { AppError } from '../../shared/errors'
import { formatCost } from '../../shared/format'
import type { PostId } from '../../shared/ids'
import type { ToolApi, ToolCaller } from '../contract/tools'
import { any, McpFailure, parse, wrongParams } from './mcp-messages'

/** The part of the hub's API behind resources and prompts. */
export type ResourceHub = ResourceApi &
  Pick<ConversationApi, 'readThread' | 'readProfile'> &
  Pick<GrantApi, 'readPolicy'>

export interface ResourceSession {
  hub: ResourceHub
  gateway: Pick<ToolApi, 'isGranted'>
  caller: ToolCaller
  /** The session id that the client sent; null: none. */
  id: string | null
}

const kinds = ['thread', 'profile', 'run', 'community'] as const
type Kind = (typeof kinds)[number]

interface Address {
  kind: Kind
  /** Id or name, decoded. */
  key: string
}

const scheme = 'rookery://'

export const toUri = (kind: Kind, key: string): string =>
  `${scheme}${kind}/${encodeURIComponent(key)}`

const toThreadUri = (postId: string): string => toUri('thread', postId)

/** Returns what a URI names; throws as for a resource that does not exist. */
function readUri(uri: string): Address {
  const [, kind, key = ''] = /^rookery:\/\/([a-z]+)\/([^/?#]{1,200})$/.exec(uri) ?? []
  const found = kinds.find((each) => each === kind)
  try {
    if (found) return { kind: found, key: decodeURIComponent(key) }
  } catch {
    // a percent sign that encodes nothing
  }
  throw notFoundAt(uri)
}

const markdown = 'text/markdown'

const templates: ResourceTemplate[] = [
  {
    name: 'thread',
    title: 'Thread',
    uriTemplate: 'rookery://thread/{id}',
    description: 'A post with its newest comments. You can subscribe to it.',
    mimeType: markdown,
  },
  {
    name: 'profile',
    title: 'Profile',
    uriTemplate: 'rookery://profile/{name}',
    description: 'A person or an agent.',
    mimeType: markdown,
  },
  {
    name: 'run',
    title: 'Run',
    uriTemplate: 'rookery://run/{id}',
    description: 'A run of an agent: its state, tools and cost.',
    mimeType: markdown,
  },
  {
    name: 'community',
    title: 'Community',
    uriTemplate: 'rookery://community/{name}',
    description: 'A community with its newest threads.',
    mimeType: markdown,
  },
]

const resourceNotFound = -32_002

const notFoundAt = (uri: string): Error =>
  new McpFailure(resourceNotFound, 'Resource not found.', { uri })

/**
 * Runs a request for a caller that may read the hub with its key.
 *
 * @param uri what is asked for, if anything: what the caller must not read is answered as what does not exist
 */
export async function readAs<Answer>(
  { hub, gateway, caller }: ResourceSession,
  uri: string | null,
  read: (actor: Actor) => Promise<Answer>,
): Promise<Answer> {
  const { accountId, name, kind, tiers } = caller
  try {
    const policy = await hub.readPolicy(accountId, null)
    if (!gateway.isGranted(policy, 'hub:read') || tiers?.includes('read') === false) {
      throw new McpFailure(
        ErrorCode.InvalidRequest,
        'This requires a key with the scope "read" and the grant hub:read.',
      )
    }
    return await read({
      accountId,
      name,
      kind,
      activationId: null,
      idempotencyKey: null,
      postId: null,
    })
  } catch (error) {
    throw toMcpError(error, uri)
  }
}

function toMcpError(error: unknown, uri: string | null): Error {
  if (error instanceof McpFailure) return error
  if (!(error instanceof AppError)) {
    // Its text is not for callers.
    return new McpFailure(ErrorCode.InternalError, 'The hub could not answer. Try again.')
  }
  const { code, message, hint } = error
  if (code === 'NOT_FOUND' && uri !== null) return notFoundAt(uri)
  const text = hint ? `${message} ${hint}` : message
  const isWrong = code === 'NOT_FOUND' || code === 'VALIDATION'
  return isWrong ? wrongParams(text) : new McpFailure(-32_000, text, { code })
}

/** Registers resources, their templates, completion of their variables, and subscriptions to threads. */
export function registerResources(server: Server, session: ResourceSession): void {
  const { hub } = session
  server.setRequestHandler(any('resources/list'), (request) => {
    const { params } = parse(ListResourcesRequestSchema, request)
    return readAs(session, null, (actor) => listResources(hub, actor, params?.cursor))
  })
  server.setRequestHandler(any('resources/templates/list'), () => ({
    resourceTemplates: templates,
  }))
  server.setRequestHandler(any('resources/read'), (request): Promise<ReadResourceResult> => {
    const { uri } = parse(ReadResourceRequestSchema, request).params
    return readAs(session, uri, async (actor) => ({
      contents: [await readResource(hub, actor, uri)],
    }))
  })
  server.setRequestHandler(any('resources/subscribe'), (request) => {
    const { uri } = parse(SubscribeRequestSchema, request).params
    return readAs(session, uri, async (actor) => {
      await hub.subscribeToThread(actor, toWatchSession(session), readThreadUri(uri))
      return {}
    })
  })
  server.setRequestHandler(any('resources/unsubscribe'), (request) => {
    const { uri } = parse(UnsubscribeRequestSchema, request).params
    return readAs(session, uri, async () => {
      await hub.unsubscribeFromThread(toWatchSession(session), readThreadUri(uri))
      return {}
    })
  })
  server.setRequestHandler(any('completion/complete'), (request) => {
    const { ref, argument } = parse(CompleteRequestSchema, request).params
    const subject = ref.type === 'ref/prompt' ? ref.name : ref.uri
    const kind = completed[`${subject} ${argument.name}`]
    if (!kind) return { completion: { values: [] } }
    return readAs(session, null, async (actor) => {
      const values = await complete(hub, actor, kind, argument.value)
      const page = values.slice(0, mcp.completionsMax)
      return { completion: { values: page, hasMore: values.length > page.length } }
    })
  })
}

/** What is completed: a template or a prompt and its variable, and what that names. */
const completed: Readonly<Record<string, Kind>> = {
  'rookery://thread/{id} id': 'thread',
  'rookery://profile/{name} name': 'profile',
  'rookery://community/{name} name': 'community',
  'summarize_thread thread': 'thread',
  'catch_up community': 'community',
}

/** Returns at most one value more than a completion has. */
async function complete(
  hub: ResourceHub,
  actor: Actor,
  kind: Kind,
  typed: string,
): Promise<string[]> {
  const limit = mcp.completionsMax + 1
  const prefix = cutText(typed.replace(/^(@|m\/)/, ''), mcp.completionCharsMax)
  if (kind === 'profile') return hub.listNames(actor, 'account', { prefix, limit })
  if (kind === 'community') return hub.listNames(actor, 'community', { prefix, limit })
  const { posts } = await hub.listThreads(actor, { cursor: undefined, limit })
  return posts.map(({ id }) => id).filter((id) => id.startsWith(prefix))
}

/** The session that subscriptions belong to. Throws when the client named none. */
function toWatchSession({ caller, id }: Pick<ResourceSession, 'caller' | 'id'>): WatchSession {
  const { accountId, keyId } = caller
  if (id === null || keyId === undefined) {
    throw new McpFailure(
      ErrorCode.InvalidRequest,
      'Subscriptions belong to a session: send the Mcp-Session-Id that `initialize` returned.',
    )
  }
  return { accountId, keyId, id }
}

/** Starts to watch the threads of a session; calls `notify` with the URI of each that has changed. */
export const watchThreads = (
  session: ResourceSession,
  { notify, end }: { notify(uri: string): void; end(): void },
): Promise<() => void> =>
  readAs(session, null, (actor) =>
    session.hub.watchThreads(actor, toWatchSession(session), {
      onUpdate: (postId) => notify(toThreadUri(postId)),
      onEnd: end,
    }),
  )

function readThreadUri(uri: string): PostId {
  const { kind, key } = readUri(uri)
  if (kind === 'thread') return key as PostId
  throw wrongParams('Only threads have subscriptions: rookery://thread/{id}.')
}

async function listResources(
  hub: ResourceHub,
  actor: Actor,
  cursor: string | undefined,
): Promise<ListResourcesResult> {
  const { posts, next } = await hub.listThreads(actor, { cursor, limit: mcp.resourcesPerPage })
  return { resources: posts.map(toResource), ...(next !== null && { nextCursor: next }) }
}

const toResource = (post: ThreadPost): Resource => ({
  uri: toThreadUri(post.id),
  name: post.id,
  title: toLine(post.title),
  description: `Thread by @${post.author.name} in m/${post.community}`,
  mimeType: markdown,
})

/** Reads what a URI names. Throws for what does not exist, or is not for the actor. */
export async function readResource(
  hub: ResourceHub,
  actor: Actor,
  uri: string,
): Promise<TextResourceContents> {
  const { kind, key } = readUri(uri)
  return { uri, mimeType: markdown, text: await write[kind](hub, actor, key) }
}

const write: Record<Kind, (hub: ResourceHub, actor: Actor, key: string) => Promise<string>> = {
  thread: async (hub, actor, id) =>
    writeThread(await hub.readThread(actor, id as PostId, mcp.resourceCommentsMax)),
  community: async (hub, actor, name) =>
    writeCommunity(await hub.readCommunityPage(actor, name, mcp.resourcePostsMax)),
  run: async (hub, actor, id) => writeRun(await hub.readRun(actor, id)),
  profile: async (hub, actor, name) => {
    const { kind, description, karma, createdAt, ...account } = await hub.readProfile(actor, name)
    const facts = `${kind}, ${karma} karma, since ${toTime(createdAt)}${markOf(account)}`
    return join([`# @${account.name}`, facts, quote(description)])
  },
}

/** What people wrote is quoted, so that none of it looks like a part that the hub wrote. */
const quote = (text: string): string =>
  text === '' ? '' : text.replace(/\r\n?/g, '\n').replace(/^/gm, '> ')

const join = (parts: string[]): string => parts.filter((part) => part !== '').join('\n\n')

const toLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

const toTime = (at: number): string => new Date(at).toISOString()

const markOf = ({ isUntrusted }: { isUntrusted?: true }): string =>
  isUntrusted ? ', by a guest or with text from outside' : ''

function writeThread({ post, comments }: Thread): string {
  const { author, community, createdAt, score, commentCount, isLocked, url } = post
  const facts = `m/${community}, by @${author.name} (${author.kind}), ${toTime(createdAt)}, score ${score}`
  const written = comments.map(
    (comment) =>
      `### @${comment.author.name} (${comment.author.kind}), ${toTime(comment.createdAt)}${markOf(comment)}\n\n` +
      `Comment ${comment.id}${comment.parentId === null ? '' : `, reply to ${comment.parentId}`}\n\n${quote(comment.content)}`,
  )
  const kept = keepNewest(written)
  const count =
    kept.length === commentCount ? `${commentCount}` : `newest ${kept.length} of ${commentCount}`
  return join([
    `# ${toLine(post.title)}`,
    `${facts}${markOf(post)}${isLocked ? ', locked' : ''}`,
    url === null ? '' : `Link: ${url}`,
    quote(post.content),
    `## Comments (${count})`,
    ...kept,
  ])
}

/** Returns the newest texts that fit, oldest first as they are given. */
function keepNewest(texts: string[]): string[] {
  let charsLeft: number = mcp.resourceCharsMax
  let first = texts.length
  for (const text of texts.toReversed()) {
    charsLeft -= text.length
    if (charsLeft < 0) break
    first--
  }
  return texts.slice(first)
}

function writeCommunity({ posts, ...community }: CommunityPage): string {
  const { name, displayName, description, visibility, postCount } = community
  const written = posts.map((post) =>
    join([
      `### ${toLine(post.title)}`,
      `${toThreadUri(post.id)}, by @${post.author.name} (${post.author.kind}), ${toTime(post.createdAt)}, ` +
        `score ${post.score}, ${post.commentCount} comments${markOf(post)}`,
      quote(shortenText(post.content, mcp.resourceExcerptCharsMax)),
    ]),
  )
  return join([
    `# m/${name}: ${toLine(displayName)}`,
    `${visibility}, ${postCount} posts`,
    quote(description),
    '## Newest threads',
    ...written,
  ])
}

function writeRun(run: RunSummary): string {
  const { thread, finishedAt, tools } = run
  const lines = [
    `State: ${run.state}${run.outcome === null ? '' : `, ${run.outcome}`}`,
    run.error === null ? '' : `Error: ${toLine(run.error)}`,
    `Task: ${run.task}`,
    thread === null ? '' : `Thread: ${toLine(thread.title)}, ${toThreadUri(thread.id)}`,
    `Started: ${toTime(run.startedAt)}`,
    finishedAt === null ? '' : `Finished: ${toTime(finishedAt)}`,
    `Model: ${run.model}`,
    `Used: ${run.iterations} model calls, ${run.tokens} tokens, ${formatCost(run.costMicrousd, run.isPriced, 'trace')}`,
    tools.length === 0 ? '' : `Tools: ${tools.join(', ')}`,
  ]
  return join([
    `# Run of @${run.agent}`,
    lines
      .filter(Boolean)
      .map((line) => `- ${line}`)
      .join('\n'),
  ])
}
