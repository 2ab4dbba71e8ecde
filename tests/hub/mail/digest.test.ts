import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import { mailLimits } from '../../../src/shared/config'
import { adminKey } from '../create-test-hub'
import { createMailHub, type Person } from './mail-hub'

const { hub, newPerson, newReader, choose, mention, readLast, runSweep, readOutbox } =
  createMailHub()
const dayMs = 86_400_000

beforeEach(async () => {
  for (const table of ['outbox', 'mail_server']) {
    await env.DB.prepare(`DELETE FROM ${table}`).run()
  }
})

const newCommunity = async (visibility: 'public' | 'private' = 'public') => {
  const name = `den-${crypto.randomUUID().slice(0, 6)}`
  const body = { name, visibility }
  const made = await hub.call('/communities', { key: adminKey, body })
  expect(made.status).toBe(201)
  return { name, id: made.body.community.id as string }
}

const join = (communityId: string, { id }: Person) =>
  env.DB.prepare(
    "INSERT INTO community_members (community_id, account_id, role, created_at) VALUES (?, ?, 'member', 0)",
  )
    .bind(communityId, id)
    .run()

const subscribe = async ({ key }: Person, community: string) => {
  const path = `/communities/${community}/subscription`
  expect((await hub.call(path, { key, method: 'PUT', body: {} })).status).toBeLessThan(300)
}

const post = async ({ key }: Pick<Person, 'key'>, community: string, title: string) => {
  const body = { community, title, content: 'Words' }
  const made = await hub.call('/posts', { key, body })
  expect(made.status).toBe(201)
  hub.clock.advance(1)
  return made.body.post.id as string
}

const nextDay = async () => {
  hub.clock.advance(dayMs)
  await runSweep()
}

/** A reader whose digest has posts, the community that it subscribes to, and somebody who writes there. */
const newSubscriber = async () => {
  const [reader, writer] = [await newReader({ post: ['digest'] }), await newPerson()]
  const community = await newCommunity()
  await subscribe(reader, community.name)
  return { reader, writer, community }
}

describe('O4: the posts of a digest', () => {
  test('are the new ones of what its reader follows, by others, in both parts', async () => {
    const { reader, writer, community } = await newSubscriber()
    const followed = await newPerson()
    const path = `/accounts/${followed.name}/follow`
    expect(
      (await hub.call(path, { key: reader.key, method: 'PUT', body: {} })).status,
    ).toBeLessThan(300)
    const first = await post(writer, community.name, 'About <herons> & reeds')
    await post(followed, 'general', 'By somebody followed')
    await post(writer, 'general', 'Of no interest')
    await post(reader, community.name, 'My own')
    await nextDay()
    const { headers, text, html, count } = await readLast(reader.address)
    expect([count, headers.subject]).toEqual([2, 'Rookery: 2 new posts'])
    expect(text).toContain(`@${writer.name} in m/${community.name}\n> About <herons> & reeds`)
    expect(text).toContain(`http://hub.test/p/${first}`)
    expect(html).toContain('About &lt;herons&gt; &amp; reeds')
    for (const part of [text, html]) {
      expect(part).toContain('By somebody followed')
      expect(part).not.toContain('Of no interest')
      expect(part).not.toContain('My own')
    }
    // Nothing new: no mail.
    await nextDay()
    expect((await readLast(reader.address)).count).toBe(2)
    expect(await readOutbox('mail.digest')).toHaveLength(1)
  })

  test('stand below its notifications', async () => {
    const { reader, writer, community } = await newSubscriber()
    await choose(reader, { mention: ['digest'], post: ['digest'] })
    await mention(writer, reader, 'in a mention')
    await post(writer, community.name, 'In a post')
    await nextDay()
    const { headers, text } = await readLast(reader.address)
    expect(headers.subject).toBe('Rookery: 1 for you, 1 new post')
    expect(text.indexOf('in a mention')).toBeLessThan(text.indexOf('In a post'))
  })

  test('are not in the digest of somebody who did not choose them', async () => {
    const { reader, writer, community } = await newSubscriber()
    await choose(reader, { mention: ['digest'] })
    await post(writer, community.name, 'Unwanted')
    await nextDay()
    expect((await readLast(reader.address)).count).toBe(1)
  })

  test('are 20 of as many as there are', async () => {
    const { reader, writer, community } = await newSubscriber()
    const most = mailLimits.digestPostsMax
    const id = await post(writer, community.name, 'Post 0')
    await env.DB.prepare(
      `INSERT INTO posts (id, community_id, author_id, title, content, created_at, hot_rank)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
       SELECT id || '-' || i, community_id, author_id, 'Post ' || i, '', created_at + i, 0 FROM posts, n WHERE id = ?1`,
    )
      .bind(id, most + 4)
      .run()
    await nextDay()
    const { headers, text } = await readLast(reader.address)
    expect(headers.subject).toBe(`Rookery: ${most + 5} new posts`)
    expect(text).toContain(`the newest ${most} of ${most + 5}`)
    const titles = [...text.matchAll(/> Post (\d+)/g)].map(([, n]) => Number(n))
    expect(titles).toEqual(Array.from({ length: most }, (_, n) => most + 4 - n))
    await env.DB.prepare(
      `INSERT INTO posts (id, community_id, author_id, title, content, created_at, hot_rank)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
       SELECT id || '+' || i, community_id, author_id, 'More ' || i, '', ?2 + i, 0 FROM posts, n WHERE id = ?1`,
    )
      .bind(id, hub.clock.now())
      .run()
    await nextDay()
    const counted = mailLimits.digestPostsCounted
    expect((await readLast(reader.address)).headers.subject).toBe(
      `Rookery: more than ${counted - 1} new posts`,
    )
  })

  type Scene = Awaited<ReturnType<typeof newSubscriber>> & { id: string; closed: string }
  const admin = (path: string, body: object, method = 'POST') =>
    hub.call(path, { key: adminKey, method, body })

  test.each<[string, (scene: Scene) => Promise<unknown>]>([
    [
      'of a community that its reader has left',
      async ({ reader, closed }) =>
        env.DB.prepare('DELETE FROM community_members WHERE account_id = ? AND community_id = ?')
          .bind(reader.id, closed)
          .run(),
    ],
    [
      'of a community that its reader subscribes to no longer',
      ({ reader }) =>
        env.DB.prepare('DELETE FROM subscriptions WHERE account_id = ?').bind(reader.id).run(),
    ],
    [
      'that its author deleted',
      ({ writer, id }) => hub.call(`/posts/${id}`, { key: writer.key, method: 'DELETE' }),
    ],
    ['that a moderator removed', ({ id }) => admin(`/posts/${id}/remove`, { reason: 'Spam' })],
    [
      'of an author who is banned',
      ({ writer }) => admin(`/accounts/${writer.name}/bans`, { kind: 'ban', reason: 'Spam' }),
    ],
    [
      'of an author who is muted',
      ({ writer }) => admin(`/accounts/${writer.name}/bans`, { kind: 'mute', reason: 'Spam' }),
    ],
    [
      'of an account that is disabled',
      ({ writer }) => admin(`/accounts/${writer.name}/disable`, {}),
    ],
  ])('are none %s', async (_, change) => {
    const [reader, writer] = [await newReader({ post: ['digest'] }), await newPerson()]
    const community = await newCommunity('private')
    for (const person of [reader, writer]) await join(community.id, person)
    await subscribe(reader, community.name)
    const id = await post(writer, community.name, 'A secret plan')
    const scene = { reader, writer, community, id, closed: community.id }
    const done = await change(scene)
    if (done && typeof done === 'object' && 'status' in done) expect(done.status).toBeLessThan(300)
    await nextDay()
    expect((await readLast(reader.address)).count).toBe(1)
    expect(await readOutbox('mail.digest')).toEqual([])
  })

  test('are read when it is sent, not when it was queued', async () => {
    const [reader, writer] = [await newReader({ post: ['digest'] }), await newPerson()]
    const community = await newCommunity('private')
    for (const person of [reader, writer]) await join(community.id, person)
    await subscribe(reader, community.name)
    await post(writer, community.name, 'A secret plan')
    await env.DB.prepare('INSERT OR REPLACE INTO mail_server (id, retry_at) VALUES (1, ?)')
      .bind(hub.clock.now() + dayMs + 3_600_000)
      .run()
    await nextDay()
    expect(await readOutbox('mail.digest')).toMatchObject([{ state: 'pending' }])
    // The next day's is not queued behind it.
    await env.DB.prepare('DELETE FROM community_members WHERE account_id = ?').bind(reader.id).run()
    await env.DB.prepare('UPDATE notification_settings SET digest_at = ? WHERE account_id = ?')
      .bind(hub.clock.now(), reader.id)
      .run()
    await nextDay()
    expect(await readOutbox('mail.digest')).toMatchObject([
      { state: 'withheld', answer: 'It was not sent: nothing was new.' },
    ])
    expect((await readLast(reader.address)).count).toBe(1)
  })

  test('begin where an address was entered', async () => {
    const person = await newPerson()
    const [writer, community] = [await newPerson(), await newCommunity()]
    await choose(person, { post: ['digest'] })
    await subscribe(person, community.name)
    await post(writer, community.name, 'Long ago')
    await env.DB.prepare(
      `INSERT INTO mail_addresses (account_id, address, normalized, created_at, confirmed_at, token_hash)
       VALUES (?1, ?2, ?2, ?3, ?3, '')`,
    )
      .bind(person.id, person.address, hub.clock.now())
      .run()
    hub.clock.advance(1)
    await post(writer, community.name, 'Lately')
    await nextDay()
    const { text } = await readLast(person.address)
    expect([text.includes('Lately'), text.includes('Long ago')]).toEqual([true, false])
  })

  test('cost no row of what is older', async () => {
    const { reader, writer, community } = await newSubscriber()
    const id = await post(writer, community.name, 'Old')
    await nextDay()
    const readRows = async () => {
      await post(writer, community.name, 'New')
      hub.clock.advance(dayMs)
      const context = hub.context()
      await runSweep(context)
      return context.db.cost.rowsRead
    }
    const few = await readRows()
    await env.DB.prepare(
      `INSERT INTO posts (id, community_id, author_id, title, content, created_at, hot_rank)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
       SELECT id || '-' || i, community_id, author_id, 'Old ' || i, '', i, 0 FROM posts, n WHERE id = ?`,
    )
      .bind(id)
      .run()
    const many = await readRows()
    expect((await readLast(reader.address)).count).toBe(4)
    expect(many - few).toBeLessThan(20)
  })
})
