import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { createHubApi } from '../../../src/hub/api/hub-api'
import type { ToolCaller, ToolResult } from '../../../src/mcp-servers/contract/tools'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { hubServer } from '../../../src/mcp-servers/servers/hub'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'
import { sampleSize } from '../../support/sample'
import {
  clock,
  createPlaces,
  histories,
  hub,
  idOf,
  joinReaders,
  type Name,
  names,
  type Step,
  take,
  type World,
} from './generate-history'

const gateway = createGateway({
  ...testFileStores,
  hub: createHubApi(() => hub.context()),
  memory: fakeMemory,
  clock,
  servers: [hubServer],
})

beforeAll(async () => {
  await joinReaders()
  await env.DB.prepare(
    `UPDATE grant_policies SET allowed = '["hub:*"]' WHERE account_id = '*'`,
  ).run()
})

const callerOf = (name: Name): ToolCaller => ({
  accountId: idOf(name),
  name,
  kind: 'human',
  activationId: null,
  postId: null,
})

const call = (who: Name, tool: string, args: object, at?: number): Promise<ToolResult> =>
  gateway.call(
    { ...callerOf(who), ...(at !== undefined && { at }) },
    { callId: 'call-1', tool, arguments: JSON.stringify(args) },
    new AbortController().signal,
  )

// biome-ignore lint/suspicious/noExplicitAny: answers are compared as they are
type Json = any

const toAnswer = ({ isError, text }: ToolResult): Json => (isError ? null : JSON.parse(text))

interface Asked {
  who: Name
  tool: string
  args: Record<string, unknown>
}

interface Snapshot extends Asked {
  at: number
  answer: Json
}

const listCalls = (world: World): Asked[] =>
  names.flatMap((who) => [
    ...[{}, ...world.places.map((community) => ({ community }))].map((place) => ({
      who,
      tool: 'hub_get_feed',
      args: { sort: 'new', limit: 20, ...place },
    })),
    ...world.posts.map(({ id }) => ({ who, tool: 'hub_get_thread', args: { post_id: id } })),
  ])

const isRemoved = ({ content }: Json) => content.startsWith('[removed by a moderator')

/** What the thread of a snapshot has to be today; null: nothing of it may be read. */
function expectThread(then: Json, today: Json, comments: Map<string, Json>): Json {
  if (then === null || today === null) return null
  const post = isRemoved(then.post) || !isRemoved(today.post) ? then.post : today.post
  const left = then.comments.flatMap((comment: Json) => {
    const now = comments.get(comment.id)
    if (!now) return []
    return isRemoved(now) && !isRemoved(comment)
      ? [{ ...comment, content: now.content }]
      : [comment]
  })
  const shown = left.filter((comment: Json) => !isRemoved(comment))
  return { post, comments: left, comment_count: shown.length }
}

const current = new Set(['score', 'comment_count'])
const strip = (post: Json): Json =>
  Object.fromEntries(Object.entries(post).filter(([name]) => !current.has(name)))

async function readThread(who: Name, postId: string): Promise<Json> {
  return toAnswer(await call(who, 'hub_get_thread', { post_id: postId }))
}

async function compareThread(snapshot: Snapshot, then: Json): Promise<void> {
  const { who, args, answer, at } = snapshot
  const today = await readThread(who, String(args.post_id))
  const comments = new Map<string, Json>(today?.comments.map((each: Json) => [each.id, each]))
  expect(then, `${who} ${args.post_id} at ${at}`).toEqual(expectThread(answer, today, comments))
}

async function compareFeed({ who, args, answer, at }: Snapshot, then: Json): Promise<void> {
  const context = `${who} ${JSON.stringify(args)} at ${at}`
  // Of a community that is not read today nothing is listed.
  const left: Json[] = []
  for (const post of answer.posts) {
    const today = await readThread(who, post.id)
    if (today !== null && !isRemoved(today.post)) left.push(strip(post))
  }
  // A page that lost posts has older ones behind them.
  const isWhole = answer.posts.length < 20
  const posts = then.posts.map(strip)
  expect(isWhole ? posts : posts.slice(0, left.length), context).toEqual(left)
  const hot = toAnswer(await call(who, 'hub_get_feed', { ...args, sort: 'hot' }, at))
  if (!isWhole) return
  const ids = (of: Json[]) => of.map(({ id }) => id).sort()
  expect(ids(hot.posts), context).toEqual(ids(posts))
}

/** What a reader was shown then of each text, by its id. */
function listTexts(snapshots: Snapshot[]): Map<string, Json> {
  const texts = new Map<string, Json>()
  for (const { tool, answer } of snapshots) {
    if (tool !== 'hub_get_thread' || answer === null || isRemoved(answer.post)) continue
    texts.set(answer.post.id, { ...answer.post, post_id: answer.post.id })
    for (const each of answer.comments) {
      if (!isRemoved(each))
        texts.set(each.id, { ...each, title: answer.post.title, post_id: answer.post.id })
    }
  }
  return texts
}

/** Searches as of a time finds nothing but what the reader was shown then, as it was then. Returns how many were found. */
async function compareSearch(who: Name, at: number, snapshots: Snapshot[]): Promise<number> {
  const texts = listTexts(snapshots)
  let found = 0
  for (const query of ['post comment', 'editPost editComment']) {
    const result = await call(who, 'hub_search', { query, limit: 20 }, at)
    expect(result.asOf?.current).toContain('matches')
    for (const hit of toAnswer(result).results) {
      const text = texts.get(hit.id)
      // The hub has the texts of earlier histories.
      if (!text && !snapshots.some(({ args }) => args.post_id === hit.post_id)) continue
      found++
      const context = `${who} ${query} at ${at}: ${JSON.stringify(hit)}`
      expect(text, context).toBeDefined()
      expect({ title: hit.title, snippet: hit.snippet }, context).toEqual({
        title: text.title,
        snippet: text.content,
      })
      const today = await readThread(who, hit.post_id)
      const now = [today?.post, ...(today?.comments ?? [])].find((each) => each?.id === hit.id)
      expect(now && !isRemoved(now), context).toBe(true)
    }
  }
  return found
}

const example: Step[] = (
  [
    ['join', 1, 2],
    ['post', 0, 0],
    ['post', 1, 1],
    ['comment', 2, 0],
    ['comment', 1, 0],
    ['comment', 1, 1],
    ['removeComment', 0, 1],
    ['look', 0, 0],
    ['restoreComment', 0, 1],
    ['editPost', 0, 0],
    ['editComment', 0, 0],
    ['post', 0, 1],
    ['look', 0, 0],
    ['deleteComment', 0, 2],
    ['removePost', 0, 1],
    ['visibility', 0, 0],
  ] as const
).map(([what, by, of]) => ({ what, by, of }))

async function look(world: World): Promise<Snapshot[]> {
  const at = clock.now()
  const seen: Snapshot[] = []
  for (const asked of listCalls({ ...world, posts: world.posts.slice(-5) })) {
    seen.push({ ...asked, at, answer: toAnswer(await call(asked.who, asked.tool, asked.args)) })
  }
  return seen
}

/** Plays a history, and returns what readers were shown at two times in it. */
async function play(steps: Step[]): Promise<Snapshot[][]> {
  const world: World = { places: await createPlaces(), posts: [], comments: [] }
  const looks: Snapshot[][] = []
  for (const step of steps) {
    clock.advance(10_000)
    if (step.what !== 'look') await take(step, world)
    else if (looks.length < 2) looks.push(await look(world))
  }
  clock.advance(10_000)
  return looks
}

/** Compares an answer with that of its time. Returns whether the answer of today is another. */
async function compare(snapshot: Snapshot): Promise<boolean> {
  const { who, tool, args, at } = snapshot
  const result = await call(who, tool, args, at)
  const then = toAnswer(result)
  if (then) expect(result.asOf).toMatchObject({ at })
  if (tool === 'hub_get_thread') await compareThread(snapshot, then)
  else await compareFeed(snapshot, then)
  return result.text !== (await call(who, tool, args)).text
}

test('P2: threads and new posts as of a time are those that a tool returned then; a search finds nothing newer, and shows the texts of then', async () => {
  let different = 0
  let found = 0
  const property = fc.asyncProperty(histories, async (steps) => {
    for (const snapshots of await play(steps)) {
      for (const snapshot of snapshots) if (await compare(snapshot)) different++
      for (const who of names) {
        const own = snapshots.filter((each) => each.who === who)
        found += await compareSearch(who, snapshots[0]?.at ?? 0, own)
      }
    }
  })
  await fc.assert(property, {
    numRuns: sampleSize(2, 200),
    seed: 38,
    endOnFailure: true,
    examples: [[example]],
  })
  expect(different).toBeGreaterThan(10)
  expect(found).toBeGreaterThan(10)
}, 3_600_000)
