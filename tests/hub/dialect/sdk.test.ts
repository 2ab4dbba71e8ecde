import { beforeAll, describe, expect, test } from 'vitest'
import { adminKey } from '../create-test-hub'
import { createDialectHub, type DialectHub, ways } from './create-dialect-hub'

/**
 * The generation of clients with `new URL('/posts', base)`: they drop the path of their base URL, read
 * `data` and `pagination`, names in camel case, and single objects at top level.
 */
describe.each(ways.atRoot)(
  'H3: a client that drops the path of its base URL, known $way',
  (way) => {
    const dialect: DialectHub = createDialectHub()
    const send = dialect.as(way)
    /** Both ways share a database. */
    const unique = (name: string) => `${name}-${way.tag}`
    const join = (name: string, kind?: 'human') => dialect.join(unique(name), kind)
    let ada: { id: string; key: string; name: string }
    /** A person: agents write one comment in a row. */
    let hana: { id: string; key: string; name: string }
    beforeAll(async () => {
      const { body } = await send('/agents/register', {
        body: { name: unique('Ada-Bot'), displayName: 'Ada', description: null },
      })
      hana = await join('hana', 'human')
      ada = { id: body.agent.id, key: body.agent.api_key, name: body.agent.name }
    })

    const post = async (fields: Record<string, unknown>) => {
      const { body, status } = await send('/posts', {
        key: ada.key,
        body: { submolt: 'general', ...fields },
      })
      expect(status, JSON.stringify(body)).toBe(201)
      return body
    }

    test('H3: registers with a name in capitals and a display name in camel case, and reads itself', async () => {
      expect(ada.name).toBe(unique('ada-bot'))
      const me = await send('/agents/me', { key: ada.key })
      expect(me.body).toMatchObject({
        success: true,
        id: ada.id,
        name: unique('ada-bot'),
        displayName: 'Ada',
        karma: 0,
        isClaimed: true,
        is_claimed: true,
        isActive: true,
        createdAt: expect.any(String),
        agent: { id: ada.id, display_name: 'Ada', displayName: 'Ada', isClaimed: true },
      })
    })

    test('H3: sends its key with the prefix that it insists on, or that of the hub to /compat, and no other', async () => {
      const bare = ada.key.replace(/^[a-z]+_/, '')
      const status = async (path: string, key: string) => (await dialect.send(path, { key })).status
      expect(ada.key).toMatch(/^moltbook_/)
      for (const prefix of ['rookery_', 'moltbook_']) {
        expect(await status('/compat/agents/me', prefix + bare), prefix).toBe(200)
        expect(await status('/api/v1/me', prefix + bare), prefix).toBe(200)
      }
      expect(await status('/agents/me', `moltbook_${bare}`)).toBe(200)
      expect(await status('/agents/me', `rookery_${bare}`)).toBe(404)
      for (const path of ['/compat/agents/me', '/api/v1/me']) {
        expect(await status(path, `third_${bare}`), path).toBe(401)
      }
    })

    test('H3: reads a post at top level, with its author and its community as a text', async () => {
      const made = await post({ title: 'First', content: 'Some text' })
      expect(made).toMatchObject({
        title: 'First',
        authorName: unique('ada-bot'),
        commentCount: 0,
        submolt: 'general',
        post: { id: made.id, submolt: 'general', authorDisplayName: 'Ada' },
      })
      const read = await send(`/posts/${made.id}`)
      expect(read.body).toMatchObject({ id: made.id, createdAt: expect.any(String), comments: [] })
      const untitled = await post({ title: null, content: '## Why plums\n\nbecause' })
      expect(untitled.title).toBe('Why plums')
      const long = await post({ content: 'word '.repeat(60) })
      expect(long.title).toMatch(/^(word ?){10,16}…$/)
      expect((await send('/posts', { key: ada.key, body: { submolt: 'general' } })).status).toBe(
        400,
      )
    })

    test('H3: pages through every list by offset, page and cursor', async () => {
      for (const title of ['a', 'b', 'c', 'd', 'e']) {
        const { id } = await post({ title })
        await send(`/posts/${id}/upvote`, { key: ada.key, method: 'POST' })
      }
      const { id } = await post({ title: 'a discussion' })
      for (const content of ['one', 'two', 'three', 'four', 'five']) {
        await send(`/posts/${id}/comments`, { key: hana.key, body: { content } })
        await send('/submolts', { key: ada.key, body: { name: unique(`Place-${content}`) } })
        await send('/agents/register', { body: { name: unique(`agent-${content}`) } })
      }
      const bea = await join('bea')
      for (let count = 0; count < 5; count++) {
        await send('/posts', {
          key: ada.key,
          body: { submolt: 'm/general', title: 'Hi', content: `@${bea.name} hello${way.tag}` },
        })
      }
      const lists = [
        ['/posts?sort=new', 'posts'],
        ['/posts?sort=new&submolt=m/general', 'posts'],
        ['/feed?sort=top', 'posts'],
        ['/submolts/general/feed?sort=hot', 'posts'],
        ['/submolts?', 'submolts'],
        ['/agents?', 'agents'],
        [`/posts/${id}/comments?sort=new`, 'comments'],
        [`/search?q=hello${way.tag}`, 'results'],
        ['/notifications?', 'notifications'],
      ] as const
      for (const [path, name] of lists) {
        const read = async (query: string) =>
          (await send(`${path}&${query}`, { key: bea.key })).body
        const ids = (page: { data: { id: string }[] }) => page.data.map((row) => row.id)
        const whole = await read('limit=5')
        expect(whole.data, path).toEqual(whole[name])
        expect(whole.data, path).toHaveLength(5)
        const first = await read('limit=2')
        expect(first.pagination, path).toEqual({ count: 2, limit: 2, offset: 0, hasMore: true })
        expect([first.has_more, first.hasMore], path).toEqual([true, true])
        const second = [
          await read('limit=2&offset=2'),
          await read('limit=2&page=2'),
          await read(`limit=2&cursor=${first.next_cursor}`),
        ]
        for (const page of second) expect(ids(page), path).toEqual(ids(whole).slice(2, 4))
        expect(second[0].pagination, path).toMatchObject({ count: 2, limit: 2, offset: 2 })
        const third = await read(`limit=1&cursor=${second[0].next_cursor}`)
        expect(ids(third), path).toEqual(ids(whole).slice(4, 5))
      }
    })

    test('H3: gets 400 for what would be ignored', async () => {
      for (const path of [
        '/posts?sort=best',
        '/agents?sort=karma',
        '/search?q=a&sort=new',
        '/feed?filter=mine',
        '/posts?page=0',
        '/posts?page=1&offset=2',
        '/posts?offset=-1',
        '/agents?offset=99&limit=50',
        '/posts?limit=0',
        '/posts?submolt=a&community=b',
      ]) {
        const { status, body } = await send(path)
        expect(status, path).toBe(400)
        expect(body.details?.[0]?.path, path).toMatch(/^(query|body)\./)
      }
      expect((await send('/feed?filter=all')).status).toBe(200)
      expect((await send('/submolts?sort=popular')).status).toBe(200)
    })

    test('H3: finds accounts and communities with the fields of what they are', async () => {
      const { body } = await send(`/search?q=${unique('agent-one')}&type=agents`)
      expect(body.results[0]).toMatchObject({ type: 'agent', name: unique('agent-one'), karma: 0 })
      await send('/submolts', {
        key: ada.key,
        body: { name: unique('orchard'), displayName: 'Orchard' },
      })
      const places = await send(`/search?q=${unique('orchard')}&type=submolts`)
      expect(places.body.data[0]).toMatchObject({
        type: 'submolt',
        name: unique('orchard'),
        display_name: 'Orchard',
        subscriberCount: 0,
      })
      const place = await send(`/submolts/${unique('orchard')}`)
      expect(place.body).toMatchObject({
        name: unique('orchard'),
        displayName: 'Orchard',
        subscriber_count: 0,
      })
      const voted = await post({ title: 'Karma for me' })
      const voter = await join('voter')
      const vote = await send(`/posts/${voted.id}/upvote`, { key: voter.key, method: 'POST' })
      expect(vote.status, vote.text).toBe(200)
      const own = await send(`/search?q=${ada.name}&type=agents`)
      expect(own.body.results[0].karma).toBe(1)
    })

    test('H6: votes toggle, unless the vote is set by value or by an idempotency key', async () => {
      const { id } = await post({ title: 'Vote' })
      const voter = await join('toggler')
      const vote = async (
        to: string,
        more: { body?: unknown; headers?: Record<string, string> } = {},
      ) => {
        const { body, text } = await send(to, { key: voter.key, method: 'POST', ...more })
        expect(body.success, text).toBe(true)
        return [body.action, body.score, body.author.name]
      }
      const up = `/posts/${id}/upvote`
      expect(await vote(up)).toEqual(['upvoted', 1, unique('ada-bot')])
      expect(await vote(up)).toEqual(['removed', 0, unique('ada-bot')])
      expect(await vote(`/posts/${id}/downvote`, { body: {} })).toEqual([
        'downvoted',
        -1,
        unique('ada-bot'),
      ])
      expect(await vote(up)).toEqual(['changed', 1, unique('ada-bot')])
      expect((await vote(up, { body: { value: 1 } }))[1]).toBe(1)
      expect((await vote(up, { headers: { 'idempotency-key': 'vote-1' } }))[1]).toBe(1)
      const made = await send(`/posts/${id}/comments`, {
        key: hana.key,
        body: { content: 'x' },
      })
      const onComment = `/comments/${made.body.id}/upvote`
      expect(await vote(onComment)).toEqual(['upvoted', 1, hana.name])
      expect((await vote(onComment))[1]).toBe(0)
    })

    test('H3: follows, subscribes, names moderators and reads its home, by the usual paths', async () => {
      const fay = await join('fay')
      await send('/submolts', { key: hana.key, body: { name: unique('library') } })
      const path = `/submolts/${unique('library')}/subscribe`
      expect((await send(path, { key: fay.key, method: 'POST' })).body.action).toBe('subscribed')
      const place = await send(`/submolts/${unique('library')}`, { key: fay.key })
      expect(place.body).toMatchObject({ subscriberCount: 1, isSubscribed: true })
      const follow = await send(`/agents/${ada.name}/follow`, { key: fay.key, method: 'POST' })
      expect(follow.body).toMatchObject({ action: 'followed', agent: { name: ada.name } })
      const profile = await send(`/agents/profile?name=${ada.name}`, { key: fay.key })
      expect(profile.body).toMatchObject({ followerCount: 1, isFollowing: true })
      const home = await send('/home', { key: fay.key })
      expect(home.body).toMatchObject({
        your_account: { name: fay.name },
        yourAccount: { karma: 0 },
      })
      const feed = await send('/feed?filter=following&sort=rising&limit=3', { key: fay.key })
      expect(feed.body).toMatchObject({
        data: expect.any(Array),
        pagination: { count: 3, limit: 3 },
      })
      const second = await send(`/posts?sort=rising&limit=2&page=2`, { key: fay.key })
      const whole = await send(`/posts?sort=rising&limit=4`, { key: fay.key })
      expect(second.body.data).toEqual(whole.body.data.slice(2))

      const book = { key: hana.key, body: { submolt: unique('library'), title: 'A book' } }
      const { id } = (await send('/posts', book)).body
      for (const act of ['POST pin', 'POST lock', 'DELETE pin', 'DELETE lock']) {
        const [method = '', word] = act.split(' ')
        const done = await send(`/posts/${id}/${word}`, { method, key: hana.key })
        expect(done.body.action?.reason, done.text).toBe('No reason given.')
      }
      const moderators = `/submolts/${unique('library')}/moderators`
      const name = async (method: string, key: string, agent: string) =>
        (await send(moderators, { method, key, body: { agent_name: agent } })).status
      await send(`/agents/${fay.name}/role`, {
        method: 'PUT',
        key: adminKey,
        body: { role: 'member' },
      })
      expect(await name('POST', fay.key, fay.name)).toBe(403)
      expect(await name('POST', hana.key, `@${fay.name}`)).toBe(200)
      const listed = async () =>
        (await send(moderators)).body.moderators.map((each: { name: string }) => each.name)
      expect(await listed()).toEqual([fay.name, hana.name])
      expect(await name('DELETE', hana.key, fay.name)).toBe(200)
      expect(await name('DELETE', hana.key, ada.name)).toBe(404)
      expect(await listed()).toEqual([hana.name])
    })

    test('H14: a key with either prefix is refused in a text', async () => {
      for (const prefix of ['rookery_', 'moltbook_']) {
        const content = `my key is ${prefix}${'k'.repeat(43)}`
        const refused = await send('/posts', {
          key: ada.key,
          body: { submolt: 'general', title: 'Key', content },
        })
        expect([refused.status, refused.text.includes('kkkk')], prefix).toEqual([400, false])
      }
      await post({ title: 'Key', content: `third_${'k'.repeat(43)}` })
    })

    test('H3: a body that is nested too deep is refused, also where no body is expected', async () => {
      const deep = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
      const { id } = await post({ title: 'Deep' })
      for (const path of [`/posts/${id}/upvote`, '/submolts/general/subscribe', '/posts']) {
        const response = await dialect.hub.fetch(way.base + path, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${way.toKey(ada.key)}`,
            'content-type': 'application/json',
          },
          body: deep,
        })
        expect(response.status, path).toBe(400)
      }
    })

    test('H3: answers a reply by parentId, flat comments, and JSON on DELETE', async () => {
      const { id } = await post({ title: 'Talk' })
      const say = async (fields: Record<string, unknown>) =>
        (await send(`/posts/${id}/comments`, { key: hana.key, body: fields })).body
      const first = await say({ content: 'one' })
      const second = await say({ content: 'two', parentId: first.id })
      expect(second).toMatchObject({ parentId: first.id, authorName: hana.name, content: 'two' })
      expect((await say({ content: 'x', parentId: 'a', parent_id: 'b' })).success).toBe(false)
      const tree = (await send(`/posts/${id}`)).body.comments
      expect(tree).toHaveLength(1)
      expect(tree[0].replies[0].id).toBe(second.id)
      await send(`/comments/${first.id}`, { method: 'DELETE', key: hana.key })
      const flat = (await send(`/posts/${id}?include_comments=true`)).body.comments
      expect(flat.map((comment: { id: string }) => comment.id)).toEqual([first.id, second.id])
      expect(flat[0].author.name).toBe('[deleted]')
      const gone = await send(`/posts/${id}`, { method: 'DELETE', key: ada.key })
      expect([gone.status, gone.body.success]).toEqual([200, true])
    })
  },
)
