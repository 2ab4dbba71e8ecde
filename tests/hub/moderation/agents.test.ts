import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { moderateContent } from '../../../src/hub/moderation/actions'
import type { ActivationId, CommentId, PostId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'
import { makeModerator } from './make-moderator'

const office = createOffice()
const { hub } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let mo: typeof ada
let scout: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  mo = await hub.join('mo', 'human')
  scout = await office.createAgent('scout')
  await makeModerator(mo.id, 'general')
})
beforeEach(office.clear)

const act = async (path: string, body: Record<string, unknown> = {}) => {
  hub.clock.advance(1)
  const answer = await hub.call(path, { key: mo.key, body: { reason: 'Rude.', ...body } })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}
const commentsOf = (postId: PostId) =>
  office.all('SELECT id FROM comments WHERE post_id = ? AND author_id = ?', postId, scout.id)
const answer = async (activationId: ActivationId, postId: PostId, parentId: CommentId | null) => {
  const id = office.newId<CommentId>()
  await office.commit(scout.id, activationId, {
    reply: { id, content: 'An answer', postId, parentId },
  })
  return office.activation(activationId)
}

describe('T11: agents', () => {
  test('T11: a waiting mention in what was removed ends with the reason, and starts no run', async () => {
    const postId = await office.post(ada.key, '@scout what is this?')
    await act(`/posts/${postId}/remove`)
    expect(await office.inbox(scout.id)).toMatchObject([
      { type: 'mention', refusal: 'content_removed', read_at: hub.clock.now() },
    ])
    expect(await office.load(scout.id)).toMatchObject({ kind: 'nothing' })
  })

  test('T11: an answer to a comment or a post that was removed in the meantime is not posted', async () => {
    const postId = await office.post(ada.key, 'A thread')
    const asked = await office.comment(ada.key, postId, '@scout and this?')
    const { activationId } = await office.start(scout.id)
    await act(`/comments/${asked}/remove`)
    expect(await answer(activationId, postId, asked)).toMatchObject({
      state: 'done',
      reply_refusal: 'content_removed',
    })
    expect(await commentsOf(postId)).toEqual([])

    const other = await office.post(ada.key, '@scout and that?')
    const second = await office.start(scout.id)
    await act(`/posts/${other}/remove`)
    expect(await answer(second.activationId, other, null)).toMatchObject({
      reply_refusal: 'content_removed',
    })
    expect(await commentsOf(other)).toEqual([])
  })

  test('T11: a muted agent runs, and its answer is refused with the reason', async () => {
    const { action } = await act('/communities/general/bans', { account: 'scout', kind: 'mute' })
    const postId = await office.post(ada.key, '@scout what is this?')
    const { activationId } = await office.start(scout.id)
    expect(await answer(activationId, postId, null)).toMatchObject({
      reply_refusal: 'agent_banned',
    })
    expect(await commentsOf(postId)).toEqual([])
    const path = `/communities/general/bans/${action.ban_id}`
    await hub.call(path, { key: mo.key, method: 'DELETE', body: { reason: 'Better now.' } })
  })

  test('T11: a removed comment is no part of a prompt, and a placeholder for tools', async () => {
    const postId = await office.post(ada.key, '@scout what is this?')
    const rude = await office.comment(ada.key, postId, 'An insult')
    await act(`/comments/${rude}/remove`)
    const loaded = await office.start(scout.id)
    expect(JSON.stringify(loaded)).not.toContain('An insult')
    const actor = {
      accountId: scout.id,
      name: 'scout',
      kind: 'agent' as const,
      activationId: loaded.activationId,
      idempotencyKey: null,
      postId,
    }
    const thread = await office.hubApi.readThread(actor, postId, 10)
    expect(thread.comments).toMatchObject([{ content: '[removed by a moderator: Rude.]' }])
  })

  test('T11: an agent in a run moderates only when it and all its requesters may', async () => {
    const moderate = async (requesters: string[], isModerator: boolean) => {
      await office.run('DELETE FROM community_members WHERE account_id = ?', scout.id)
      if (isModerator) await makeModerator(scout.id, 'general')
      const postId = await office.post(ada.key, 'A thread')
      await office.post(ada.key, '@scout remove it')
      const { activationId } = await office.start(scout.id)
      await office.run(
        'UPDATE activations SET requesters = ? WHERE id = ?',
        JSON.stringify(requesters),
        activationId,
      )
      const actor = {
        accountId: scout.id,
        name: 'scout',
        kind: 'agent' as const,
        activationId,
        idempotencyKey: null,
        postId,
      }
      const reason = { reason: 'Asked to.' }
      const done = await moderateContent(
        office.context(),
        actor,
        { kind: 'post', id: postId },
        'remove',
        reason,
      ).then(
        () => 'removed',
        (error) => error.code,
      )
      await office.clear()
      return done
    }
    expect(await moderate([mo.id], true)).toBe('removed')
    expect(await moderate([mo.id], false)).toBe('FORBIDDEN')
    expect(await moderate([ada.id], true)).toBe('FORBIDDEN')
    expect(await moderate([mo.id, ada.id], true)).toBe('FORBIDDEN')
    expect(await moderate([], true)).toBe('FORBIDDEN')
  })
})

describe('T11: rules', () => {
  test('T11: only the hub posts in a system community; people comment there', async () => {
    for (const key of [ada.key, mo.key, adminKey, scout.key]) {
      const body = { community: 'agent-errors', title: 'Hello' }
      expect(await hub.call('/posts', { key, body })).toMatchObject({
        status: 403,
        body: { error: expect.stringContaining('Only the hub itself posts') },
      })
    }
    await office.run(
      `INSERT INTO posts (id, community_id, author_id, title, created_at)
       SELECT 'report', c.id, '00000000-0000-7000-8000-000000000001', 'A report', 0 FROM communities c
       WHERE c.name = 'agent-errors'`,
    )
    const body = { content: 'I see' }
    expect((await hub.call('/posts/report/comments', { key: ada.key, body })).status).toBe(201)
  })

  test('T11: a moderator of the hub moderates every community, until an admin ends it', async () => {
    const hanna = await hub.join('hanna', 'human')
    const set = (is_moderator: boolean) =>
      hub.call('/accounts/hanna/moderator', {
        key: adminKey,
        method: 'PUT',
        body: { is_moderator },
      })
    const lock = async () => {
      const postId = await office.post(ada.key, 'A thread')
      const body = { reason: 'Rude.' }
      return (await hub.call(`/posts/${postId}/lock`, { key: hanna.key, body })).status
    }
    expect(await lock()).toBe(403)
    expect((await set(true)).body.account.is_moderator).toBe(true)
    expect(await lock()).toBe(200)
    await set(false)
    expect(await lock()).toBe(403)
    expect(
      await office.all(
        `SELECT before, after FROM admin_log WHERE action = 'account.moderator' AND target_id = ? ORDER BY id`,
        hanna.id,
      ),
    ).toContainEqual({ before: '{"is_moderator":false}', after: '{"is_moderator":true}' })
  })

  test('T11: only a person makes an agent a moderator, and a guest is none', async () => {
    const bot = await hub.join('bot')
    await office.run(`UPDATE accounts SET role = 'admin' WHERE id = ?`, bot.id)
    const body = { is_moderator: true }
    const set = (name: string, key: string) =>
      hub.call(`/accounts/${name}/moderator`, { method: 'PUT', key, body })
    expect((await set('scout', bot.key)).status).toBe(403)
    expect((await set('scout', adminKey)).status).toBe(200)
    await office.run(`UPDATE accounts SET is_moderator = 0 WHERE id = ?`, scout.id)
    await hub.call('/accounts', { body: { name: 'gus' } })
    expect((await set('gus', adminKey)).status).toBe(409)
  })

  test('T11: reports of one account are limited to twenty an hour', async () => {
    const ria = await hub.join('ria', 'human')
    const statuses: number[] = []
    for (let count = 0; count < 21; count++) {
      const postId = await office.post(ada.key, `Thread ${count}`)
      const body = { reason: 'Spam.' }
      statuses.push((await hub.call(`/posts/${postId}/report`, { key: ria.key, body })).status)
    }
    expect(statuses.slice(0, 20)).toEqual(Array(20).fill(201))
    expect(statuses[20]).toBe(429)
  })
})
