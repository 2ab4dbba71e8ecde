import { beforeAll, expect, test } from 'vitest'
import { apiRoutes } from '../../../src/hub/app'
import { createExample, exampleRequests } from '../../../src/hub/http/openapi'
import type { DescribedRoute } from '../../../src/hub/http/route'
import { adminRoutes } from '../../../src/mcp-servers/admin/admin-routes'
import { checkAnswer } from '../check-answer'
import { adminKey, createTestHub } from '../create-test-hub'

const routes: DescribedRoute[] = [...apiRoutes, ...adminRoutes]
const nameOf = ({ method, path }: DescribedRoute) => `${method.toUpperCase()} ${path}`
const byName = new Map(routes.map((route) => [nameOf(route), route]))

test.each(routes.map((route) => [nameOf(route), route] as const))(
  'H17: the example of %s is a call and an answer of its schemas',
  (name, route) => {
    const example = createExample(route)
    const { pathname, searchParams } = new URL(example.path, 'http://hub.test')
    expect(pathname).not.toMatch(/:|undefined/)
    expect(route.query?.safeParse(Object.fromEntries(searchParams)).error).toBeUndefined()
    expect(route.body?.safeParse(example.body).error).toBeUndefined()
    expect(example.body === undefined, name).toBe(route.body === undefined)
    // The address and the body stand between single quotes of a shell.
    expect(JSON.stringify([example.path, example.body])).not.toContain("'")
    checkAnswer(route.method.toUpperCase(), pathname, route.status, example.answer)
  },
)

test('H17: every example that is written by hand is one of a route', () => {
  expect(Object.keys(exampleRequests).filter((name) => !byName.has(name))).toEqual([])
})

/** What the hub of this test does not have: a module that reads definitions, a backup, and a signed event. */
const elsewhere = new Set([
  'PUT /agents/:name/definition',
  'DELETE /agents/:name/definition/held',
  'DELETE /agents/:name/knowledge/files',
  'GET /backup/rows',
  'GET /backup/objects',
])

const hub = createTestHub()
const send = (path: string, body?: object, key = adminKey) => hub.call(path, { key, body })
let count = 0
const newAccount = () => hub.join(`mira-${++count}`, 'human')

const newPost = async (): Promise<string> =>
  (await send('/posts', { community: 'general', title: '@scout how long?' })).body.post.id

const newComment = async (): Promise<string> => {
  const path = `/posts/${await newPost()}/comments`
  return (await send(path, { content: 'An hour?' })).body.comment.id
}

/** Returns the id of a guest's first message to the admin. */
const newRequest = async (): Promise<string> => {
  const { key, name } = await newAccount()
  await hub.call(`/accounts/${name}/role`, {
    method: 'PUT',
    key: adminKey,
    body: { role: 'guest' },
  })
  const body = { to: 'admin', content: 'May I?' }
  return (await send('/conversations', body, key)).body.conversation.id
}

const newConversation = async (): Promise<string> => {
  const id = await newRequest()
  await send(`/conversations/requests/${id}/approve`, {})
  return id
}

/** Puts what the hub has in the place of the ids and names of an example. */
async function fill(text: string): Promise<string> {
  const found: [string, () => Promise<string>][] = [
    ['POST_ID', newPost],
    ['COMMENT_ID', newComment],
    ['CONVERSATION_ID', newConversation],
    ['REQUEST_ID', newRequest],
    ['mira', async () => (await newAccount()).name],
  ]
  let filled = text
  for (const [name, create] of found) {
    if (filled.includes(name)) filled = filled.replaceAll(name, await create())
  }
  return filled
}

/** Returns the paths of the fields of an example that an answer lacks. Of a list the first item counts. */
function findMissing(example: unknown, real: unknown, path = ''): string[] {
  if (Array.isArray(example)) {
    return Array.isArray(real) && real.length > 0 ? findMissing(example[0], real[0], path) : []
  }
  if (typeof example !== 'object' || example === null || real === null) return []
  return Object.entries(example).flatMap(([name, each]) => {
    const field = (real as Record<string, unknown>)[name]
    return field === undefined ? [`${path}.${name}`] : findMissing(each, field, `${path}.${name}`)
  })
}

beforeAll(async () => {
  await hub.host((await hub.join('scout')).id)
  await newRequest()
})

test.each(Object.keys(exampleRequests).filter((name) => !elsewhere.has(name)))(
  'H17: a hub answers the example of %s with the fields that it shows',
  async (name) => {
    const route = byName.get(name)
    if (!route) throw new Error('There is no such route.')
    const { path, body, answer } = createExample(route)
    const sent = body === undefined ? undefined : JSON.parse(await fill(JSON.stringify(body)))
    // Nobody votes on their own posts, or reports them.
    const key = /(vote|report)$/.test(name) ? (await newAccount()).key : adminKey
    const options = { method: route.method.toUpperCase(), key, body: sent }
    const answered = await hub.call(await fill(path), options)
    expect(answered.status, JSON.stringify(answered.body)).toBe(route.status)
    expect(findMissing(answer, answered.body)).toEqual([])
  },
)
