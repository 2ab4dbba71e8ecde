import { env, exports } from 'cloudflare:workers'
import { checkAnswer } from '../hub/check-answer'

/** Helpers of all stories: mira and tomas are people, scout and archivist are agents. */
export const adminKey = 'test_admin_key_0123456789'
const origin = 'http://hub.test'

export interface Answer<Body = Record<string, unknown>> {
  status: number
  body: Body
  headers: Headers
}

/** Sends one request to the Worker. */
export async function call<Body = Record<string, never>>(
  method: string,
  path: string,
  options: { key?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer<Body>> {
  const response = await exports.default.fetch(
    new Request(`${origin}${path}`, {
      method,
      headers: {
        ...(options.key ? { authorization: `Bearer ${options.key}` } : {}),
        ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    }),
  )
  const text = await response.text()
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    body = { text }
  }
  const apiBase = '/api/v1'
  if (path.startsWith(apiBase))
    checkAnswer(method, path.slice(apiBase.length), response.status, body)
  return { status: response.status, body: body as Body, headers: response.headers }
}

/** Creates an account. Returns its key and id. */
export async function createAccount(name: string, kind: 'human' | 'agent' = 'human') {
  const { status, body } = await call<{ account: { id: string; api_key: string } }>(
    'POST',
    '/api/v1/accounts',
    { key: adminKey, body: { name, kind } },
  )
  if (status !== 201) throw new Error(`Creating account ${name} failed: ${JSON.stringify(body)}`)
  return { name, id: body.account.id, key: body.account.api_key }
}

export const scoutFiles = (brain = 'provider: offline', extra = '') => ({
  'config.yaml': `name: scout\ndescription: A researcher.\nbrain:\n  ${brain.replaceAll('\n', '\n  ')}\ncapabilities:\n  grants: [hub:read]\n${extra}`,
  'system-prompt.md': 'You are scout, a calm researcher who answers with links.',
})

/** Pushes a definition. Returns the agent's account id. */
export async function pushDefinition(name: string, files: Record<string, string>): Promise<string> {
  const { status, body } = await call('PUT', `/api/v1/agents/${name}/definition`, {
    key: adminKey,
    body: { files },
  })
  if (status !== 200)
    throw new Error(`Pushing the definition of ${name} failed: ${JSON.stringify(body)}`)
  const row = await env.DB.prepare('SELECT id FROM accounts WHERE name = ?')
    .bind(name)
    .first<{ id: string }>()
  return row?.id ?? ''
}

export async function post(
  key: string,
  title: string,
  content: string,
  community = 'general',
): Promise<string> {
  const { status, body } = await call<{ post: { id: string } }>('POST', '/api/v1/posts', {
    key,
    body: { community: community, title, content },
  })
  if (status !== 201) throw new Error(`Creating the post failed: ${JSON.stringify(body)}`)
  return body.post.id
}

export interface CommentRow {
  id: string
  content: string
  author: string
  activation_id: string | null
  parent_id: string | null
}

export async function listComments(postId: string): Promise<CommentRow[]> {
  const { results } = await env.DB.prepare(
    `SELECT c.id, c.content, c.activation_id, c.parent_id, a.name AS author FROM comments c
     JOIN accounts a ON a.id = c.author_id WHERE c.post_id = ? ORDER BY c.created_at, c.id`,
  )
    .bind(postId)
    .all<CommentRow>()
  return results
}

/** Waits until `read` returns a value, for at least two minutes; tests have their own timeout. */
export async function waitForValue<Value>(
  read: () => Promise<Value | null | undefined | false>,
  what: string,
): Promise<Value> {
  for (let attempt = 0; attempt < 1_200; attempt++) {
    const value = await read()
    if (value) return value
    // Soon at first, then so seldom that no limit on requests refuses what is waited for.
    await new Promise((resolve) => setTimeout(resolve, attempt < 600 ? 20 : 200))
  }
  throw new Error(`Timed out waiting for ${what}. ${await describeWork()}`)
}

/** Returns what agents did last and what waits for them, for the message of a test that waited in vain. */
async function describeWork(): Promise<string> {
  const runs = await env.DB.prepare(
    `SELECT id, agent_id, task, state, outcome, error, reply_refusal, started_at, finished_at, iterations, tools
      FROM activations ORDER BY id DESC LIMIT 5`,
  ).all()
  const items = await env.DB.prepare(
    `SELECT account_id, type, created_at, claimed_by, refusal, activation_id, approval_id
      FROM inbox_items ORDER BY id DESC LIMIT 5`,
  ).all()
  return JSON.stringify({ now: Date.now(), runs: runs.results, items: items.results })
}

export const waitForReply = (postId: string, author = 'scout'): Promise<CommentRow> =>
  waitForValue(
    async () => (await listComments(postId)).find((row) => row.author === author),
    `${author}'s reply`,
  )
