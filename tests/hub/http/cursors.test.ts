import { beforeAll, expect, test } from 'vitest'
import { sample } from '../../support/sample'
import { apiTable } from '../access/api-table'
import { createWorld, type World } from '../access/create-world'
import { moderationTable } from '../access/moderation-table'
import type { Column } from '../access/requesters'
import { adminKey } from '../create-test-hub'

const columns = ['owner', 'admin', 'moderator'] as const

interface List {
  /** Below `/api/v1`, with parameters. */
  path: string
  column: Column
  cursor: string
}

let world: World
let lists: List[]

const send = (path: string, column: Column) =>
  world.fetchHub(
    new Request(`http://hub.test/api/v1${path}`, {
      headers: world.requesters.toHeaders(column, 'olga'),
    }),
    true,
  )
const withParameters = (path: string, parameters: Record<string, string>) =>
  `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(parameters)}`

interface Document {
  paths: Record<string, { get?: { parameters?: { name: string; schema: { enum?: string[] } }[] } }>
}

/** Other lists of a route than the one without parameters. */
const variants: Record<string, Record<string, string>[]> = {
  sort: ['new', 'top', 'rising', 'old', 'controversial'].map((sort) => ({ sort })),
  q: [{ q: 'text' }],
  type: [{ type: 'posts' }],
  community: [{ community: 'general' }],
  author: [{ author: 'olga' }],
  status: [{ status: 'all' }],
  kind: [{ kind: 'human' }],
}

/** Creates two rows of each list. */
async function fillLists() {
  for (const _ of [1, 2]) {
    await world.newRequest(await world.newPerson(), world.olga)
    await world.newConversation(await world.newPerson(), world.olga)
    await world.call(`/conversations/${world.conversationId}/messages`, {
      key: world.piet.key,
      body: { content: 'And this?' },
    })
    await world.newComment(world.piet, world.postId)
    await world.newComment(world.olga, world.othersPostId)
    await world.newInvitation()
    await world.newCommunityBan()
    await world.newHubBan()
    await world.newReport()
    await world.newRemoval()
    await world.newApproval()
    const body = { reason: 'Off topic' }
    const reported = await world.newPost(world.piet, 'A text to report')
    await world.call(`/posts/${reported}/report`, { key: world.olga.key, body })
  }
}

/** Has an admin open what is private to olga, and a community that she moderates. */
async function openPrivate() {
  for (const opened of [{ account: 'olga' }, { community: 'cellar' }]) {
    const body = { ...opened, reason: 'To help' }
    await world.call('/openings', { key: adminKey, body })
  }
}

/** Returns the paths of all lists that have cursors, from the document of the API. */
async function findListPaths(): Promise<string[]> {
  const response = await world.fetchHub(new Request('http://hub.test/openapi.json'), true)
  const { paths }: Document = await response.json()
  const found: string[] = []
  for (const [template, { get }] of Object.entries(paths)) {
    const parameters = get?.parameters ?? []
    if (!parameters.some(({ name }) => name === 'cursor')) continue
    const route = `GET ${template.replace(/\{(\w+)\}/g, ':$1')}`
    const row = apiTable[route] ?? moderationTable[route]
    const path = (await row?.send?.(world, 'owner'))?.path ?? template
    // Nothing of a public community is opened.
    const chosen = template === '/openings' ? [] : parameters
    const others = chosen.flatMap(({ name, schema: { enum: values } }) =>
      (variants[name] ?? []).filter((each) => !values || values.includes(each[name] ?? '')),
    )
    const [base = '', query = ''] = path.split('?')
    const given = Object.fromEntries(new URLSearchParams(query))
    found.push(path, ...others.map((each) => withParameters(base, { ...given, ...each })))
  }
  return found
}

beforeAll(async () => {
  world = await createWorld()
  await fillLists()
  await openPrivate()
  lists = []
  for (const path of await findListPaths()) {
    for (const column of columns) {
      const response = await send(withParameters(path, { limit: '1' }), column)
      const { next_cursor: cursor } = await response.json<{ next_cursor?: string | null }>()
      if (!cursor) continue
      lists.push({ path, column, cursor })
      break
    }
  }
})

test('lists: every list of the API gave a cursor, in each of its orders', async () => {
  const paths = [...new Set(await findListPaths())]
  const found = new Set(lists.map(({ path }) => path))
  expect(paths.filter((path) => !found.has(path))).toEqual([])
  expect(found.size).toBeGreaterThan(30)
})

test('lists: a cursor leads on in its own list', async () => {
  for (const { path, column, cursor } of lists) {
    const response = await send(withParameters(path, { limit: '1', cursor }), column)
    const body = await response.json<{ next_cursor: string | null }>()
    expect([path, response.status]).toEqual([path, 200])
    expect(body.next_cursor, path).not.toBe(cursor)
  }
})

test('lists: pages of one row are the rows of a whole page, in its order', async () => {
  for (const [path, name, column = 'admin'] of [
    ['/communities', 'communities'],
    [`/communities/${world.communityName}/members`, 'members'],
    ['/invitations', 'invitations'],
    ['/communities/general/bans', 'bans'],
    ['/bans/appeals', 'bans'],
    ['/openings', 'openings', 'owner'],
  ] as const) {
    const read = async (parameters: Record<string, string>) =>
      (await send(withParameters(path, parameters), column)).json<{
        [list: string]: unknown
        has_more: boolean
        next_cursor: string | null
      }>()
    const whole = await read({})
    expect([path, whole.has_more, whole.next_cursor]).toEqual([path, false, null])
    const rows = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Awaited<ReturnType<typeof read>> = await read({ limit: '1', cursor })
      expect(page.has_more, path).toBe(page.next_cursor !== null)
      rows.push(...(page[name] as unknown[]))
      cursor = page.next_cursor
    }
    expect(rows, path).toEqual(whole[name])
    expect(rows.length, path).toBeGreaterThan(1)
  }
})

test('lists: facts and files of an agent have one cursor, and each of them is listed once', async () => {
  for (const path of ['/agents/scout/knowledge', '/agents/scout/private']) {
    const facts: number[] = []
    const files: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const response = await send(withParameters(path, { limit: '1', cursor }), 'owner')
      const page: {
        facts: { id: number }[]
        files: { path: string }[]
        next_cursor: string | null
      } = await response.json()
      facts.push(...page.facts.map(({ id }) => id))
      files.push(...page.files.map((file) => file.path))
      cursor = page.next_cursor
    }
    expect({ facts, files }, path).toEqual({ facts: [3, 2, 1], files: ['a.md', 'böden.md'] })
  }
})

test('lists: a cursor of any other list or order is 400', async () => {
  const taken: string[] = []
  for (const own of lists) {
    for (const { path, cursor } of lists) {
      if (path === own.path) continue
      const response = await send(withParameters(own.path, { cursor }), own.column)
      const body = await response.json<{ details?: { path: string }[] }>()
      const isRefused = response.status === 400 && body.details?.[0]?.path === 'query.cursor'
      if (!isRefused) taken.push(`${path} at ${own.path}: ${response.status}`)
    }
  }
  expect(taken).toEqual([])
})

test('lists: what is no cursor is 400', async () => {
  const [first] = lists
  const texts = ['x', '%%%', 'null', btoa('null'), btoa('[1]'), btoa('["a",1]'), btoa('{}'), '💥']
  const torn = [
    first?.cursor.slice(0, -2) ?? '',
    `${first?.cursor}x`,
    btoa(`["x",${'['.repeat(99)}`),
  ]
  for (const { path, column } of lists) {
    for (const cursor of [...texts, ...torn]) {
      const response = await send(withParameters(path, { cursor }), column)
      expect([path, cursor, response.status]).toEqual([path, cursor, 400])
    }
  }
})

test('lists: no page takes a cursor of the API', async () => {
  const pages = ['/', '/?sort=new', '/?sort=rising', '/m/general', '/a/olga', '/inbox', '/dm']
  pages.push(`/dm/${world.conversationId}`, '/search?q=title', '/runs', '/audit', '/scheduler')
  pages.push('/moderation/log/general')
  const adminPages = ['/admin/log', '/admin/people', '/moderation']
  const headers = {
    owner: await world.requesters.toBrowserHeaders('owner', 'olga'),
    admin: await world.requesters.toBrowserHeaders('admin', 'olga'),
  }
  for (const [at, page] of [...pages, ...adminPages, `/p/${world.postId}`].entries()) {
    const column = adminPages.includes(page) ? 'admin' : 'owner'
    const name = page.startsWith('/p/') ? 'before' : 'cursor'
    for (const { path, cursor } of sample(lists, 8, at)) {
      const address = withParameters(page, { [name]: cursor })
      const request = new Request(`http://hub.test${address}`, { headers: headers[column] })
      const { status } = await world.fetchHub(request, true)
      expect([page, path, status]).toEqual([page, path, 400])
    }
  }
})
