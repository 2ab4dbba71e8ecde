import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { publishToWatchers } from '../../../src/hub/live/live-publisher'
import { selectIsTopicWatched, watchTopic } from '../../../src/hub/live/queries'
import { liveLimits } from '../../../src/shared/config'
import { run } from '../../../src/shared/db/batch'
import { createDb } from '../../../src/shared/db/db'
import { createTestHub } from '../create-test-hub'
import { markWatched } from './mark-watched'

const db = createDb(env.DB)
const topic = 'post:p1'
const event = { type: 'comment', id: 'c1', post_id: 'p1' } as const
const countNotes = async () =>
  (await env.DB.prepare('SELECT count(*) AS n FROM live_objects').first<{ n: number }>())?.n

beforeEach(() => env.DB.exec('DELETE FROM live_objects'))

/**
 * One live object, one watcher who connects, and writers, at a time that a test sets. As the hub does it: the watcher's note
 * and snapshot are one batch, then the socket opens; a write with the look for watchers is one batch, then it is
 * published, then the note of an object without watchers is deleted.
 */
function createWorld() {
  const world = { now: 1_000_000_000, written: 0, known: -1, heard: 0, isOpen: false }
  const recent: number[] = []
  const live = {
    publish: async () => {
      recent.push(world.now)
      if (world.isOpen) world.heard++
      return world.isOpen
    },
  }
  const context = { db, live, clock: { now: () => world.now, newId: <Id>() => '' as Id } }
  return {
    world,
    note: async () => {
      await run(db, watchTopic(topic, world.now))
      world.known = world.written
    },
    open: async () => {
      world.isOpen = true
      // The object repeats what was published while the socket was opening.
      world.heard += recent.filter((at) => at >= world.now - liveLimits.recentMs).length
    },
    write: async () => {
      world.written++
      return run(db, selectIsTopicWatched(topic))
    },
    publish: () => publishToWatchers(context, topic, event),
  }
}

/** All orders of the steps of two, each of which keeps its own order. */
const interleave = <Step>([a, ...as]: Step[], [b, ...bs]: Step[]): Step[][] =>
  a === undefined || b === undefined
    ? [[a, ...as, b, ...bs].filter((step) => step !== undefined)]
    : [
        ...interleave(as, [b, ...bs]).map((rest) => [a, ...rest]),
        ...interleave([a, ...as], bs).map((rest) => [b, ...rest]),
      ]

const orders = interleave(['note', 'open'], ['write', 'publish', 'write', 'publish'])
const ages = [null, 0, liveLimits.markedMs - 1, liveLimits.markedMs + 1, liveLimits.unmarkedMs + 1]

test.each(ages)(
  'H16: a watcher learns of every write, with a note that is %s ms old',
  async (age) => {
    expect(orders).toHaveLength(15)
    for (const order of orders) {
      await env.DB.exec('DELETE FROM live_objects')
      const { world, note, open, write, publish } = createWorld()
      if (age !== null) await run(db, watchTopic(topic, world.now - age))
      const wanted: boolean[] = []
      for (const step of order) {
        world.now += 10
        if (step === 'note') await note()
        if (step === 'open') await open()
        if (step === 'write') wanted.push(await write())
        if (step === 'publish' && wanted.shift()) await publish()
      }
      const said = order.join(', ')
      expect(world.known + world.heard, said).toBeGreaterThanOrEqual(world.written)
      // and of what is written once it is connected
      const before = world.heard
      if (await write()) await publish()
      expect(world.heard, said).toBe(before + 1)
    }
  },
)

test('an object without watchers is told once, and not again until somebody watches', async () => {
  const { world, note, open, write, publish } = createWorld()
  expect(await write()).toBe(false)
  await note()
  expect(await write()).toBe(true)
  await publish()
  expect(await countNotes(), 'somebody is about to watch').toBe(1)
  world.now += liveLimits.unmarkedMs + 1
  await publish()
  expect([await countNotes(), await write()]).toEqual([0, false])
  await note()
  await open()
  world.now += liveLimits.unmarkedMs + 1
  await publish()
  expect(await countNotes()).toBe(1)
})

test('a comment calls the live object only when somebody watches, and a note is written once in a while', async () => {
  const hub = createTestHub()
  const mira = await hub.join('mira', 'human')
  const post = { community: 'general', title: 'Herons' }
  const { body } = await hub.call('/posts', { key: mira.key, body: post })
  const comment = () =>
    hub.call(`/posts/${body.post.id}/comments`, { key: mira.key, body: { content: 'Seen.' } })
  await comment()
  expect(hub.seen.published).toEqual([])
  await markWatched(body.post.id)
  await comment()
  expect(hub.seen.published).toHaveLength(1)

  const now = Date.now()
  const read = () => env.DB.prepare('SELECT watched_at FROM live_objects').first('watched_at')
  await markWatched(body.post.id, now + liveLimits.markedMs - 1_000)
  expect(await read()).toBeLessThan(now + 1_000)
  await markWatched(body.post.id, now + liveLimits.markedMs + 1_000)
  expect(await read()).toBe(now + liveLimits.markedMs + 1_000)
})
