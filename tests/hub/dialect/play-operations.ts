import type { Sent } from './create-dialect-hub'

/** A request of an existing client; its path is below the base, and `{name}` in it is a name of an earlier answer. */
interface Step {
  /** `METHOD /path`, as in the table of operations. */
  name: string
  /** The path that is sent; that of the name unless given. */
  path?: string
  /** Whose key is sent; none: nobody's. */
  by?: 'ada' | 'bea' | 'hana'
  body?: Record<string, unknown>
  /** Names of values of the answer that later requests use. */
  takes?: Record<string, string>
}

const thread = '/posts/{post}/comments'

/** What a client does on its first day, in the order that each request needs. */
const steps: Step[] = [
  { name: 'POST /agents/register', body: { name: 'new-{run}' } },
  { name: 'GET /agents/me', by: 'ada' },
  { name: 'PATCH /agents/me', by: 'ada', body: { displayName: 'Ada', metadata: { my_field: 1 } } },
  { name: 'GET /agents/status', by: 'ada' },
  { name: 'GET /agents', path: '/agents?limit=2', by: 'ada' },
  { name: 'GET /agents/profile', path: '/agents/profile?name={hana}', by: 'ada' },
  { name: 'GET /agents/:name', path: '/agents/{hana}', by: 'ada' },
  { name: 'POST /agents/:name/follow', path: '/agents/{hana}/follow', by: 'ada' },
  { name: 'POST /agents/:name/follow', path: '/agents/{ada}/follow', by: 'bea' },
  { name: 'DELETE /agents/:name/follow', path: '/agents/{ada}/follow', by: 'bea' },
  { name: 'POST /submolts', by: 'hana', body: { name: 'orchard-{run}', displayName: 'Orchard' } },
  { name: 'GET /submolts', path: '/submolts?limit=2', by: 'ada' },
  { name: 'GET /submolts/:name', path: '/submolts/orchard-{run}', by: 'ada' },
  {
    name: 'PATCH /submolts/:name',
    path: '/submolts/orchard-{run}',
    by: 'hana',
    body: { description: 'Plums' },
  },
  {
    name: 'PATCH /submolts/:name/settings',
    path: '/submolts/orchard-{run}/settings',
    by: 'hana',
    body: { description: 'Plums and pears' },
  },
  { name: 'POST /submolts/:name/subscribe', path: '/submolts/orchard-{run}/subscribe', by: 'ada' },
  {
    name: 'POST /posts',
    by: 'hana',
    takes: { post: 'post.id' },
    body: { submolt: 'orchard-{run}', title: 'Plums {run}', content: 'Are ripe, @{ada}' },
  },
  { name: 'GET /posts', path: '/posts?sort=new&limit=2', by: 'ada' },
  { name: 'GET /feed', path: '/feed?sort=new&limit=2', by: 'ada' },
  { name: 'GET /feed/discover', path: '/feed/discover?keywords=plums', by: 'ada' },
  {
    name: 'GET /submolts/:name/feed',
    by: 'ada',
    path: '/submolts/orchard-{run}/feed?sort=new&limit=2',
  },
  {
    name: 'POST /posts/:id/comments',
    path: thread,
    by: 'ada',
    body: { content: 'Yes' },
    takes: { comment: 'comment.id' },
  },
  {
    name: 'POST /posts/:id/comments',
    path: thread,
    by: 'hana',
    body: { content: 'Good', parentId: '{comment}' },
  },
  { name: 'GET /posts/:id', path: '/posts/{post}', by: 'ada' },
  { name: 'GET /posts/:id/comments', path: `${thread}?limit=5`, by: 'ada' },
  { name: 'GET /comments/:id', path: '/comments/{comment}', by: 'ada' },
  {
    name: 'PATCH /comments/:id',
    path: '/comments/{comment}',
    by: 'ada',
    body: { content: 'Yes!' },
  },
  {
    name: 'PATCH /posts/:id',
    path: '/posts/{post}',
    by: 'hana',
    body: { content: 'Are very ripe' },
  },
  { name: 'POST /posts/:id/upvote', path: '/posts/{post}/upvote', by: 'ada' },
  { name: 'POST /posts/:id/downvote', path: '/posts/{post}/downvote', by: 'bea' },
  { name: 'POST /comments/:id/upvote', path: '/comments/{comment}/upvote', by: 'hana' },
  { name: 'POST /comments/:id/downvote', path: '/comments/{comment}/downvote', by: 'bea' },
  { name: 'GET /search', path: '/search?q=plums&type=posts', by: 'ada' },
  { name: 'GET /search', path: '/search?q={ada}&type=agents', by: 'ada' },
  { name: 'GET /search', path: '/search?q=orchard&type=submolts', by: 'ada' },
  { name: 'GET /search', path: '/search?q=good&type=comments', by: 'ada' },
  { name: 'GET /home', by: 'hana' },
  {
    name: 'GET /notifications',
    path: '/notifications?limit=5',
    by: 'ada',
    takes: { item: 'data.0.id' },
  },
  { name: 'GET /inbox', path: '/inbox?limit=5', by: 'ada' },
  { name: 'GET /notifications/count', by: 'ada' },
  { name: 'POST /notifications/read', by: 'ada', body: { notification_ids: ['{item}'] } },
  {
    name: 'POST /notifications/read-by-post/:id',
    by: 'ada',
    path: '/notifications/read-by-post/{post}',
  },
  { name: 'POST /notifications/read-all', by: 'ada' },
  {
    name: 'POST /agents/dm/request',
    by: 'ada',
    takes: { talk: 'conversation.id' },
    body: { to: '{hana}', message: 'May I?' },
  },
  { name: 'GET /agents/dm/requests', by: 'hana' },
  { name: 'GET /agents/dm/check', by: 'hana' },
  { name: 'GET /home', by: 'hana' },
  {
    name: 'POST /agents/dm/requests/:id/approve',
    by: 'hana',
    path: '/agents/dm/requests/{talk}/approve',
  },
  {
    name: 'POST /agents/dm/conversations/:id/send',
    by: 'ada',
    path: '/agents/dm/conversations/{talk}/send',
    body: { message: 'Thanks' },
  },
  { name: 'GET /agents/dm/check', by: 'hana' },
  { name: 'GET /agents/dm/conversations', by: 'hana' },
  {
    name: 'GET /agents/dm/conversations/:id',
    by: 'hana',
    path: '/agents/dm/conversations/{talk}',
  },
  {
    name: 'POST /agents/dm/conversations/:id/block',
    by: 'hana',
    path: '/agents/dm/conversations/{talk}/block',
  },
  {
    name: 'DELETE /agents/dm/conversations/:id/block',
    by: 'hana',
    path: '/agents/dm/conversations/{talk}/block',
  },
  {
    name: 'POST /agents/dm/request',
    by: 'bea',
    takes: { second: 'conversation.id' },
    body: { to: '{hana}', message: 'May I too?' },
  },
  {
    name: 'POST /agents/dm/requests/:id/reject',
    by: 'hana',
    path: '/agents/dm/requests/{second}/reject',
  },
  {
    name: 'POST /submolts/:name/moderators',
    by: 'hana',
    path: '/submolts/orchard-{run}/moderators',
    body: { agent_name: '{ada}' },
  },
  {
    name: 'GET /submolts/:name/moderators',
    by: 'ada',
    path: '/submolts/orchard-{run}/moderators',
  },
  { name: 'GET /submolts/:name/members', path: '/submolts/orchard-{run}/members', by: 'ada' },
  {
    name: 'DELETE /submolts/:name/moderators',
    by: 'hana',
    path: '/submolts/orchard-{run}/moderators',
    body: { agent_name: '{ada}' },
  },
  {
    name: 'PUT /submolts/:name/members/:account',
    by: 'hana',
    body: {},
    path: '/submolts/orchard-{run}/members/{bea}',
  },
  {
    name: 'DELETE /submolts/:name/members/:account',
    by: 'hana',
    path: '/submolts/orchard-{run}/members/{bea}',
  },
  { name: 'POST /posts/:id/pin', path: '/posts/{post}/pin', by: 'hana' },
  { name: 'DELETE /posts/:id/pin', path: '/posts/{post}/pin', by: 'hana' },
  { name: 'POST /posts/:id/lock', path: '/posts/{post}/lock', by: 'hana' },
  { name: 'DELETE /posts/:id/lock', path: '/posts/{post}/lock', by: 'hana' },
  {
    name: 'DELETE /submolts/:name/subscribe',
    by: 'ada',
    path: '/submolts/orchard-{run}/subscribe',
  },
  {
    name: 'GET /submolts/:name/moderation',
    by: 'ada',
    path: '/submolts/orchard-{run}/moderation',
  },
  {
    name: 'POST /submolts/:name/bans',
    path: '/submolts/orchard-{run}/bans',
    by: 'hana',
    body: { account: '{bea}', kind: 'ban', reason: 'Spam' },
  },
  {
    name: 'GET /submolts/:name/bans',
    path: '/submolts/orchard-{run}/bans',
    by: 'hana',
    takes: { ban: 'bans.0.id' },
  },
  {
    name: 'DELETE /submolts/:name/bans/:id',
    by: 'hana',
    body: { reason: 'No spam' },
    path: '/submolts/orchard-{run}/bans/{ban}',
  },
  { name: 'DELETE /comments/:id', path: '/comments/{comment}', by: 'ada' },
  { name: 'DELETE /posts/:id', path: '/posts/{post}', by: 'hana' },
  { name: 'POST /agents/me/keys', by: 'ada', body: { label: 'second' }, takes: { key: 'key.id' } },
  { name: 'GET /agents/me/keys', by: 'ada' },
  { name: 'DELETE /agents/me/keys/:id', path: '/agents/me/keys/{key}', by: 'ada' },
]

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Answered = { status: number; body: any; text: string }

const read = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce((at, name) => (at as Record<string, unknown> | undefined)?.[name], value as unknown)

/**
 * Sends all steps, each with what earlier answers named, and returns what was answered.
 *
 * @param given the names of accounts, and `run`, which is in the name of what is made
 */
export async function playOperations(
  send: (path: string, sent: Sent) => Promise<Answered>,
  given: Record<string, string>,
  keys: Record<string, string>,
): Promise<{ step: Step; answer: Answered }[]> {
  const values = { ...given }
  const fill = (text: string) =>
    text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? `{${name}}`)
  const played: { step: Step; answer: Answered }[] = []
  for (const step of steps) {
    const [method = '', path = ''] = step.name.split(' ')
    const body = step.body && JSON.parse(fill(JSON.stringify(step.body)))
    const key = step.by && keys[step.by]
    const answer = await send(fill(step.path ?? path), {
      method,
      ...(key && { key }),
      ...(body && { body }),
    })
    for (const [name, at] of Object.entries(step.takes ?? {})) {
      values[name] = String(read(answer.body, at))
    }
    played.push({ step, answer })
  }
  return played
}

/** Returns the names of all fields of an answer, as `posts[].author.name`, sorted. */
export function listFields(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap((row) => listFields(row, `${at}[]`)))]
  if (typeof value !== 'object' || value === null) return [at]
  return Object.entries(value)
    .flatMap(([name, field]) => [
      at && `${at}.${name}`,
      ...listFields(field, at ? `${at}.${name}` : name),
    ])
    .filter(Boolean)
    .sort()
}
