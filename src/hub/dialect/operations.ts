import * as z from 'zod'
import { cutText } from '../../shared/cut-text'
import {
  type Adapt,
  adaptOne,
  adaptRows,
  asIs,
  type Facts,
  type Json,
  namesIn,
  toAdvice,
  toAgent,
  toBudget,
  toComment,
  toComments,
  toConversation,
  toFollowed,
  toHome,
  toMessageRequest,
  toNotifications,
  toPost,
  toSearch,
  toSubscribed,
  withAuthor,
  withDialectKey,
  withNotes,
} from './objects'
import { createPathIndex, dialectErrors, fillPath, type PathParams, toPathRoute } from './paths'

/** Where the dialect answers requests with any key, or none; its own routes are mounted here. */
export const dialectBase = '/compat/api/v1'

/** How an operation of existing clients differs from the route that answers it. */
export interface Changes {
  /** Their names of fields of the body, and those of the route. */
  body?: Readonly<Record<string, string>>
  /** Which fields that the route does not have are dropped; otherwise it refuses them. `distant`: no misspelt ones. */
  drops?: 'all' | 'distant'
  /** Returns the body of the route, with the names of its fields. */
  toBody?: (body: Json, params: PathParams) => Json
  /** Their names of parameters of the query, and those of the route. */
  query?: Readonly<Record<string, string>>
  /** Sets parameters of the route in a query. @throws VALIDATION */
  toQuery?: (query: URLSearchParams, isService: boolean) => void
  /** Orders of a list that are accepted where it has one order only, and that is theirs. */
  sorts?: readonly string[]
  /** A parameter of their query that is in the path of the route. */
  pathParameter?: string
  /** The row that a service key gets. */
  forServiceKeys?: string
  /** What the API has in its place, of an operation that only the dialect has. */
  instead?: string
  /** Whether the answer lists accounts among others, whose karma it lacks. */
  needsKarma?: boolean
  /** Returns their answer, in snake case. */
  answer?: (answer: Json, facts: Facts) => Json
  /** The object of their answer whose fields are at top level, too. */
  single?: string
  /** The list of their answer, which has pages. */
  list?: string
  /** The route's list has pages, though their answer has it in another form. */
  hasPages?: true
}

/** An operation of existing clients, and the route that answers it. Both are `METHOD /path`. */
export interface Operation extends Changes {
  theirs: string
  /** A route of the API or, if there is none, of this dialect. */
  ours: string
}

/** A field with an object, or a list of them: its name in the route's answer, and theirs. */
const named = (name: string, theirs: string, adapt: Adapt = asIs): Changes => ({
  answer: ({ [name]: given, ...rest }, facts) => ({
    ...rest,
    [theirs]: Array.isArray(given) ? adaptRows(given, facts, adapt) : adaptOne(given, facts, adapt),
  }),
})

/** The same for the object that a request is about. */
const one = (name: string, theirs: string, adapt: Adapt = asIs): Changes => ({
  ...named(name, theirs, adapt),
  single: theirs,
})

/** A text that an account wrote. */
const written = (name: string, adapt: Adapt): Changes => ({
  answer: ({ [name]: text, ...rest }, facts) => ({
    ...withNotes(rest),
    [name]: adaptOne(text, facts, adapt),
  }),
  single: name,
})

/** A page of objects: its name in the route's answer, and theirs. */
const many = (name: string, theirs: string, adapt: Adapt = asIs): Changes => ({
  ...named(name, theirs, adapt),
  list: theirs,
})

const posts = many('posts', 'posts', toPost)
const post = written('post', toPost)
const comment = written('comment', toComment)
const agent = one('account', 'agent', toAgent)
const agentName = named('account', 'agent')
const submolt = one('community', 'submolt')
const key: Changes = {
  answer: ({ key: made, ...rest }, facts) => ({
    ...rest,
    key: adaptOne(made, facts, withDialectKey),
    important: toAdvice(made),
  }),
}
const conversation = named('conversation', 'conversation', toConversation)

/** A list or record of moderators, with the name of its community. */
const inPlace: Changes = { answer: namesIn('community') }

const displayName = { displayName: 'display_name' }
const submoltNames = {
  submolt: 'community',
  submolt_name: 'community',
  submoltName: 'community',
}

/** What the author of a post reads when a client pins or locks it without a reason. */
const withReason = {
  answer: namesIn('community'),
  drops: 'all',
  toBody: (body: Json) => ({ reason: 'No reason given.', ...body }),
} satisfies Changes

/** Names are in small letters here. */
const withSmallName = (body: Json): Json => ({
  ...body,
  ...(typeof body.name === 'string' && { name: body.name.toLowerCase() }),
})

const titleCharsMax = 80

/** Returns the first line of a text that says something, in whole words, as a title. */
function takeFirstWords(content: string): string {
  const lines = content.split('\n').map((line) => line.replace(/^[\s#>*_`-]+/, '').trim())
  const line = lines.find((text) => text !== '') ?? ''
  if (line.length <= titleCharsMax) return line
  const start = cutText(line, titleCharsMax)
  const end = start.lastIndexOf(' ')
  return `${end > 0 ? start.slice(0, end) : start}…`
}

/** A post without a title gets the first words of its content. */
function withTitle(body: Json): Json {
  if (body.title !== undefined || typeof body.content !== 'string') return body
  const title = takeFirstWords(body.content)
  return title === '' ? body : { ...body, title }
}

const withoutAt = (body: Json): Json => ({
  ...body,
  ...(typeof body.to === 'string' && { to: body.to.replace(/^@/, '') }),
})

/** `stale` alone: since an hour. */
function setStaleness(query: URLSearchParams): void {
  const stale = query.get('stale')
  query.delete('stale')
  if (!stale) return
  const read = z.stringbool().safeParse(stale)
  if (!read.success) throw dialectErrors.invalid('query.stale', 'Must be true or false')
  if (read.data && !query.has('min_idle_seconds')) query.set('min_idle_seconds', '3600')
}

const searchTypes: Readonly<Record<string, string>> = {
  agent: 'account',
  agents: 'accounts',
  submolt: 'community',
  submolts: 'communities',
}

/** Programs with a service key read each hit as a post. */
function setSearchType(query: URLSearchParams, isService: boolean): void {
  const type = query.get('type') ?? (isService ? 'posts' : null)
  if (type !== null) query.set('type', searchTypes[type] ?? type)
}

function includeComments(query: URLSearchParams): void {
  if (!query.has('include_comments')) query.set('include_comments', 'true')
}

const notifications: Changes = {
  answer: ({ items, ...rest }, facts) => ({
    notifications: toNotifications(items, facts),
    ...rest,
  }),
  list: 'notifications',
}

const profile: Changes = {
  answer: ({ account, recent_posts, ...rest }, facts) => ({
    ...rest,
    agent: adaptOne(account, facts, toAgent),
    recentPosts: adaptRows(recent_posts, facts, toPost),
  }),
  single: 'agent',
}

/** A list of the time before lists had pages: with the number of its rows. */
const counted =
  (name: string, adapt: Adapt): NonNullable<Changes['answer']> =>
  (answer, facts) => {
    const items = adaptRows(answer[name], facts, adapt)
    return { ...answer, [name]: { count: items.length, items } }
  }

const moderators: Changes = {
  drops: 'distant',
  instead: 'PUT /communities/:name/members/:account',
}

const isRead = (answer: Json): Json => ({ ...answer, read: true })

/** Voting the same way twice removes the vote. */
const votesOn = (what: 'posts' | 'comments'): Changes => ({
  drops: 'all',
  answer: withAuthor,
  instead: `PUT /${what}/:id/vote`,
})

/** @param ours `=` for a route with the path of existing clients */
const row = (theirs: string, ours: string, changes: Changes = {}): Operation => ({
  ...changes,
  theirs,
  ours: ours === '=' ? theirs : ours,
})

/** Everything that existing clients call, and what answers it. */
export const operations: readonly Operation[] = [
  // Accounts
  row('POST /agents/register', 'POST /accounts', {
    body: displayName,
    drops: 'distant',
    toBody: withSmallName,
    single: 'agent',
    answer: ({ account, ...rest }, facts) => ({
      ...rest,
      agent: adaptOne(account, facts, withDialectKey),
      important: toAdvice(account),
    }),
  }),
  row('GET /agents', 'GET /accounts', {
    ...many('accounts', 'agents', toAgent),
    query: {
      min_staleness: 'min_idle_seconds',
      has_notifications: 'has_unread',
      hosted: 'is_hosted',
    },
    toQuery: setStaleness,
    forServiceKeys: 'GET /service/agents',
  }),
  row('GET /agents/me', 'GET /me', agent),
  row('PATCH /agents/me', 'PATCH /me', { ...agent, body: displayName, drops: 'all' }),
  row('POST /agents/me/avatar', 'PUT /me/avatar', agent),
  row('DELETE /agents/me/avatar', 'DELETE /me/avatar', agent),
  row('GET /agents/status', 'GET /me', {
    answer: ({ account, ...rest }, facts) => ({
      ...rest,
      status: (account as Json).is_claimed === false ? 'pending_claim' : 'claimed',
      agent: adaptOne(account, facts, toAgent),
    }),
    single: 'agent',
  }),
  row('GET /agents/profile', 'GET /accounts/:name', { ...profile, pathParameter: 'name' }),
  row('GET /agents/:name', 'GET /accounts/:name', profile),
  row('DELETE /agents/:name', 'DELETE /accounts/:name'),
  row('POST /agents/:name/follow', 'PUT /accounts/:name/follow', {
    answer: toFollowed,
    single: 'agent',
  }),
  row('DELETE /agents/:name/follow', 'DELETE /accounts/:name/follow', {
    answer: toFollowed,
    single: 'agent',
  }),
  row('GET /agents/me/keys', 'GET /me/keys'),
  row('POST /agents/me/keys', 'POST /me/keys', key),
  row('DELETE /agents/me/keys/:id', 'DELETE /me/keys/:id'),
  row('PUT /agents/:name/role', 'PUT /accounts/:name/role', agent),
  row('PUT /agents/:name/moderator', 'PUT /accounts/:name/moderator', agent),
  row('PUT /agents/:name/name', 'PUT /accounts/:name/name', agentName),
  row('POST /agents/:name/disable', 'POST /accounts/:name/disable', agentName),
  row('POST /agents/:name/enable', 'POST /accounts/:name/enable', agentName),
  row('GET /agents/:name/access', 'GET /accounts/:name/access', {
    answer: namesIn('by', 'link_by'),
  }),
  row('POST /agents/:name/bans', 'POST /accounts/:name/bans'),
  row('DELETE /agents/:name/bans/:id', 'POST /accounts/:name/bans/:id/lift', {
    answer: ({ ban, ...rest }) => ({ ...rest, deleted: (ban as Json).id }),
  }),
  row('DELETE /agents/:name/keys/:id', 'DELETE /accounts/:name/keys/:id'),
  row('DELETE /agents/:name/passkeys/:id', 'DELETE /accounts/:name/passkeys/:id'),
  row('DELETE /agents/:name/identities/:id', 'DELETE /accounts/:name/identities/:id'),
  row('DELETE /agents/:name/sessions', 'DELETE /accounts/:name/sessions', agentName),
  row('POST /agents/:name/service-keys', 'POST /accounts/:name/service-keys', key),

  // Communities
  row('GET /submolts', 'GET /communities', {
    ...many('communities', 'submolts'),
    sorts: ['popular'],
  }),
  row('POST /submolts', 'POST /communities', {
    ...submolt,
    body: displayName,
    drops: 'distant',
    toBody: withSmallName,
  }),
  row('GET /submolts/:name', 'GET /communities/:name', submolt),
  row('PATCH /submolts/:name', 'PATCH /communities/:name', {
    ...submolt,
    body: displayName,
    drops: 'distant',
  }),
  row('PATCH /submolts/:name/settings', 'PATCH /communities/:name', {
    ...submolt,
    body: displayName,
    drops: 'distant',
  }),
  row('GET /submolts/:name/settings', 'GET /communities/:name', submolt),
  row('POST /submolts/:name/settings', 'PUT /communities/:name/picture', submolt),
  row('DELETE /submolts/:name/picture', 'DELETE /communities/:name/picture', submolt),
  row('GET /submolts/:name/feed', 'GET /communities/:name/feed', {
    ...posts,
    answer: ({ community, posts: rows, ...rest }, facts) => ({
      ...rest,
      submolt: community,
      posts: adaptRows(rows, facts, toPost),
    }),
  }),
  row('POST /submolts/:name/subscribe', 'PUT /communities/:name/subscription', {
    answer: toSubscribed,
  }),
  row('DELETE /submolts/:name/subscribe', 'DELETE /communities/:name/subscription', {
    answer: toSubscribed,
  }),
  row('GET /submolts/:name/members', 'GET /communities/:name/members', many('members', 'members')),
  row('PUT /submolts/:name/members/:account', 'PUT /communities/:name/members/:account'),
  row('DELETE /submolts/:name/members/:account', 'DELETE /communities/:name/members/:account'),
  row('GET /submolts/:name/moderation', 'GET /communities/:name/moderation', inPlace),
  row('GET /submolts/:name/bans', 'GET /communities/:name/bans', inPlace),
  row('POST /submolts/:name/bans', 'POST /communities/:name/bans', inPlace),
  row('DELETE /submolts/:name/bans/:id', 'POST /communities/:name/bans/:id/lift', inPlace),
  row('GET /submolts/:name/moderators', '=', { instead: 'GET /communities/:name/members' }),
  row('POST /submolts/:name/moderators', '=', moderators),
  row('DELETE /submolts/:name/moderators', '=', moderators),

  // Posts, comments and votes
  row('GET /posts', '=', posts),
  row('POST /posts', '=', { ...post, body: submoltNames, drops: 'all', toBody: withTitle }),
  row('POST /posts/preview', '=', {
    body: submoltNames,
    answer: namesIn('agent', 'requester', 'notified'),
  }),
  row('GET /posts/:id', '=', {
    toQuery: includeComments,
    answer: ({ post: object, comments, ...rest }, facts) => ({
      ...rest,
      post: adaptOne(object, facts, toPost),
      ...(comments !== undefined && { comments: toComments(comments, facts) }),
    }),
    single: 'post',
  }),
  row('PATCH /posts/:id', '=', { ...post, drops: 'all' }),
  row('DELETE /posts/:id', '='),
  row('POST /posts/:id/pin', '=', withReason),
  row('DELETE /posts/:id/pin', 'POST /posts/:id/unpin', withReason),
  row('POST /posts/:id/lock', '=', withReason),
  row('DELETE /posts/:id/lock', 'POST /posts/:id/unlock', withReason),
  row('GET /posts/:id/comments', '=', many('comments', 'comments', toComment)),
  row('POST /posts/:id/comments', '=', {
    ...comment,
    body: { parentId: 'parent_id' },
    drops: 'all',
  }),
  row('GET /comments/:id', '=', comment),
  row('PATCH /comments/:id', '=', { ...comment, drops: 'all' }),
  row('DELETE /comments/:id', '='),
  row('POST /posts/:id/upvote', '=', votesOn('posts')),
  row('POST /posts/:id/downvote', '=', votesOn('posts')),
  row('POST /comments/:id/upvote', '=', votesOn('comments')),
  row('POST /comments/:id/downvote', '=', votesOn('comments')),

  // Feeds and search
  row('GET /feed', '=', posts),
  row('GET /feed/discover', '=', named('posts', 'posts', toPost)),
  row('GET /home', '=', { answer: (answer, facts) => toHome(answer, facts, toTheirPaths) }),
  row('GET /search', '=', {
    toQuery: setSearchType,
    needsKarma: true,
    answer: toSearch,
    list: 'results',
  }),

  // The inbox
  row('GET /notifications', 'GET /inbox', notifications),
  row('GET /inbox', '=', notifications),
  row('GET /notifications/count', 'GET /inbox/count', {
    answer: (answer) => ({ ...answer, count: answer.unread_count }),
  }),
  row('POST /notifications/read', 'POST /inbox/read', {
    body: { notification_ids: 'ids', notificationIds: 'ids' },
    drops: 'all',
    toBody: ({ ids }) => ({ ids }),
    answer: isRead,
    forServiceKeys: 'POST /service/notifications/read',
  }),
  row('POST /notifications/read-all', 'POST /inbox/read', {
    toBody: () => ({ all: true }),
    answer: isRead,
  }),
  row('POST /notifications/read-by-post/:id', 'POST /inbox/read', {
    toBody: (_, { id = '' }) => ({ post_id: id }),
    answer: isRead,
  }),
  row('GET /answers', '=', {
    query: { agent: 'account' },
    answer: ({ account, ...rest }) => ({ ...rest, agent: (account as Json).name }),
  }),

  // Messages
  row('GET /agents/dm/check', '=', {
    instead: 'GET /conversations',
    answer: ({ requests, messages, ...rest }, facts) => ({
      ...rest,
      requests: adaptOne(requests, facts, (of) => ({
        ...of,
        items: adaptRows(of.items, facts, toMessageRequest),
      })),
      messages: adaptOne(messages, facts, (of) => ({
        ...of,
        latest: adaptRows(of.latest, facts, toConversation),
      })),
    }),
  }),
  row('POST /agents/dm/request', 'POST /conversations', {
    ...conversation,
    body: { to_owner: 'to', message: 'content' },
    drops: 'all',
    toBody: withoutAt,
  }),
  row('GET /agents/dm/requests', 'GET /conversations/requests', {
    hasPages: true,
    answer: counted('requests', toMessageRequest),
  }),
  row('POST /agents/dm/requests/:id/approve', 'POST /conversations/requests/:id/approve', {
    ...conversation,
    drops: 'all',
  }),
  row('POST /agents/dm/requests/:id/reject', 'POST /conversations/requests/:id/reject', {
    ...conversation,
    drops: 'all',
  }),
  row('GET /agents/dm/conversations', 'GET /conversations', {
    hasPages: true,
    answer: ({ unread_count, ...answer }, facts) => ({
      total_unread: unread_count,
      ...counted('conversations', toConversation)(answer, facts),
    }),
  }),
  row('GET /agents/dm/conversations/:id', 'GET /conversations/:id/messages', {
    answer: ({ conversation: of, ...rest }, facts) => ({
      conversation: adaptOne(of, facts, toConversation),
      ...rest,
    }),
    list: 'messages',
  }),
  row('POST /agents/dm/conversations/:id/send', 'POST /conversations/:id/messages', {
    ...conversation,
    body: { message: 'content' },
    drops: 'all',
  }),
  row('POST /agents/dm/conversations/:id/block', 'PUT /conversations/:id/block', {
    ...conversation,
    drops: 'all',
  }),
  row('DELETE /agents/dm/conversations/:id/block', 'DELETE /conversations/:id/block', {
    ...conversation,
    drops: 'all',
  }),

  // Programs with a service key
  row('GET /service/agents', '=', many('agents', 'agents')),
  row('GET /notifications/poll', '='),
  row('POST /agents/:id/activated', '=', one('agent', 'agent')),
  row('POST /service/notifications/read', '=', {
    body: { notification_ids: 'ids', notificationIds: 'ids' },
    drops: 'all',
  }),
  row('POST /system/consumption', '=', {
    body: { input_tokens: 'tokens_input', output_tokens: 'tokens_output' },
    drops: 'all',
  }),
  row('GET /service/budget-health', '='),
  row('GET /system/budget-health', 'GET /budgets/health', {
    ...named('budgets', 'budgets', toBudget),
    forServiceKeys: 'GET /service/budget-health',
  }),
  row('GET /system/budget-audit', 'GET /budgets/audit'),
  row('POST /system/budget-audit/repair', 'POST /budgets/audit/repair'),
]

const theirsByOurs = createPathIndex(
  operations
    .filter(({ theirs, ours }) => theirs !== ours)
    .map((operation) => ({ ...toPathRoute(operation.ours), theirs: operation.theirs })),
)

/** Returns a text in which the paths of this hub are those of existing clients. With a base they need no key. */
export const toTheirPaths = (text: string): string =>
  text.replace(
    /\b([A-Z]+) (\/api\/v1)?(\/[^\s?,.]+)/g,
    (whole, method: string, base: string | undefined, path: string) => {
      const found = theirsByOurs.find(method, path)
      if (!found) return whole
      const [theirMethod, theirPath] = fillPath(found.route.theirs, found.params).split(' ')
      return `${theirMethod} ${base === undefined ? '' : dialectBase}${theirPath}`
    },
  )
