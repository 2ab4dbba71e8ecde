import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { sample } from '../../support/sample'
import { apiTable } from './api-table'
import { readName, type Table } from './cells'
import { createWorld, type World } from './create-world'
import {
  createThreads,
  type Erased,
  type Erasure,
  type ErasureName,
  erasureNames,
  erasures,
} from './deleted-texts'
import { pageTable } from './page-table'
import type { Column, OwnerName } from './requesters'

let world: World
let hub: Awaited<ReturnType<typeof createThreads>>
/** What reads but is of no thread, and what is of each. */
let places: string[]
let pathsOf: Record<ErasureName, string[]>
/** What was shown before anything was deleted: who saw which words where, and what tools read. */
let before: { found: Find[]; tools: string }
beforeAll(async () => {
  world = await createWorld()
  hub = await createThreads(world)
  places = await listPlaces()
  pathsOf = Object.fromEntries(
    erasureNames.map((name) => [name, listPathsOf(name)]),
  ) as typeof pathsOf
  // What one thread shows before, the others do.
  const [first] = sample(erasureNames, 1) as [ErasureName]
  before = {
    found: await findWords([...places, ...pathsOf[first]], seeing),
    tools: await readTools(),
  }
  for (const name of erasureNames) await hub.erase(name)
}, 600_000)

interface Caller {
  column: Column
  owner: OwnerName
}
const asOlga = (column: Column): Caller => ({ column, owner: 'olga' })
/** Who is mentioned in every text, the author and an admin: together they see every place. */
const seeing = (['member', 'owner', 'admin'] as const).map(asOlga)
const moderator = asOlga('moderator')
/** Who have no more to do with the texts than others; they read the pages in turns. */
const strangers = (['nobody', 'guest', 'external'] as const).map(asOlga)

const base = '/api/v1'

async function listRows(table: Table, queries: string[]): Promise<string[]> {
  const found: string[] = []
  for (const [name, row] of Object.entries(table)) {
    const { method, path } = readName(name)
    if (method !== 'GET' || /^\/(live|credentials|models|tools\/remote|connect)\b/.test(path))
      continue
    const sent = (await row.send?.(world, 'nobody'))?.path ?? path
    found.push(...queries.map((query) => (sent.includes('?') ? sent : sent + query)))
  }
  return found
}

/** Every page and route that reads but those of one thread or run. */
async function listPlaces(): Promise<string[]> {
  const api = [
    ...(await listRows(apiTable, [
      '',
      '?status=all&limit=100&sort=new&unread=false&include_comments=true&type=all',
      '?unread=true&limit=100',
    ])),
    '/agents/robin',
    '/agents/robin/sessions',
    '/agents/robin/knowledge',
    '/search?q=plums',
  ]
  const pages = [
    ...(await listRows(pageTable, [''])),
    '/a/robin',
    '/a/olga',
    '/a/robin/knows',
    '/search?q=plums',
    '/feed',
  ]
  return [...new Set([...api.map((path) => base + path), ...pages])]
}

/** Every page and route of a thread and its runs, and what finds its words that are gone later. */
function listPathsOf(name: ErasureName): string[] {
  const { postId, commentId, answerId, runs, words } = hub.threads[name]
  const gone = erasures[name].gone.map((part) => words[part])
  const api = [
    ...gone.flatMap((word) => [`/search?q=${word}`, `/activations?text=${word}`]),
    `/posts/${postId}`,
    `/posts/${postId}/comments`,
    `/posts/${postId}/versions`,
    `/comments/${commentId}/versions`,
    `/agents/robin/why-quiet?post=${postId}`,
    `/comments/${commentId}`,
    `/comments/${answerId}`,
    `/answers?post_id=${postId}`,
    `/answers?post_id=${postId}&comment_id=${commentId}`,
    ...runs.flatMap((id) => [
      `/activations/${id}`,
      `/activations/${id}/events`,
      `/activations/${id}/otlp`,
    ]),
  ]
  const pages = [
    ...gone.flatMap((word) => [`/search?q=${word}`, `/runs?text=${word}`]),
    `/p/${postId}`,
    `/p/${postId}?comment=${commentId}`,
    `/p/${postId}/edit`,
    `/agents/robin/why-quiet?post=${postId}`,
    `/p/${postId}/report`,
    `/p/${postId}/versions`,
    `/p/${postId}/versions?comment=${commentId}`,
    ...runs.flatMap((id) => [`/activations/${id}`]),
  ]
  return [...api.map((path) => base + path), ...pages]
}

async function read({ column, owner }: Caller, path: string): Promise<string> {
  const headers = path.startsWith(base)
    ? world.requesters.toHeaders(column, owner)
    : await world.requesters.toBrowserHeaders(column, owner)
  const request = new Request(`http://hub.test${path}`, { headers, redirect: 'manual' })
  return (await world.fetchHub(request, true)).text()
}

/** The same place of every thread. */
const toPlace = (path: string): string =>
  path
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, ':id')
    .replace(/\?.*/, '')

interface Find {
  name: ErasureName
  part: keyof Erased['words']
  by: Column
  place: string
}

const listIds = ({ postId, commentId, answerId, runs }: Erased): string[] => [
  postId,
  commentId,
  answerId,
  ...runs,
]

/** Returns who is shown which of the words where. */
async function findWords(
  paths: string[],
  callers: Caller[],
  inTurns: Caller[] = [],
): Promise<Find[]> {
  const found: Find[] = []
  for (const [at, path] of paths.entries()) {
    for (const caller of [...callers, ...sample(inTurns, 1, at)]) {
      const text = await read(caller, path)
      for (const name of erasureNames) {
        for (const [part, word] of Object.entries(hub.threads[name].words)) {
          // A search answers with its own words, and what it finds with its id.
          const isShown = path.includes(word)
            ? listIds(hub.threads[name]).some((id) => text.includes(id))
            : text.includes(word)
          if (isShown)
            found.push({
              name,
              part: part as Find['part'],
              by: caller.column,
              place: toPlace(path),
            })
        }
      }
    }
  }
  return found
}

/** Reads as the hub's tools do: what is found, read and delivered, and what a new run starts with. */
async function readTools(): Promise<string> {
  const { api, robin, threads } = hub
  const actors = [robin, world.others.member].map(({ id, name }, index) => ({
    accountId: id as never,
    name,
    kind: index === 0 ? ('agent' as const) : ('human' as const),
    activationId: null,
    idempotencyKey: null,
    postId: null,
  }))
  const answers: unknown[] = []
  const keep = async (answer: Promise<unknown>) => answers.push(await answer.catch(() => null))
  for (const actor of actors) {
    for (const text of [
      'plums',
      ...Object.values(threads).flatMap(({ words }) => Object.values(words)),
    ])
      await keep(api.search(actor, { text, match: 'any', limit: 20 }))
    for (const { postId } of Object.values(threads)) await keep(api.readThread(actor, postId, 50))
    await keep(api.readFeed(actor, { sort: 'new', limit: 50 }))
    await keep(
      api.discover(actor, { communities: [], keywords: ['plums'], ageMsMax: 9e12, limit: 50 }),
    )
    await keep(api.readInbox(actor, 100))
  }
  return JSON.stringify(answers)
}

/** Whether the rule lets this caller see a word that is gone. */
function isAllowed({ name, by, place }: Find): boolean {
  const { isRemoval, isReported }: Erasure = erasures[name]
  const isModerator = by === 'moderator' || by === 'admin'
  // The trace of a run is a record of what it read, until that is deleted.
  if (name.startsWith('edited') && by === 'admin' && place.includes('/activations/:id')) return true
  // Whoever reads a text reads what it said before an edit, and only there.
  if (name.startsWith('edited') && place.endsWith('/:id/versions')) return true
  if (isReported && isModerator) return ['/moderation', `${base}/moderation/queue`].includes(place)
  return isRemoval === true && (isModerator || by === 'owner') && place === '/p/:id'
}

const isGone = ({ name, part }: Find): boolean =>
  (erasures[name].gone as readonly string[]).includes(part)

test('H13: the pages, routes and tools that are tried show each word before it is gone', () => {
  expect([...new Set(before.found.map(({ place }) => place))]).toEqual(
    expect.arrayContaining([
      '/',
      '/runs',
      '/budgets',
      '/a/robin',
      '/a/olga',
      '/agents',
      '/inbox',
      '/p/:id',
      '/m/general',
      '/activations/:id',
      '/search',
      '/scheduler',
      '/p/:id/edit',
      ...['activations', 'activations/:id', 'posts', 'search', 'comments/:id'].map(
        (path) => `${base}/${path}`,
      ),
      ...['posts/:id/comments', 'answers', 'home', 'inbox'].map((path) => `${base}/${path}`),
    ]),
  )
  for (const { words } of Object.values(hub.threads)) expect(before.tools).toContain(words.comment)
})

test('H13 T10: words that were deleted, removed or edited are shown where the rule says, and nowhere else', {
  timeout: 600_000,
}, async () => {
  const paths = [
    ...sample(places, places.length / 2),
    ...erasureNames.flatMap((name) => pathsOf[name]),
  ]
  const after = (await findWords(paths, [...seeing, moderator], strangers)).filter(isGone)
  const problems = after.filter((each) => !isAllowed(each))
  expect(problems.map(({ name, part, by, place }) => `${place}: ${name} ${part} to ${by}`)).toEqual(
    [],
  )
  // Authors and moderators still see what was removed.
  for (const by of ['moderator', 'owner', 'admin'])
    expect(after).toContainEqual({ name: 'removedPost', part: 'text', by, place: '/p/:id' })
})

test('H13: no tool of the hub reads words that are gone', async () => {
  const tools = await readTools()
  for (const name of erasureNames)
    for (const part of erasures[name].gone)
      expect(tools, `${name} ${part}`).not.toContain(hub.threads[name].words[part])
})

test('H5 H13: what is gone does not count as unread, and is no unread item', async () => {
  const { id, key } = world.others.member
  // The pages that were read have marked it as read.
  await env.DB.prepare('UPDATE inbox_items SET read_at = NULL WHERE account_id = ?').bind(id).run()
  const items = await env.DB.prepare('SELECT count(*) AS n FROM inbox_items WHERE account_id = ?')
    .bind(id)
    .first<number>('n')
  const { unread_count: unread } = await world.call('/inbox/count', { key })
  // Each thread has an item of its post and one of its comment. Gone are both of three threads, and one of two.
  expect(unread).toBe(Number(items) - 3 * 2 - 2)
  const list = await world.call('/inbox?unread=true&limit=100', { key })
  expect(list.items).toHaveLength(unread)
})

test('H13: a run starts without the words that are gone, also of those that its thread had', async () => {
  await hub.finish()
  for (const name of erasureNames) {
    const { postId, words } = hub.threads[name]
    const body = { content: '@robin and now?' }
    const { status } = await world.hub.call(`/posts/${postId}/comments`, {
      key: world.piet.key,
      body,
    })
    // Nobody writes in a thread that is gone.
    expect(status, name).toBe(
      erasures[name].gone.includes('title' as never) && !name.startsWith('edited') ? 404 : 201,
    )
    if (status !== 201) continue
    const started = JSON.stringify(await hub.start())
    expect(started).toContain('and now?')
    for (const part of erasures[name].gone) expect(started, name).not.toContain(words[part])
    await hub.finish()
  }
})
