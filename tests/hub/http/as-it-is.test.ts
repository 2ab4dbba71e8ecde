import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { composeApp } from '../../../src/compose'
import { isEncoded, isUtf8Type, prefersPage } from '../../../src/hub/http/bodies'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
/** The whole Worker, with `/mcp`, the model gateway and the routes of modules. */
const { app } = composeApp(Object.assign({ ...env }, { ROOKERY_ORIGIN: 'http://hub.test' }))
const fetchWorker = (path: string, init: RequestInit = {}) =>
  app.fetch(new Request(`http://hub.test${path}`, { redirect: 'manual', ...init }), env, {
    waitUntil: () => {},
    passThroughOnException: () => {},
    props: {},
  } as unknown as ExecutionContext)

let key: string
beforeAll(async () => {
  key = (await hub.join(`http-${crypto.randomUUID().slice(0, 6)}`, 'human')).key
})

const bytesOf = (...parts: (string | number[])[]) =>
  new Uint8Array(
    parts.flatMap((part) =>
      typeof part === 'string' ? [...new TextEncoder().encode(part)] : part,
    ),
  )

/** Sequences of bytes that are not UTF-8, by what is wrong with them. */
const malformed: [what: string, bytes: number[]][] = [
  ['a byte of Latin-1', [0xe4]],
  ['a lone continuation', [0x80]],
  ['a sequence that is cut short', [0xe2, 0x82]],
  ['a sequence that another character interrupts', [0xe2, 0x41, 0xac]],
  ['an overlong slash', [0xc0, 0xaf]],
  ['an overlong slash in three bytes', [0xe0, 0x80, 0xaf]],
  ['an overlong U+0000', [0xc0, 0x80]],
  ['a half of a surrogate pair', [0xed, 0xa0, 0x80]],
  ['a character above U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ['a byte that never occurs', [0xff]],
  ['a sequence of five bytes', [0xf8, 0x88, 0x80, 0x80, 0x80]],
]

const toEscapes = (bytes: number[]) =>
  bytes.map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

interface Sender {
  path: string
  type: string
  toBody(text: string | number[]): Uint8Array<ArrayBuffer>
}

/** One route of each kind of body. */
const senders: Record<string, Sender> = {
  JSON: {
    path: '/api/v1/posts',
    type: 'application/json',
    toBody: (text) => bytesOf('{"community":"general","title":"', text, '"}'),
  },
  upload: {
    path: '/api/v1/import',
    type: 'application/json',
    toBody: (text) => bytesOf('{"posts":[],"x":"', text, '"}'),
  },
  form: {
    path: '/posts-new',
    type: 'application/x-www-form-urlencoded',
    toBody: (text) => bytesOf('community=general&title=', text, '&content='),
  },
  'escaped form': {
    path: '/posts-new',
    type: 'application/x-www-form-urlencoded',
    toBody: (text) =>
      bytesOf(
        'community=general&title=',
        typeof text === 'string' ? encodeURIComponent(text) : toEscapes(text),
        '&content=100%',
      ),
  },
  'form in parts': {
    path: '/posts-new',
    type: 'multipart/form-data; boundary=b',
    toBody: (text) =>
      bytesOf(
        '--b\r\nContent-Disposition: form-data; name="community"\r\n\r\ngeneral\r\n',
        '--b\r\nContent-Disposition: form-data; name="title"\r\n\r\n',
        text,
        '\r\n--b--\r\n',
      ),
  },
  'secret form': {
    path: '/login',
    type: 'application/x-www-form-urlencoded',
    toBody: (text) => bytesOf('next=/&key=', text),
  },
}

const sendBody = (sender: Sender, body: Uint8Array<ArrayBuffer>, headers = {}) =>
  hub.fetch(sender.path, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      'sec-fetch-site': 'same-origin',
      origin: 'http://hub.test',
      authorization: `Bearer ${sender.path.endsWith('import') ? adminKey : key}`,
      'content-type': sender.type,
      ...headers,
    },
    body,
  })

const isTaken = ({ status }: Response, sender: Sender) =>
  sender.path === '/login' ? status === 401 : status < 400

describe.each(Object.entries(senders))('the bytes of a body: %s', (_name, sender) => {
  test('http: every text in UTF-8 is taken, with or without that charset', async () => {
    for (const text of ['plain', 'Größe €', '請', '😀', 'e\u0301', '\u{10ffff}']) {
      for (const parameter of ['', '; charset=utf-8', ';charset="UTF-8"', '; Charset=utf8']) {
        const headers = { 'content-type': `${sender.type}${parameter}` }
        const response = await sendBody(sender, sender.toBody(text), headers)
        expect(isTaken(response, sender), `${text} ${parameter} ${response.status}`).toBe(true)
        hub.clock.advance(60_000)
      }
    }
  })

  test.each(malformed)('http: %s is 400', async (_what, bytes) => {
    const response = await sendBody(sender, sender.toBody(bytes))
    expect([response.status, (await response.json<{ code: string }>()).code]).toEqual([
      400,
      'VALIDATION',
    ])
  })

  test.each(['iso-8859-1', 'utf-16', 'utf-16le', 'windows-1252', '"iso-8859-1"', 'x', '""'])(
    'http: the charset %s is 415, whatever the bytes are',
    async (charset) => {
      const type = `${sender.type}; charset=${charset}`
      const response = await sendBody(sender, sender.toBody('plain'), { 'content-type': type })
      expect(response.status).toBe(415)
      expect((await response.json<{ hint: string }>()).hint).toContain('charset=utf-8')
    },
  )

  test.each(['gzip', 'br', 'deflate', 'zstd', 'identity, gzip', 'GZIP', 'x'])(
    'http: the content coding %s is 415, which names what is taken',
    async (coding) => {
      const headers = { 'content-encoding': coding }
      const response = await sendBody(sender, sender.toBody('plain'), headers)
      expect([response.status, response.headers.get('accept-encoding')]).toEqual([415, 'identity'])
    },
  )

  test('http: identity is no coding', async () => {
    const headers = { 'content-encoding': 'identity' }
    expect(isTaken(await sendBody(sender, sender.toBody('plain'), headers), sender)).toBe(true)
  })
})

test.each([
  [null, true],
  ['application/json', true],
  ['application/json;charset=UTF-8', true],
  ['application/json; profile=x; charset="utf-8"', true],
  ['application/json; charset = utf-8 ; x=y', true],
  ['application/json; charset=utf-8; charset=latin1', false],
  ['application/json; charset=us-ascii', false],
  ['application/json; charset=', false],
  ['application/json; charset="utf-8', false],
  ['application/json; x="; charset=utf-16"', false],
])('http: the charset of %s is UTF-8: %s', (type, isUtf8) => {
  expect(isUtf8Type(type)).toBe(isUtf8)
})

test('http: a coding is whatever is not identity', () => {
  for (const header of [null, undefined, '', 'identity', ' Identity ', 'identity, identity'])
    expect(isEncoded(header), String(header)).toBe(false)
  for (const header of ['gzip', 'identity,br', 'compress', '*'])
    expect(isEncoded(header)).toBe(true)
})

test.each([
  [null, false],
  ['', false],
  ['*/*', false],
  ['application/json', false],
  ['text/html', true],
  ['TEXT/HTML', true],
  ['text/*', true],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
  ['text/html;q=0', false],
  ['text/html;q=0, */*', false],
  ['text/html;q=0.0,*/*;q=1', false],
  ['text/*, text/html;q=0', false],
  ['*/*;q=0', false],
  ['*/*;q=0, text/html', true],
  ['application/json, text/html;q=0.5', false],
  ['application/json;q=0.5, text/html', true],
  ['application/json, text/html', false],
  ['text/html, application/json', true],
  ['text/html;q=0.5, */*;q=0.8', false],
  ['text/html;q=0.8, */*;q=0.8', true],
  ['text/html; charset=utf-8; q=0.7, application/json;q=0.6', true],
  ['application/*;q=0.9, text/html;q=0.9', true],
  ['text/html;q=x', true],
  ['application/json, text/html;q=7', false],
  ['text/htmlx', false],
  [', ,', false],
])('http: Accept %s asks for a page: %s', (header, isPage) => {
  expect(prefersPage(header)).toBe(isPage)
})

test('http: with different qualities the order of an Accept header says nothing', async () => {
  const types = ['text/html', 'application/json', '*/*', 'text/*', 'application/*']
  const range = fc.tuple(fc.constantFrom(...types), fc.integer({ min: 0, max: 1_000 }))
  const header = (ranges: [string, number][]) =>
    ranges.map(([type, quality]) => `${type};q=${(quality / 1_000).toFixed(3)}`).join(', ')
  const ranges = fc.uniqueArray(range, { selector: ([type]) => type, minLength: 1 })
  const distinct = ranges.filter(
    (list) => new Set(list.map(([, quality]) => quality)).size === list.length,
  )
  await fc.assert(
    fc.property(distinct, (list) => {
      expect(prefersPage(header(list))).toBe(prefersPage(header(list.toReversed())))
      const refused = list.map(([type, q]): [string, number] => [type, type === types[0] ? 0 : q])
      if (list.some(([type]) => type === types[0])) expect(prefersPage(header(refused))).toBe(false)
    }),
  )
})

describe('a slash at the end', () => {
  const moved: [from: string, to: string][] = [
    ['/m/', '/m'],
    ['/m/general/', '/m/general'],
    ['/m/general///', '/m/general'],
    ['/m/general/?sort=new&q=a%2Fb', '/m/general?sort=new&q=a%2Fb'],
    ['/api/v1/posts/', '/api/v1/posts'],
    ['/api/v1/posts/?limit=3', '/api/v1/posts?limit=3'],
    ['/api/v1/me/', '/api/v1/me'],
    ['/nothing/here/', '/nothing/here'],
    ['/m/gr%C3%B6%C3%9Fe/', '/m/gr%C3%B6%C3%9Fe'],
    ['//evil.example/', '/evil.example'],
    ['//evil.example//', '/evil.example'],
    ['/\\evil.example/', '/evil.example'],
    ['//', '/'],
  ]
  test.each(moved)('http: %s moves to %s for reads', async (from, to) => {
    for (const method of ['GET', 'HEAD']) {
      const response = await hub.fetch(from, { method, redirect: 'manual' })
      expect([method, response.status, response.headers.get('location')]).toEqual([method, 308, to])
    }
    expect((await hub.fetch(from, { method: 'POST', redirect: 'manual' })).status).toBe(404)
  })

  test('http: the hub itself, and paths that end in a slash, stay', async () => {
    expect((await hub.fetch('/')).status).toBe(200)
    expect((await fetchWorker('/mcp/', { method: 'POST' })).status).toBe(401)
  })
})

describe('methods', () => {
  test('http: 405 names every method of the path, and HEAD wherever GET is', async () => {
    const paths = new Map<string, Set<string>>()
    for (const { method, path } of app.routes) {
      if (!path.startsWith('/api/v1/') || method === 'ALL' || path.endsWith('openapi.json'))
        continue
      paths.set(path, (paths.get(path) ?? new Set()).add(method))
    }
    expect(paths.size).toBeGreaterThan(100)
    for (const [path, methods] of paths) {
      const concrete = path.replace(/:\w+/g, 'x-y-z')
      const response = await fetchWorker(concrete, { method: 'PROPFIND' })
      expect(response.status, path).toBe(405)
      const allowed = (response.headers.get('allow') ?? '').split(', ')
      expect(allowed, path).toEqual(expect.arrayContaining([...methods]))
      expect(allowed.includes('HEAD'), `${path} ${allowed}`).toBe(allowed.includes('GET'))
    }
  })

  test('http: HEAD is answered as GET is, without a body', async () => {
    for (const path of ['/', '/api/v1/posts', '/api/v1/posts/x', '/nothing']) {
      const [get, head] = [await hub.fetch(path), await hub.fetch(path, { method: 'HEAD' })]
      expect([path, head.status, await head.text()]).toEqual([path, get.status, ''])
    }
  })
})

describe('clients of MCP', () => {
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const ask = (authorization?: string) =>
    fetchWorker('/mcp', {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(authorization && { authorization }),
      },
      body: message,
    })

  test('http: a wrong key is told from none, in JSON and in the challenge', async () => {
    for (const [authorization, challenge] of [
      [undefined, 'Bearer realm="mcp"'],
      ['Basic eDp5', 'Bearer realm="mcp"'],
      ['Bearer rookery_wrong', 'Bearer realm="mcp", error="invalid_token"'],
    ] as const) {
      const response = await ask(authorization)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe(challenge)
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32_000 } })
    }
  })

  const absent: [method: string, path: string][] = [
    ['GET', '/.well-known/oauth-protected-resource'],
    ['GET', '/.well-known/oauth-protected-resource/mcp'],
    ['GET', '/.well-known/oauth-authorization-server'],
    ['GET', '/.well-known/oauth-authorization-server/mcp'],
    ['GET', '/.well-known/openid-configuration'],
    ['POST', '/register'],
    ['GET', '/authorize'],
    ['POST', '/token'],
  ]
  test.each(absent)('http: %s %s is a 404 in JSON', async (method, path) => {
    const accepts = [undefined, '*/*', 'application/json', 'application/json, text/html;q=0.5']
    for (const accept of accepts) {
      const headers = {
        ...(accept && { accept }),
        ...(method === 'POST' && { 'content-type': 'application/json' }),
      }
      const body = method === 'POST' ? { body: '{"redirect_uris":[]}' } : {}
      const response = await fetchWorker(path, { method, headers, ...body })
      expect([response.status, response.headers.get('content-type')]).toEqual([
        404,
        'application/json',
      ])
      expect(await response.json()).toMatchObject({ code: 'NOT_FOUND', error: expect.any(String) })
    }
  })

  test('http: a person who opens a path that is not there gets a page', async () => {
    const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
    const response = await hub.fetch('/register', { headers })
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('Back to the feed')
  })
})
