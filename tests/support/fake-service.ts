/**
 * An external service for tests, in Node over real HTTP. It returns its input in many forms and fails in
 * many ways. The credential that it echoes is the `authorization` header.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { listen } from './listen.ts'

type Answer = (request: IncomingMessage, response: ServerResponse, secret: string) => void

const json = (response: ServerResponse, value: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))

const page = '<!doctype html><title>Sign in</title><h1>Please sign in</h1>'

const answers: Record<string, Answer> = {
  '/fine': (request, response) => json(response, { fine: true, path: request.url }),
  '/body': (_, response, secret) => json(response, { said: secret, [secret]: 1 }),
  '/text': (request, response, secret) =>
    response
      .writeHead(200, { 'content-type': 'text/plain' })
      .end(`You are ${secret}; all: ${request.headers.authorization}.`),
  '/header': (_, response, secret) =>
    response
      .writeHead(429, { 'content-type': `text/plain; x=${secret}`, 'retry-after': secret })
      .end('slowly'),
  '/type': (_, response, secret) =>
    response.writeHead(200, { 'content-type': `text/x-${secret}` }).end('typed'),
  '/error': (_, response, secret) => json(response, { error: `bad key ${secret}` }, 401),
  '/broken': (_, response, secret) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(`{"key":"${secret}`),
  '/base64': (_, response, secret) =>
    json(response, {
      plain: Buffer.from(secret).toString('base64'),
      url: Buffer.from(`x:${secret}`).toString('base64url'),
      basic: Buffer.from(`user:${secret}:more`).toString('base64'),
    }),
  '/encoded': (_, response, secret) =>
    json(response, {
      component: encodeURIComponent(secret),
      lower: encodeURIComponent(secret).replace(/%../g, (hex) => hex.toLowerCase()),
      form: new URLSearchParams({ key: secret }).toString(),
      every: [...secret].map((char) => `%${Buffer.from(char).toString('hex')}`).join(''),
    }),
  '/escaped': (_, response, secret) =>
    json(response, {
      once: JSON.stringify(secret),
      twice: JSON.stringify(JSON.stringify({ key: secret })),
      unicode: [...secret]
        .map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join(''),
      html: secret.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;'),
    }),
  '/hex': (_, response, secret) =>
    json(response, {
      lower: Buffer.from(secret).toString('hex'),
      upper: Buffer.from(secret).toString('hex').toUpperCase(),
      apart: [...Buffer.from(secret)].map((byte) => byte.toString(16)).join(':'),
    }),
  '/chunks': (_, response, secret) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    const half = Math.floor(secret.length / 2)
    response.write(secret.slice(0, half))
    setTimeout(() => response.end(secret.slice(half)), 20)
  },
  '/long': (_, response, secret) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    // The size limit falls within a credential.
    response.write('x'.repeat(1024 * 1024 - 12))
    response.end(`${secret}${'y'.repeat(4_000)}`)
  },
  '/brim': (_, response, secret) =>
    response
      .writeHead(200, { 'content-type': 'text/plain' })
      .end(`${'z'.repeat(39_990)}${secret} ${'z'.repeat(9)}`),
  '/utf16': (_, response, secret) =>
    response
      .writeHead(200, { 'content-type': 'text/plain; charset=utf-16le' })
      .end(Buffer.from(secret, 'utf16le')),
  '/moved': (_, response, secret) =>
    response.writeHead(302, { location: `/text?was=${encodeURIComponent(secret)}` }).end(),
  '/gone': (_, response, secret) =>
    response.writeHead(302, { location: `https://elsewhere.example/?${secret}` }).end(),
  '/nowhere': (_, response, secret) =>
    response.writeHead(302, { location: `http://${secret}:x@@/` }).end(),
  '/metadata': (_, response) =>
    response.writeHead(307, { location: 'http://169.254.169.254/latest/' }).end(),
  '/circle': (_, response) => response.writeHead(302, { location: '/circle' }).end(),
  '/see': (_, response) => response.writeHead(303, { location: '/method' }).end(),
  '/again': (_, response) => response.writeHead(307, { location: '/method' }).end(),
  '/method': (request, response) =>
    json(response, { method: request.method, type: request.headers['content-type'] ?? null }),
  '/down': (_, response) =>
    response.writeHead(503, { 'content-type': 'text/html' }).end('<h1>Back soon</h1>'),
  '/page': (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page),
  '/silent': () => {},
  '/slow': (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('{"a":')
  },
  '/reset': (request) => request.socket.destroy(),
  '/cut': (request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '900' })
    response.write('{"a":')
    setTimeout(() => request.socket.destroy(), 20)
  },
}

/** Secret of signed requests, which do not contain it; set by tests. All other tests share this server. */
let told = ''

function findSecret({ headers }: IncomingMessage): string {
  const token = headers['x-subscription-token']
  if (typeof token === 'string') return token
  const { authorization = '' } = headers
  if (authorization.startsWith('AWS4-')) return told
  return /^Bearer (.*)$/.exec(authorization)?.[1] ?? authorization
}

/** Returns the answer named by a part of the path, or by a search query. */
function findAnswer(url: URL): Answer | undefined {
  const names = [...url.pathname.split('/'), url.searchParams.get('q')]
  return names.map((name) => answers[`/${name}`]).find((answer) => answer !== undefined)
}

function handle(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const url = new URL(request.url ?? '/', 'http://service')
  if (url.pathname === '/tell') {
    told = body.toString()
    response.end()
    return
  }
  if (url.pathname.endsWith('/echo')) {
    const { 'content-type': type = null } = request.headers
    json(response, { type, query: url.search, body: body.toString() })
    return
  }
  const answer = findAnswer(url)
  if (answer) answer(request, response, findSecret(request))
  else json(response, { error: 'no such path' }, 404)
}

/** Starts the service; its answers are listed above by path. */
export const startFakeService = () => listen(handle)
