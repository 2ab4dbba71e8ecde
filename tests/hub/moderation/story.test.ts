import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { createTestHub } from '../create-test-hub'
import { makeModerator } from './make-moderator'

const hub = createTestHub()
type Person = Awaited<ReturnType<typeof hub.join>>
let ada: Person
let ria: Person
let mo: Person
let mia: Person

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  ria = await hub.join('ria', 'human')
  mo = await hub.join('mo', 'human')
  mia = await hub.join('mia', 'human')
  for (const each of [mo, mia]) await makeModerator(each.id, 'general')
})

const send = (person: Person, path: string, body: unknown = {}, method = 'POST') => {
  hub.clock.advance(10)
  return hub.call(path, { key: person.key, body, method })
}
const read = async (person: Person, path: string) =>
  (await hub.call(path, { key: person.key })).body
const newPost = async (title = 'Plums', content = 'Marmalade recipe') =>
  (await send(ada, '/posts', { community: 'general', title, content })).body.post.id as string
const inboxOf = async (person: Person): Promise<{ type: string; content: string }[]> =>
  (await read(person, '/inbox')).items
const findHits = async (word: string): Promise<string[]> =>
  (await hub.call(`/search?q=${word}`)).body.results.map(({ id }: { id: string }) => id)

describe('T11: an author, a reporter and two moderators', () => {
  let postId: string
  let actionId: string

  test('T11: a report is in the queue of the moderators, once for each account', async () => {
    postId = await newPost('Zwetschgen', 'Marmalade of zwetschgen')
    const report = { reason: 'This is spam.' }
    expect(await send(ria, `/posts/${postId}/report`, report)).toMatchObject({
      status: 201,
      body: {
        report: {
          outcome: null,
          reason: 'This is spam.',
          community: { name: 'general', display_name: 'General' },
        },
      },
    })
    expect((await send(ria, `/posts/${postId}/report`, report)).status).toBe(409)
    expect((await send(ada, `/posts/${postId}/report`, report)).status).toBe(400)
    expect((await send(ria, `/posts/${postId}/report`, {})).status).toBe(400)
    const queue = await read(mo, '/moderation/queue')
    expect(queue.reported).toEqual([
      expect.objectContaining({
        post_id: postId,
        reports: 1,
        reasons: [{ by: expect.objectContaining({ name: 'ria' }), reason: 'This is spam.' }],
        text: 'Marmalade of zwetschgen',
      }),
    ])
    expect((await read(ria, '/moderation/queue')).reported).toEqual([])
  })

  test('T11: a removal needs a moderator and a reason', async () => {
    const reason = 'Advertising.'
    expect((await send(ria, `/posts/${postId}/remove`, { reason })).status).toBe(403)
    expect((await send(mo, `/posts/${postId}/remove`, { reason: ' ' })).status).toBe(400)
    const removed = await send(mo, `/posts/${postId}/remove`, { reason })
    expect(removed).toMatchObject({
      status: 200,
      body: { action: { kind: 'remove', moderator: { name: 'mo' }, account: { name: 'ada' } } },
    })
    actionId = removed.body.action.id
    expect((await send(mo, `/posts/${postId}/remove`, { reason })).status).toBe(409)
  })

  test('T11: the place and the reason stay, the text is gone from thread, feed and search', async () => {
    const { post } = await read(ria, `/posts/${postId}`)
    expect(post).toMatchObject({
      title: '[removed]',
      content: '',
      removal_reason: 'Advertising.',
    })
    const { posts } = await read(ria, '/posts?sort=new')
    expect(posts.map(({ id }: { id: string }) => id)).not.toContain(postId)
    expect(await findHits('zwetschgen')).toEqual([])
    expect((await send(ria, `/posts/${postId}/comments`, { content: 'Why?' })).status).toBe(404)
    const page = await (await hub.fetch(`/p/${postId}`)).text()
    expect(page).toContain('Advertising.')
    expect(page).not.toContain('Marmalade')
  })

  test('T11: author and reporter are notified, and the removal is in log and audit', async () => {
    expect(await inboxOf(ada)).toContainEqual(
      expect.objectContaining({
        type: 'system',
        content: expect.stringMatching(/removed your post in m\/general. Reason: Advertising\./),
      }),
    )
    expect(await inboxOf(ria)).toContainEqual(
      expect.objectContaining({ type: 'system', content: expect.stringContaining('Your report') }),
    )
    expect((await read(ria, '/reports')).reports).toMatchObject([
      { outcome: 'removed', outcome_reason: 'Advertising.' },
    ])
    expect((await read(mo, '/moderation/queue')).reported).toEqual([])
    const log = await hub.call('/communities/general/moderation')
    expect(log.body.actions).toMatchObject([{ id: actionId, kind: 'remove', post_id: postId }])
    expect(JSON.stringify(log.body)).not.toContain('Marmalade')
    const audit = await env.DB.prepare(
      'SELECT account_id, action, target_id, reason FROM admin_log WHERE target_id = ?',
    )
      .bind(postId)
      .all()
    expect(audit.results).toEqual([
      { account_id: mo.id, action: 'moderation.remove', target_id: postId, reason: 'Advertising.' },
    ])
  })

  test('T11: the author appeals once, another moderator decides, and the text is back', async () => {
    const appeal = { action_id: actionId, text: 'It is my own recipe.' }
    expect((await send(ria, '/appeals', appeal)).status).toBe(404)
    expect((await send(ada, '/appeals', appeal)).status).toBe(201)
    expect((await send(ada, '/appeals', appeal)).status).toBe(409)
    const queue = await read(mia, '/moderation/queue')
    expect(queue.appeals).toMatchObject([
      { appeal: 'It is my own recipe.', text: expect.stringContaining('Marmalade') },
    ])
    const decision = { decision: 'reverse', reason: 'A recipe is welcome.' }
    expect((await send(ria, `/appeals/${actionId}/decide`, decision)).status).toBe(403)
    expect((await send(mo, `/appeals/${actionId}/decide`, decision)).status).toBe(403)
    expect(await send(mia, `/appeals/${actionId}/decide`, decision)).toMatchObject({
      status: 200,
      body: { action: { appeal_outcome: 'reversed', appeal_reason: 'A recipe is welcome.' } },
    })
    expect((await send(mia, `/appeals/${actionId}/decide`, decision)).status).toBe(409)
    const { post } = await read(ria, `/posts/${postId}`)
    expect(post).toMatchObject({ content: 'Marmalade of zwetschgen', removal_reason: null })
    expect(await findHits('zwetschgen')).toEqual([postId])
    expect(await inboxOf(ada)).toContainEqual(
      expect.objectContaining({ content: expect.stringContaining('A recipe is welcome.') }),
    )
    const log = await hub.call('/communities/general/moderation')
    expect(log.body.actions.map(({ kind }: { kind: string }) => kind)).toEqual([
      'restore',
      'remove',
    ])
  })

  test('T11: an appeal that is rejected leaves the action, and the author is told why', async () => {
    const id = await newPost()
    const { action } = (await send(mo, `/posts/${id}/lock`, { reason: 'Too heated.' })).body
    await send(ada, '/appeals', { action_id: action.id, text: 'No.' })
    const decision = { decision: 'uphold', reason: 'It is.' }
    expect((await send(mia, `/appeals/${action.id}/decide`, decision)).status).toBe(200)
    expect((await read(ada, `/posts/${id}`)).post.is_locked).toBe(true)
    expect((await read(ada, '/appeals')).actions).toContainEqual(
      expect.objectContaining({
        id: action.id,
        appeal_outcome: 'upheld',
        appeal_reason: 'It is.',
      }),
    )
  })
})

describe('T11: comments', () => {
  test('T11: a removed comment keeps its place, with and without replies, and counts less', async () => {
    const id = await newPost()
    const say = async (content: string, parent_id: string | null = null) =>
      (await send(ria, `/posts/${id}/comments`, { content, parent_id })).body.comment.id as string
    const first = await say('First quince')
    await say('Reply', first)
    const last = await say('Last quince')
    for (const each of [first, last]) {
      await send(mo, `/comments/${each}/remove`, { reason: 'Rude.' })
    }
    const { comments, post } = await read(ada, `/posts/${id}?include_comments=true`)
    expect(post.comment_count).toBe(1)
    const placeOf = (of: string) => comments.find((each: { id: string }) => each.id === of)
    expect(placeOf(first)).toMatchObject({
      content: '[removed]',
      author: null,
      removal_reason: 'Rude.',
      replies: [{ content: 'Reply' }],
    })
    expect(placeOf(last)).toMatchObject({ content: '[removed]', removal_reason: 'Rude.' })
    expect(await findHits('quince')).toEqual([])
    const inbox = JSON.stringify(await inboxOf(ada))
    expect(inbox).not.toContain('quince')
    expect((await send(mo, `/comments/${first}/restore`, { reason: 'Mistake.' })).status).toBe(200)
    expect(await findHits('quince')).toEqual([first])
    expect((await read(ada, `/posts/${id}`)).post.comment_count).toBe(2)
  })

  test('T11: below a removed post nobody edits, replies or votes until it is restored', async () => {
    const id = await newPost()
    const write = async (content: string) =>
      (await send(ria, `/posts/${id}/comments`, { content })).body.comment.id as string
    const comment = await write('Quince')
    const tryAll = async () =>
      Promise.all([
        send(ada, `/posts/${id}`, { title: 'Pears' }, 'PATCH'),
        send(ria, `/comments/${comment}`, { content: 'Quince jam' }, 'PATCH'),
        send(mia, `/posts/${id}/comments`, { content: 'Yes', parent_id: comment }),
        send(mia, `/comments/${comment}/vote`, { value: 1 }, 'PUT'),
      ]).then((answers) => answers.map(({ status }) => status))
    await send(mo, `/posts/${id}/remove`, { reason: 'Advertising.' })
    expect(await tryAll()).toEqual([404, 404, 404, 404])
    await send(mo, `/posts/${id}/restore`, { reason: 'Mistake.' })
    expect(await tryAll()).toEqual([200, 200, 201, 200])
  })

  test('T11: what its author deleted has no reason and cannot be restored', async () => {
    const id = await newPost()
    await hub.call(`/posts/${id}`, { key: ada.key, method: 'DELETE' })
    expect((await hub.call(`/posts/${id}`)).status).toBe(404)
    expect((await send(mo, `/posts/${id}/restore`, { reason: 'x' })).status).toBe(409)
  })
})

describe('T11: locks and pins', () => {
  test('T11: a locked thread takes no comment until it is unlocked', async () => {
    const id = await newPost()
    expect((await send(ria, `/posts/${id}/lock`, { reason: 'x' })).status).toBe(403)
    await send(mo, `/posts/${id}/lock`, { reason: 'Too heated.' })
    expect((await send(ria, `/posts/${id}/comments`, { content: 'Hi' })).status).toBe(403)
    expect((await send(mo, `/posts/${id}/unlock`, { reason: 'Again' })).status).toBe(200)
    expect((await send(ria, `/posts/${id}/comments`, { content: 'Hi' })).status).toBe(201)
  })

  test('H13: of four posts pinned at once three are, and unpinning makes room', async () => {
    const ids = [await newPost(), await newPost(), await newPost(), await newPost()]
    const pin = (id: string) => send(mo, `/posts/${id}/pin`, { reason: 'Rules.' })
    const statuses = await Promise.all(ids.map(async (id) => (await pin(id)).status))
    expect(statuses.toSorted()).toEqual([200, 200, 200, 409])
    const { results } = await env.DB.prepare(
      'SELECT id FROM posts WHERE pinned_at IS NOT NULL',
    ).all<{ id: string }>()
    expect(results).toHaveLength(3)
    const left = ids.find((id) => !results.some((row) => row.id === id)) ?? ''
    await send(mo, `/posts/${results[0]?.id}/unpin`, { reason: 'Room.' })
    expect((await pin(left)).status).toBe(200)
    expect((await read(ria, `/posts/${left}`)).post.is_pinned).toBe(true)
  })
})

describe('T11: mutes and bans of a community', () => {
  let bob: Person
  const ends_at = new Date(hub.clock.now() + 86_400_000).toISOString()

  test('T11: a ban refuses the next post, comment, edit and vote, with its reason and end', async () => {
    bob = await hub.join('bob', 'human')
    const postId = await newPost()
    const own = await send(bob, `/posts/${postId}/comments`, { content: 'Mine' })
    const ban = { account: 'bob', kind: 'ban', reason: 'Insults.', ends_at }
    expect((await send(ria, '/communities/general/bans', ban)).status).toBe(403)
    expect((await send(mo, '/communities/general/bans', ban)).status).toBe(201)
    expect((await send(mo, '/communities/general/bans', ban)).status).toBe(409)
    const writes = [
      await send(bob, '/posts', { community: 'general', title: 'Hi' }),
      await send(bob, `/posts/${postId}/comments`, { content: 'Hi' }),
      await send(bob, `/comments/${own.body.comment.id}`, { content: 'Hi' }, 'PATCH'),
      await send(bob, `/posts/${postId}/vote`, { value: 1 }, 'PUT'),
    ]
    for (const { status, body } of writes) {
      expect(status).toBe(403)
      expect(body.error).toMatch(/banned in this community until 2026-01-02 .*Insults\./)
    }
    expect((await send(bob, '/communities', { name: 'bobs' })).status).toBe(201)
    expect((await send(bob, '/posts', { community: 'bobs', title: 'Hi' })).status).toBe(201)
  })

  test('T11: a ban ends by itself, by lifting and by an appeal', async () => {
    const post = () => send(bob, '/posts', { community: 'general', title: 'Hi' })
    const { bans } = await read(mo, '/communities/general/bans')
    expect(bans).toMatchObject([{ account: { name: 'bob' }, kind: 'ban', ends_at }])
    const path = `/communities/general/bans/${bans[0].id}/lift`
    expect((await send(ria, path, { reason: 'x' })).status).toBe(403)
    expect((await send(mo, path, { reason: 'Apologised.' })).status).toBe(200)
    expect((await post()).status).toBe(201)

    const again = { account: 'bob', kind: 'ban', reason: 'Insults again.' }
    const { action } = (await send(mo, '/communities/general/bans', again)).body
    expect((await post()).body.error).toContain('until it is lifted')
    await send(bob, '/appeals', { action_id: action.id, text: 'I did not.' })
    const decision = { decision: 'reverse', reason: 'Right.' }
    await send(mia, `/appeals/${action.id}/decide`, decision)
    expect((await post()).status).toBe(201)

    await send(mo, '/communities/general/bans', { ...again, ends_at })
    expect((await post()).status).toBe(403)
    hub.clock.advance(86_400_001)
    expect((await post()).status).toBe(201)
  })

  test('T11: only a mute or a ban of the same kind that holds for the account there stands in the way', async () => {
    const names = ['kim', 'lou'] as const
    for (const name of names) await hub.join(name, 'human')
    await send(ria, '/communities', { name: 'orchard' })
    await makeModerator(mo.id, 'orchard')
    const add = async (kind: string, account = 'kim', place = 'general') =>
      (await send(mo, `/communities/${place}/bans`, { account, kind, reason: 'x', ends_at: soon }))
        .status
    const soon = new Date(hub.clock.now() + 3_600_000).toISOString()
    expect([await add('mute'), await add('mute')]).toEqual([201, 409])
    expect([await add('ban'), await add('ban')]).toEqual([201, 409])
    expect(await add('mute', 'lou')).toBe(201)
    expect(await add('mute', 'kim', 'orchard')).toBe(201)
    const { bans } = await read(mo, '/communities/general/bans')
    const ofKim = bans.find(
      (each: { kind: string; account: { name: string } }) =>
        each.kind === 'ban' && each.account.name === 'kim',
    )
    await send(mo, `/communities/general/bans/${ofKim.id}/lift`, { reason: 'x' })
    expect([await add('mute'), await add('ban')]).toEqual([409, 201])
    hub.clock.advance(3_600_001)
    const later = { account: 'kim', kind: 'mute', reason: 'x' }
    expect((await send(mo, '/communities/general/bans', later)).status).toBe(201)
  })

  test('T11: a muted account votes, and writes nothing', async () => {
    const postId = await newPost()
    const mute = { account: 'bob', kind: 'mute', reason: 'Shouting.' }
    expect((await send(mo, '/communities/general/bans', mute)).status).toBe(201)
    expect((await send(bob, `/posts/${postId}/vote`, { value: 1 }, 'PUT')).status).toBe(200)
    const comment = await send(bob, `/posts/${postId}/comments`, { content: 'HI' })
    expect(comment).toMatchObject({
      status: 403,
      body: { error: expect.stringContaining('muted') },
    })
  })

  test('T11: moderators and admins are not banned', async () => {
    for (const account of ['mia', 'admin']) {
      const ban = { account, kind: 'ban', reason: 'x' }
      expect((await send(mo, '/communities/general/bans', ban)).status).toBe(409)
    }
  })
})
