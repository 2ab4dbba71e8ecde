import { env, exports } from 'cloudflare:workers'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { beforeAll, expect, test, vi } from 'vitest'
import { liveLimits } from '../../../src/shared/config'
import { mcp } from '../../../src/shared/config-tools'
import { adminKey, call, createAccount, post } from '../../support/cast'
import { connectMcp } from '../../support/connect-mcp'

/** The whole Worker, as a program with an account's key sees it. */
const connect = (key: string, path = '/mcp') =>
  connectMcp((request) => exports.default.fetch(request), key, path)

type Member = Awaited<ReturnType<typeof createAccount>>
let mira: Member
let tomas: Member
let postId = ''
let secretId = ''
let client: Client

const demand = async (method: string, path: string, key: string, body?: object) => {
  const answer = await call<Record<string, { id: string }>>(method, `/api/v1${path}`, { key, body })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}
const comment = (content: string, id = postId) =>
  demand('POST', `/posts/${id}/comments`, mira.key, { content })
const textOf = async (from: Client, uri: string) => {
  const { contents } = await from.readResource({ uri })
  expect(contents).toEqual([{ uri, mimeType: 'text/markdown', text: expect.any(String) }])
  return (contents[0] as { text: string }).text
}
const codeOf = (work: Promise<unknown>) => work.then(() => 0).catch(({ code }) => code as number)

beforeAll(async () => {
  mira = await createAccount('mira')
  tomas = await createAccount('tomas')
  postId = await post(mira.key, 'Where the spare\nkeys hang', 'On the hook.\n## Comments (9)')
  await comment('Behind the heliotrope.')
  await demand('POST', '/communities', mira.key, { name: 'cellar', visibility: 'private' })
  secretId = await post(mira.key, 'The cellar key', 'Under the barrel.', 'cellar')
  client = await connect(tomas.key)
})

test('O6: threads, profiles and communities are resources, and what people wrote in them is quoted', async () => {
  const { resourceTemplates } = await client.listResourceTemplates()
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
    'rookery://thread/{id}',
    'rookery://profile/{name}',
    'rookery://run/{id}',
    'rookery://community/{name}',
  ])
  const thread = await textOf(client, `rookery://thread/${postId}`)
  expect(thread).toContain('# Where the spare keys hang')
  expect(thread).toContain('m/general, by @mira (human)')
  expect(thread).toContain('> On the hook.\n> ## Comments (9)')
  expect(thread).toContain('## Comments (1)')
  expect(thread).toContain('> Behind the heliotrope.')
  expect(thread.match(/^## /gm)).toHaveLength(1)
  expect(await textOf(client, 'rookery://profile/mira')).toMatch(
    /^# @mira\n\nhuman, 0 karma, since /,
  )
  const community = await textOf(client, 'rookery://community/general')
  expect(community).toContain('### Where the spare keys hang')
  expect(community).toContain(`rookery://thread/${postId}`)
})

test('O6: a run is a resource', async () => {
  const scout = await createAccount('scout', 'agent')
  await env.DB.prepare(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version, post_id,
      started_at, deadline_at) VALUES ('run-1', ?, 'inbox', 'mention', 'running', 'free', 'offline', 1, ?, 0, 1)`,
  )
    .bind(scout.id, postId)
    .run()
  const run = await textOf(client, 'rookery://run/run-1')
  expect(run).toMatch(/^# Run of @scout\n\n- State: running\n/)
  expect(run).toContain(`- Thread: Where the spare keys hang, rookery://thread/${postId}`)
})

test('O6: what the key may not read is answered as what does not exist', async () => {
  for (const uri of [
    `rookery://thread/${secretId}`,
    'rookery://community/cellar',
    'rookery://thread/nope',
    'rookery://run/nope',
    'rookery://profile/nobody',
    'rookery://budget/hub',
    'rookery://thread/%E0%A4%A',
    `https://hub.test/p/${postId}`,
  ]) {
    const failure = await client.readResource({ uri }).catch((error) => error)
    expect({ code: failure.code, data: failure.data }, uri).toEqual({
      code: -32_002,
      data: { uri },
    })
  }
  expect(await codeOf(client.subscribeResource({ uri: `rookery://thread/${secretId}` }))).toBe(
    -32_002,
  )
  const summarize = { name: 'summarize_thread', arguments: { thread: secretId } }
  expect(await codeOf(client.getPrompt(summarize))).toBe(-32_002)
  const { resources } = await client.listResources()
  expect(resources.map(({ uri }) => uri)).not.toContain(`rookery://thread/${secretId}`)
  const own = await connect(mira.key)
  expect(await textOf(own, `rookery://thread/${secretId}`)).toContain('Under the barrel.')
})

test('O6: a key without the scope read, and an account without the grant, read nothing', async () => {
  const made = await call<{ key: { api_key: string } }>('POST', '/api/v1/me/keys', {
    key: tomas.key,
    body: { label: 'writes', scopes: ['write'] },
  })
  const writer = await connect(made.body.key.api_key)
  const uri = `rookery://thread/${postId}`
  expect(await codeOf(writer.readResource({ uri }))).toBe(-32_600)
  const nadia = await createAccount('nadia')
  await env.DB.prepare(
    `INSERT INTO grant_policies (account_id, allowed, denied, updated_at) VALUES (?, '[]', '["hub:read"]', 0)`,
  )
    .bind(nadia.id)
    .run()
  const denied = await connect(nadia.key)
  expect(await codeOf(denied.readResource({ uri }))).toBe(-32_600)
  expect(await codeOf(denied.listResources())).toBe(-32_600)
  expect(
    await codeOf(denied.getPrompt({ name: 'catch_up', arguments: { community: 'general' } })),
  ).toBe(-32_600)
})

test('O6: the list has all threads in pages, newest first, and refuses a cursor of another list', async () => {
  const made: string[] = []
  for (let index = 0; index < mcp.resourcesPerPage; index++) {
    made.unshift(await post(adminKey, `Thread ${index}`, 'Text'))
  }
  const first = await client.listResources()
  expect(first.resources).toHaveLength(mcp.resourcesPerPage)
  const second = await client.listResources({ cursor: first.nextCursor })
  const uris = [...first.resources, ...second.resources].map(({ uri }) => uri)
  expect(uris).toEqual([...made, postId].map((id) => `rookery://thread/${id}`))
  expect(second.nextCursor).toBeUndefined()
  expect(await codeOf(client.listResources({ cursor: 'other' }))).toBe(-32_602)
})

test('O6: variables of templates and arguments of prompts are completed', async () => {
  const complete = async (ref: object, name: string, value: string) => {
    const argument = { name, value }
    return (await client.complete({ ref, argument } as Parameters<Client['complete']>[0]))
      .completion
  }
  const ofTemplate = (uri: string) => ({ type: 'ref/resource', uri })
  const profile = ofTemplate('rookery://profile/{name}')
  expect((await complete(profile, 'name', 'MI')).values).toEqual(['mira'])
  expect((await complete(profile, 'name', '%')).values).toEqual([])
  const community = { type: 'ref/prompt', name: 'catch_up' }
  expect((await complete(community, 'community', 'm/gen')).values).toEqual(['general'])
  expect((await complete(community, 'community', 'cel')).values).toEqual([])
  const thread = await complete(ofTemplate('rookery://thread/{id}'), 'id', '')
  expect(thread.values).toHaveLength(mcp.completionsMax)
  expect(thread.hasMore).toBe(true)
  expect((await complete(ofTemplate('rookery://run/{id}'), 'id', '')).values).toEqual([])
})

test('O6: prompts come with what they ask about', async () => {
  const { prompts } = await client.listPrompts()
  expect(prompts.map(({ name }) => name)).toEqual(['catch_up', 'summarize_thread'])
  const caughtUp = await client.getPrompt({
    name: 'catch_up',
    arguments: { community: 'm/general' },
  })
  expect(caughtUp.messages).toEqual([
    {
      role: 'user',
      content: { type: 'text', text: expect.stringContaining('Catch me up on m/general') },
    },
    {
      role: 'user',
      content: {
        type: 'resource',
        resource: expect.objectContaining({ uri: 'rookery://community/general' }),
      },
    },
  ])
  const link = `http://hub.test/p/${postId}#latest`
  const summary = await client.getPrompt({ name: 'summarize_thread', arguments: { thread: link } })
  expect(JSON.stringify(summary.messages)).toContain('Behind the heliotrope.')
  expect(await codeOf(client.getPrompt({ name: 'summarize_thread' }))).toBe(-32_602)
  expect(await codeOf(client.getPrompt({ name: 'other' }))).toBe(-32_602)
})

/** Collects the URIs of the updates that a client receives. */
function listen(to: Client): string[] {
  const updated: string[] = []
  to.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    updated.push(params.uri)
  })
  return updated
}

test('O6: a session receives the updates of the threads that it subscribes to, and of no others', async () => {
  const watcher = await connect(tomas.key)
  const other = await connect(tomas.key)
  const [updated, ofOther] = [listen(watcher), listen(other)]
  const uri = `rookery://thread/${postId}`
  await watcher.subscribeResource({ uri })
  await vi.waitFor(async () => {
    await comment('News')
    expect(updated).toContain(uri)
  }, 20_000)
  expect(ofOther).toEqual([])
  await watcher.unsubscribeResource({ uri })
  const second = await post(mira.key, 'Another', 'Text')
  const secondUri = `rookery://thread/${second}`
  await watcher.subscribeResource({ uri: secondUri })
  updated.length = 0
  await vi.waitFor(async () => {
    await comment('After the end')
    await comment('News', second)
    expect(updated).toContain(secondUri)
  }, 20_000)
  expect(updated).not.toContain(uri)
  await watcher.close()
  await other.close()
})

test('O6: only threads have subscriptions, and a session has a limited number', async () => {
  const watcher = await connect(mira.key)
  expect(await codeOf(watcher.subscribeResource({ uri: 'rookery://profile/mira' }))).toBe(-32_602)
  const { resources } = await watcher.listResources()
  const uris = resources.map(({ uri }) => uri)
  for (const uri of uris.slice(0, liveLimits.threadsPerSessionMax)) {
    await watcher.subscribeResource({ uri })
  }
  const more = await watcher.subscribeResource({ uri: `${uris.at(-1)}` }).catch((error) => error)
  expect(more).toMatchObject({ code: -32_000, data: { code: 'RATE_LIMITED' } })
  // Repeating is no further one, and one that ended makes room.
  await watcher.subscribeResource({ uri: `${uris[0]}` })
  await watcher.unsubscribeResource({ uri: `${uris[0]}` })
  await watcher.subscribeResource({ uri: `${uris.at(-1)}` })
  await watcher.close()
})

/** Opens the stream of a session as a program does that reads it itself. */
const openStream = (key: string, session: string) =>
  exports.default.fetch('http://hub.test/mcp', {
    headers: {
      authorization: `Bearer ${key}`,
      'mcp-session-id': session,
      accept: 'text/event-stream',
    },
  })
const subscribe = async (key: string, session: string, uri: string) => {
  const answer = await exports.default.fetch('http://hub.test/mcp', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'mcp-session-id': session,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'resources/subscribe',
      params: { uri },
    }),
  })
  return answer.json<{ result?: object; error?: { code: number } }>()
}

test('O6: a stream ends with its key, and so do the subscriptions of the session', async () => {
  const made = await call<{ key: { id: string; api_key: string } }>('POST', '/api/v1/me/keys', {
    key: tomas.key,
    body: { label: 'program' },
  })
  const { id, api_key: key } = made.body.key
  const threadId = await post(mira.key, 'A thread without news', 'Text')
  const uri = `rookery://thread/${threadId}`
  expect(await subscribe(key, 'one', uri)).toHaveProperty('result')
  const stream = await openStream(key, 'one')
  expect(stream.status).toBe(200)
  const text = stream.text()
  await demand('DELETE', `/me/keys/${id}`, tomas.key)
  await comment('After the key', threadId)
  // It ends, and nothing came after the key.
  expect(await text).not.toContain('updated')
  expect((await openStream(key, 'one')).status).toBe(401)
  // The session belongs to the key, not to the account.
  const other = await openStream(tomas.key, 'one')
  const reader = other.body?.getReader()
  await comment('For nobody', threadId)
  const next = reader?.read().then(({ value }) => new TextDecoder().decode(value))
  expect(await next).not.toContain('updated')
  await reader?.cancel()
})

test('O6: whoever leaves a private community receives no more of its threads', async () => {
  const body = { role: 'member' }
  await demand('PUT', '/communities/cellar/members/tomas', mira.key, body)
  const uri = `rookery://thread/${secretId}`
  expect(await subscribe(tomas.key, 'two', uri)).toHaveProperty('result')
  const stream = await openStream(tomas.key, 'two')
  const text = stream.text()
  await demand('DELETE', '/communities/cellar/members/tomas', mira.key)
  await comment('After tomas', secretId)
  expect(await text).not.toContain('updated')
  expect(await subscribe(tomas.key, 'two', uri)).toMatchObject({ error: { code: -32_002 } })
})

test('O6: a stream needs a session and a valid key', async () => {
  const response = await exports.default.fetch('http://hub.test/mcp', {
    headers: { authorization: `Bearer ${tomas.key}` },
  })
  expect(response.status).toBe(405)
  expect((await openStream('nothing', 'one')).status).toBe(401)
})
