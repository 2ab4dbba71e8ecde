import { env, exports } from 'cloudflare:workers'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { beforeAll, describe, expect, test } from 'vitest'
import { toArgumentParts, toText } from '../../../src/hub/approvals/arguments'
import { httpServer } from '../../../src/mcp-servers/servers/http'
import { parseLosslessJson } from '../../../src/shared/exact-json'
import { call, createAccount } from '../../support/cast'
import { connectMcp, textOf } from '../../support/connect-mcp'
import { allow, asAdmin, declare, serviceUrl } from '../../support/services'

/** The whole Worker, called by an outside agent; the service is a real server over HTTP. */
let client: Client
let agentId: string
let agentKey: string
let heronKey: string

beforeAll(async () => {
  const agent = await createAccount('wren', 'agent')
  agentId = agent.id
  agentKey = agent.key
  heronKey = (await createAccount('heron', 'agent')).key
  await allow(agentId, ['http:weather:*', 'http:loose:*', 'http:readable:read', 'http:nothing:*'])
  await declare('weather')
  await declare('loose', { format: 'any' })
  await declare('readable')
  client = await connectMcp((request) => exports.default.fetch(request), agent.key, '/mcp')
})

const use = async (args: Record<string, unknown>) => {
  const result = await client.callTool({
    name: 'http_request',
    arguments: { service: 'weather', ...args },
  })
  return { text: textOf(result), isError: result.isError === true }
}

test('M1: a request goes below the base URL and its answer comes back as data', async () => {
  const { text, isError } = await use({ path: '/fine', query: { day: 'to day', x: '1&2' } })
  expect(isError, text).toBe(false)
  expect(JSON.parse(text)).toEqual({
    status: 200,
    content_type: 'application/json',
    body: '{"fine":true,"path":"/api/fine?day=to+day&x=1%262"}',
  })
})

test('M2: GET and HEAD need the read grant of their service, everything else its write grant', async () => {
  for (const method of ['GET', 'HEAD']) {
    expect((await use({ service: 'readable', method, path: '/method' })).isError).toBe(false)
  }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const { text } = await use({ service: 'readable', method, path: '/method' })
    expect(text).toMatch(/^Error: Missing grant http:readable:write\b/)
  }
  expect((await use({ service: 'other', path: '/fine' })).text).toMatch(
    /^Error: Missing grant http:other:read\b/,
  )
  const written = await use({ method: 'POST', path: '/method', body: '{}' })
  expect(JSON.parse(JSON.parse(written.text).body)).toEqual({
    method: 'POST',
    type: 'application/json',
  })
  const { results } = await env.DB.prepare(
    `SELECT DISTINCT "grant", decision FROM audit_log WHERE account_id = ? AND "grant" LIKE 'http:readable:%' ORDER BY 1`,
  )
    .bind(agentId)
    .all()
  expect(results).toEqual([
    { grant: 'http:readable:read', decision: 'allowed' },
    { grant: 'http:readable:write', decision: 'denied' },
  ])
})

test('M1 M2: a key for reading lists http_request and reads with it, and writes nothing', async () => {
  const made = await call<{ key: { api_key: string } }>('POST', '/api/v1/me/keys', {
    key: agentKey,
    body: { label: 'reader', scopes: ['read'] },
  })
  const { api_key: key } = made.body.key
  const reader = await connectMcp((request) => exports.default.fetch(request), key, '/mcp')
  expect((await reader.listTools()).tools.map(({ name }) => name)).toContain('http_request')
  const ask = async (method: string) => {
    const args = { service: 'weather', method, path: '/method' }
    const result = await reader.callTool({ name: 'http_request', arguments: args })
    return { text: textOf(result), isError: result.isError === true }
  }
  expect((await ask('GET')).isError).toBe(false)
  expect((await ask('POST')).text).toMatch(
    /^Error: Missing grant http:weather:write: the scopes of this key do not allow it\.$/,
  )
})

describe('a body', () => {
  const echo = async (args: Record<string, unknown>) => {
    const { text, isError } = await use({ method: 'POST', path: '/echo', ...args })
    return isError ? text : JSON.parse(JSON.parse(text).body)
  }

  test.each([
    ['an object', { a: [1, { b: null }], c: 'é' }, '{"a":[1,{"b":null}],"c":"é"}'],
    ['an array', [1, 'two'], '[1,"two"]'],
    ['a text, as it is', '{ "a":  1 }', '{ "a":  1 }'],
  ])('M1: %s is sent as JSON', async (_name, body, sent) => {
    const type = 'application/json'
    expect(await echo({ body })).toEqual({ type, query: '', body: sent })
  })

  test('M1: an object keeps a JSON type that is given, and needs one', async () => {
    const patch = { body: { a: 1 }, content_type: 'application/merge-patch+json' }
    expect(await echo(patch)).toMatchObject({ type: patch.content_type, body: '{"a":1}' })
    const form = { body: { a: 1 }, content_type: 'application/x-www-form-urlencoded' }
    expect(await echo(form)).toMatch(/^Error: An object or array is sent as JSON/)
    expect(await echo({ ...form, body: 'a=1' })).toMatchObject({ body: 'a=1' })
  })

  test('M1: the limit of a body counts what is sent', async () => {
    const fits = 'x'.repeat(100_000 - '{"a":""}'.length)
    const send = (body: unknown) => use({ method: 'POST', path: '/method', body })
    expect((await send({ a: fits })).isError).toBe(false)
    expect((await send({ a: `${fits}x` })).text).toMatch(/^Error: body: Must have at most 100000/)
    expect((await send('x'.repeat(100_001))).text).toMatch(/^Error: Invalid arguments/)
  })

  test('M1: a GET has no body, of either kind', async () => {
    for (const body of ['{}', {}]) {
      expect(await echo({ method: 'GET', body })).toBe('Error: A GET request has no body.')
    }
  })

  test('M1 M7: an object is sent with the numbers that the approver was shown', async () => {
    const raw =
      '{"service":"x","method":"POST","path":"/","body":{"id":12345678901234567890,"n":1.5}}'
    const [tool] = httpServer.tools
    const prepared = tool?.prepare(JSON.parse(raw), parseLosslessJson(raw))
    if (!prepared?.ok) throw new Error('refused')
    const sent: unknown[] = []
    const outside = {
      baseUrl: new URL('https://x.example/'),
      format: 'any',
      headers: {},
      fetch: async (request: { body?: string }) => {
        sent.push(request.body)
        return { status: 200, headers: new Headers(), text: '', bytes: 0, isTruncated: false }
      },
    }
    await prepared.run({ outside } as never)
    expect(sent).toEqual(['{"id":12345678901234567890,"n":1.5}'])
    const shown = toText(toArgumentParts(raw, { indent: 0, keys: null }))
    expect(shown).toContain(`"body":${sent[0]}`)
  })
})

test('M1: numbers and booleans in a query are sent as JSON writes them', async () => {
  const query = { page: 2, share: 0.5, all: true, q: 'tin' }
  const { text } = await use({ path: '/echo', query })
  expect(JSON.parse(JSON.parse(text).body).query).toBe('?page=2&share=0.5&all=true&q=tin')
})

test('M2 M7: approval by tier lets a GET through, and asks for a POST', async () => {
  const policy = { allowed: ['http:weather:*'], require_approval: ['tier:write'] }
  expect((await asAdmin('PUT', '/agents/heron/grants', policy)).status).toBe(200)
  const careful = await connectMcp((request) => exports.default.fetch(request), heronKey, '/mcp')
  const ask = async (method: string) => {
    const args = { service: 'weather', method, path: '/method' }
    return textOf(await careful.callTool({ name: 'http_request', arguments: args }))
  }
  expect(await ask('GET')).toContain('"status":200')
  expect(await ask('POST')).toMatch(/^Error: This call requires approval/)
  const { body } = await asAdmin('GET', '/approvals')
  expect(JSON.stringify(body)).toContain('"tier":"write"')
})

test('M2: a service that nobody declared says who can', async () => {
  expect((await use({ service: 'nothing', path: '/' })).text).toBe(
    'Error: There is no such service. An admin can add the service at /credentials.',
  )
})

describe('what upstreams do wrong is an error that a model can read', () => {
  test.each([
    ['4xx', '/error', /^Error: The service weather answered 401\. Response: \{"error":"bad key/],
    ['a wrong path', '/nothing', /^Error: The service weather answered 404\. .*Check the path\.$/],
    ['429', '/header', /answered 429\. Response: slowly The rate limit .* is reached\.$/],
    ['5xx with a page', '/down', /answered 503\. Response: Back soon Try again later\.$/],
    ['HTML', '/page', /answered with a web page\. It begins: Sign in Please sign in\./],
    ['invalid JSON', '/broken', /answered with invalid JSON\. It begins: \{"key":/],
    ['a reset', '/reset', /could not be reached, or the connection broke\./],
    ['a broken body', '/cut', /could not be reached, or the connection broke\./],
    ['a circle', '/circle', /was blocked: it redirects more than 5 times\./],
    ['a redirect inside', '/metadata', /was blocked: .*169\.254\.169\.254/],
  ])('M14: %s', async (_what, path, words) => {
    const { text, isError } = await use({ path })
    expect(isError).toBe(true)
    expect(text).toMatch(words)
    expect(text).not.toContain('<h1>')
  })

  test('M14: a service whose format is any may answer with a page', async () => {
    const { text } = await use({ service: 'loose', path: '/page' })
    expect(JSON.parse(text).body).toContain('<h1>Please sign in</h1>')
  })

  test('M10: a long answer is kept whole and can be read on in', async () => {
    const { text } = await use({ path: '/long' })
    expect(text).toMatch(/^\{"status":200,.*"note":"The response is longer; .*"body":"x{40000}/)
    const handle = /handle (\S+), offset \d+\.\]$/.exec(text)?.[1]
    const readOn = async (offset: number) => {
      const args = { handle, offset }
      return textOf(await client.callTool({ name: 'results_read', arguments: args }))
    }
    const whole = Number(/^\[Bytes \d+ to \d+ of (\d+)\./.exec(await readOn(60_000))?.[1])
    expect(whole).toBeGreaterThan(1_000_000)
    expect(await readOn(whole - 100)).toMatch(/This is the end\.\]\nx+/)
  })
})

describe('declaring a service', () => {
  test('M13: only an admin may, and the address is checked', async () => {
    const put = (body: object) => asAdmin('PUT', '/http-services/checked', body)
    for (const [body, words] of [
      [{ base_url: 'nonsense' }, 'Must be a complete URL'],
      [{ base_url: 'http://api.example.com/' }, 'Only https'],
      [{ base_url: 'https://127.0.0.1/' }, 'not on the public internet'],
      [{ base_url: serviceUrl, allow_http: true }, 'not on the public internet'],
      [{ base_url: 'https://a:b@api.example.com/' }, 'password'],
      [{ base_url: 'https://api.example.com/', hosts: ['10.0.0.1'] }, 'public internet'],
      [{ base_url: 'https://api.example.com/', hosts: ['https://x.org/a'] }, 'is not a host'],
      [{ base_url: 'https://api.example.com/', credential: 'k' }, '{credential}'],
      [{ base_url: 'https://api.example.com/', headers: { 'A b': 'c' } }, 'body.headers.A b'],
    ] as const) {
      const answer = await put(body)
      expect(answer.status).toBe(400)
      expect(JSON.stringify(answer.body)).toContain(words)
    }
    const fine = { base_url: 'https://api.example.com/v1', hosts: ['cdn.example.com'] }
    expect((await put(fine)).status).toBe(200)
    const { body } = await asAdmin('GET', '/http-services')
    expect((body as unknown as { services: object[] }).services).toContainEqual(
      expect.objectContaining({
        name: 'checked',
        hosts: ['api.example.com', 'cdn.example.com'],
        allow_private: false,
        updated_by: 'admin',
      }),
    )
    expect((await asAdmin('DELETE', '/http-services/checked')).status).toBe(200)
    expect((await asAdmin('DELETE', '/http-services/checked')).status).toBe(404)
  })
})

test('X11: /git takes keys of accounts with their grants, and records what they asked for', async () => {
  const iris = await createAccount('iris')
  const fetchRefs = async (key: string | null) => {
    const path = 'http://hub.test/git/mirror/acme/tools/info/refs?service=git-upload-pack'
    const headers: HeadersInit = key === null ? {} : { authorization: `Bearer ${key}` }
    const response = await exports.default.fetch(path, { headers })
    expect(response.status).toBe(403)
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/)
    return response.text()
  }
  for (const key of [null, 'wrong', 'rka1.e30.AAAA']) {
    expect(await fetchRefs(key)).toMatch(/^This request has no valid key/)
  }
  expect(await fetchRefs(iris.key)).toMatch(/^Missing grant git:mirror:read/)
  await allow(iris.id, ['git:mirror:read'])
  expect(await fetchRefs(iris.key)).toContain('There is no such service')
  const base = { base_url: `${serviceUrl}/fine`, allow_http: true, allow_private: true }
  const put = (path: string, body: unknown) => asAdmin('PUT', path, body)
  expect((await put('/services/git/mirror', base)).status).toBe(200)
  const credential = { value: 'the-token-of-the-mirror', server: 'git', service: 'mirror' }
  expect((await put('/credentials/mirror', credential)).status).toBe(200)
  // The service answers with JSON.
  expect(await fetchRefs(iris.key)).toContain("did not answer with git's protocol")
  const audit = await env.DB.prepare(
    'SELECT tool, "grant", decision, outcome FROM audit_log WHERE account_id = ? ORDER BY id',
  )
    .bind(iris.id)
    .all()
  expect(audit.results).toMatchObject([
    { tool: 'git_fetch', grant: 'git:mirror:read', decision: 'denied' },
    { tool: 'git_fetch', decision: 'allowed', outcome: 'error' },
    { tool: 'git_fetch', decision: 'allowed', outcome: 'error' },
  ])
})
