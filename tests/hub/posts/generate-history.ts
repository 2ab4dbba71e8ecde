import * as fc from 'fast-check'
import { expect } from 'vitest'
import type { AccountId } from '../../../src/shared/ids'
import { type Answer, adminKey, createTestHub } from '../create-test-hub'

/*
 * Generated histories of a hub in which people write, edit, delete, moderate, and change who reads what, for tests of
 * what was as of a time.
 */

export const hub = createTestHub()
export const { clock } = hub

export const names = ['ada', 'bea', 'cleo', 'gil'] as const
export type Name = (typeof names)[number]
/** A reader without a key is anonymous. */
export const readers = [...names, null]
const members = new Map<Name, { id: AccountId; key: string }>()

/** Lets the readers join; the last one as a guest. */
export async function joinReaders(): Promise<void> {
  for (const name of names) members.set(name, await hub.join(name, 'human'))
  await hub.call('/accounts/gil/role', { key: adminKey, method: 'PUT', body: { role: 'guest' } })
}

export const idOf = (name: Name): AccountId => members.get(name)?.id ?? ('' as AccountId)
const keyOf = (name: Name | null) => (name === null ? null : (members.get(name)?.key ?? null))

export const send = async (
  who: Name | 'admin',
  path: string,
  body: object,
  method = 'POST',
): Promise<Answer> => {
  const key = who === 'admin' ? adminKey : keyOf(who)
  const answer = await hub.call(path, { key, method, ...(method !== 'DELETE' && { body }) })
  expect(answer.status).toBeLessThan(500)
  return answer
}

export const read = (who: Name | null, path: string, at?: string): Promise<Answer> => {
  const sign = path.includes('?') ? '&' : '?'
  const key = keyOf(who)
  return hub.call(at === undefined ? path : `${path}${sign}at=${encodeURIComponent(at)}`, { key })
}

export const toTime = (at: number) => new Date(at).toISOString()

/** What happened in a hub: who did it, and which of the texts or communities it is about. */
export interface Step {
  what: (typeof kinds)[number]
  by: number
  of: number
}

const kinds = [
  'post',
  'post',
  'comment',
  'comment',
  'comment',
  'comment',
  'vote',
  'editPost',
  'editComment',
  'editComment',
  'deletePost',
  'deleteComment',
  'removePost',
  'removeComment',
  'restorePost',
  'restoreComment',
  'lock',
  'unlock',
  'pin',
  'unpin',
  'join',
  'join',
  'leave',
  'visibility',
  'role',
  'look',
  'look',
] as const

export const histories = fc.array(
  fc.record({
    what: fc.constantFrom(...kinds),
    by: fc.nat(3),
    of: fc.nat(11),
  }),
  { minLength: 16, maxLength: 36 },
)

interface Text {
  id: string
  by: Name
}

export interface World {
  places: string[]
  posts: Text[]
  comments: (Text & { postId: string })[]
}

const pick = <Value>(list: readonly Value[], at: number): Value | undefined =>
  list[at % Math.max(1, list.length)]

let worlds = 0

export async function createPlaces(): Promise<string[]> {
  const number = ++worlds
  const visibilities = ['public', 'members', 'private']
  const places = visibilities.map((visibility) => `${visibility}-${number}`)
  for (const [at, name] of places.entries()) {
    await send('ada', '/communities', { name, visibility: visibilities[at] })
  }
  return places
}

const reason = () => ({ reason: `Reason of ${clock.now()}.` })

/** Does one step; one that is refused changes nothing. */
export async function take({ what, by, of }: Step, world: World): Promise<void> {
  const who = names[by] as Name
  const place = pick(world.places, of)
  const post = pick(world.posts, of)
  const words = `${what} at ${clock.now()}`
  switch (what) {
    case 'post': {
      const made = await send(who, '/posts', { community: place, title: words, content: words })
      if (made.status === 201) world.posts.push({ id: made.body.post.id, by: who })
      return
    }
    case 'comment': {
      if (!post) return
      const parent = world.comments.findLast(({ postId }) => postId === post.id)
      const made = await send(who, `/posts/${post.id}/comments`, {
        content: words,
        ...(of % 2 === 1 && parent && { parent_id: parent.id }),
      })
      if (made.status !== 201) return
      world.comments.push({ id: made.body.comment.id, by: who, postId: post.id })
      return
    }
    case 'join':
    case 'leave': {
      if (who === 'ada') return
      const path = `/communities/${place}/members/${who}`
      if (what === 'join') await send('ada', path, { role: 'member' }, 'PUT')
      else await send(who, path, {}, 'DELETE')
      return
    }
    case 'visibility': {
      const visibility = pick(['public', 'members', 'private'], by + of)
      await send('ada', `/communities/${place}`, { visibility }, 'PATCH')
      return
    }
    case 'role':
      await send('admin', '/accounts/gil/role', { role: of % 2 ? 'member' : 'guest' }, 'PUT')
      return
    case 'lock':
    case 'unlock':
    case 'pin':
    case 'unpin':
      if (post) await send('ada', `/posts/${post.id}/${what}`, reason())
      return
    default:
      await changeText({ what, by, of }, world)
  }
}

async function changeText({ what, by, of }: Step, { posts, comments }: World): Promise<void> {
  const isOfPost = what === 'vote' || what.endsWith('Post')
  const text = pick<Text>(isOfPost ? posts : comments, of)
  if (!text || what === 'look') return
  const path = `/${isOfPost ? 'posts' : 'comments'}/${text.id}`
  const words = `${what} at ${clock.now()}`
  if (what === 'vote') await send(names[by] as Name, `${path}/upvote`, {})
  if (what.startsWith('edit')) {
    await send(text.by, path, { content: words, ...(isOfPost && { title: words }) }, 'PATCH')
  }
  if (what.startsWith('delete')) await send(text.by, path, {}, 'DELETE')
  if (what.startsWith('remove')) await send('ada', `${path}/remove`, reason())
  if (what.startsWith('restore')) await send('ada', `${path}/restore`, reason())
}
