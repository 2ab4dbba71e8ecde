/**
 * The part of GitHub's API that tools use, in Node over real HTTP, with documented paths and shapes. The
 * first path segment isolates tests: each has its own state, which is readable at `/_state` and takes
 * failures at `/_plan`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Answer, answerGithub, createHub, type Hub, ok } from './github-answers.ts'
import { listen } from './listen.ts'

const hubs = new Map<string, Hub>()

function hubOf(name: string): Hub {
  const found = hubs.get(name)
  if (found) return found
  const made = createHub()
  hubs.set(name, made)
  return made
}

const send = (response: ServerResponse, { status, body, headers }: Answer) =>
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
    .end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body))

function handle(request: IncomingMessage, response: ServerResponse, text: string): void {
  const { method = 'GET', headers } = request
  const url = new URL(request.url ?? '/', `http://${headers.host}`)
  const [, name = '', ...rest] = url.pathname.split('/')
  const hub = hubOf(name)
  const path = `/${rest.join('/')}`
  const body = text === '' ? {} : JSON.parse(text)
  if (path === '/_state') return void send(response, ok(hub))
  if (path === '/_plan') {
    hub.plan.push(...body)
    return void send(response, ok({}))
  }
  const { authorization = '' } = headers
  const version = String(headers['x-github-api-version'])
  hub.log.push({
    method,
    path: path + url.search,
    authorization,
    version,
    body: text === '' ? null : body,
  })
  const at = hub.plan.findIndex((each) => each.method === method)
  const [plan] = at === -1 ? [] : hub.plan.splice(at, 1)
  if (plan && !plan.isLost && !plan.isHeld) {
    return void send(response, {
      status: plan.status ?? 500,
      body: plan.body,
      headers: plan.headers ?? {},
    })
  }
  const said = isKnown(authorization)
    ? answerGithub({ hub, url, body, parts: [] }, method, path)
    : badKey
  if (plan?.isHeld) return
  if (plan?.isLost) request.socket.destroy()
  else send(response, said)
}

const isKnown = (authorization: string) => /^Bearer .{8,}$/.test(authorization)
const badKey: Answer = { status: 401, body: { message: 'Bad credentials', status: '401' } }

/** Says which branches a hub of the fake has. */
export function setBranches(name: string, hasBranch: Hub['hasBranch']): void {
  hubOf(name).hasBranch = hasBranch
}

export const startFakeGithub = () =>
  listen((request, response, body) => handle(request, response, body.toString()))
