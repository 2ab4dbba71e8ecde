/**
 * Remote MCP servers that people sign in to, over real HTTP: for each name an MCP server at `/mcp/<name>` and
 * its authorization server at `/as/<name>`. Behavior is set at `/tell/<name>`; `/heard/<name>` lists requests.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { formsOf } from './forms.ts'
import { listen, type Peer } from './listen.ts'

export interface OauthBehavior {
  /** Of access tokens, in seconds; null: not said. Default: 3600. */
  expiresIn?: number | null
  /** Parts of the metadata that differ. */
  metadata?: Record<string, unknown>
  resource?: Record<string, unknown>
  /** Status and error of the token endpoint; absent: it works. */
  tokenError?: string
  /** Time that a token takes. */
  tokenMs?: number
  /** Tokens wait until another behavior is set. */
  holdsTokens?: boolean
  /** The token endpoint gives this access token. */
  accessToken?: string
  /** The answer names no issuer, or another one. */
  iss?: string | null
  /** The revocation endpoint answers with an error. */
  refusesToRevoke?: boolean
}

/** A request that a server received. */
export interface OauthEvent {
  kind: 'register' | 'token' | 'revoke' | 'call'
  /** The kind of grant, or the called tool. */
  what: string
  /** Whose token it had. */
  login: string | null
}

interface Family {
  login: string
  isRevoked: boolean
}

class Server {
  told: OauthBehavior = {}
  heard: OauthEvent[] = []
  clients = new Map<string, { redirectUris: string[] }>()
  codes = new Map<string, { family: Family; challenge: string; client: string; redirect: string }>()
  access = new Map<string, Family>()
  refresh = new Map<string, Family>()
  used = new Set<string>()
}
const servers = new Map<string, Server>()
const find = (name: string): Server => {
  const found = servers.get(name) ?? new Server()
  servers.set(name, found)
  return found
}

const json = (response: ServerResponse, value: unknown, status = 200, headers = {}) =>
  void response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(value))

const metadataOf = (origin: string, name: string, { told }: Server) =>
  withoutNulls({
    issuer: `${origin}/as/${name}`,
    authorization_endpoint: `${origin}/as/${name}/authorize`,
    token_endpoint: `${origin}/as/${name}/token`,
    registration_endpoint: `${origin}/as/${name}/register`,
    revocation_endpoint: `${origin}/as/${name}/revoke`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
    ...told.metadata,
  })

/** Leaves out what a test took away. */
const withoutNulls = (value: object) =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null))

/** The page where a person allows the access: `login` of the query is who they are; none: they refuse. */
function authorize(
  response: ServerResponse,
  server: Server,
  issuer: string,
  query: URLSearchParams,
) {
  const client = query.get('client_id') ?? ''
  const redirect = query.get('redirect_uri') ?? ''
  const known = server.clients.get(client)
  if (client !== 'given-client' && !known?.redirectUris.includes(redirect)) {
    return json(response, { error: 'unknown client' }, 400)
  }
  const back = new URL(redirect)
  back.searchParams.set('state', query.get('state') ?? '')
  const { iss = issuer } = server.told
  if (iss !== null) back.searchParams.set('iss', iss)
  const login = query.get('login')
  if (login === null) back.searchParams.set('error', 'access_denied')
  else {
    const code = randomUUID()
    const challenge = query.get('code_challenge') ?? ''
    server.codes.set(code, { family: { login, isRevoked: false }, challenge, client, redirect })
    back.searchParams.set('code', code)
  }
  response.writeHead(302, { location: back.href }).end()
}

function takeCode(server: Server, form: URLSearchParams): Family | null {
  const found = server.codes.get(form.get('code') ?? '')
  server.codes.delete(form.get('code') ?? '')
  const hash = createHash('sha256').update(form.get('code_verifier') ?? '')
  const isRight =
    found?.challenge === hash.digest('base64url') &&
    found.client === form.get('client_id') &&
    found.redirect === form.get('redirect_uri')
  return isRight ? found.family : null
}

/** Takes a refresh token, which works once: another use ends the access. */
function takeRefresh(server: Server, form: URLSearchParams): Family | null {
  const token = form.get('refresh_token') ?? ''
  const family = server.refresh.get(token)
  if (!family || family.isRevoked) return null
  family.isRevoked = server.used.has(token)
  server.used.add(token)
  return family.isRevoked ? null : family
}

async function giveToken(response: ServerResponse, server: Server, form: URLSearchParams) {
  const kind = form.get('grant_type') ?? ''
  const { told } = server
  const { tokenMs = 0, tokenError } = told
  const family = tokenError
    ? null
    : kind === 'authorization_code'
      ? takeCode(server, form)
      : takeRefresh(server, form)
  server.heard.push({ kind: 'token', what: kind, login: family?.login ?? null })
  await sleep(tokenMs)
  while (told.holdsTokens && server.told === told) await sleep(20)
  if (!family) {
    const description = `not ${form.get('refresh_token') ?? form.get('code')}`
    return json(
      response,
      { error: tokenError ?? 'invalid_grant', error_description: description },
      400,
    )
  }
  const { expiresIn = 3_600, accessToken = `access-${family.login}-${randomUUID()}` } = server.told
  const refreshToken = `refresh-${family.login}-${randomUUID()}`
  server.access.set(accessToken, family)
  server.refresh.set(refreshToken, family)
  json(response, {
    access_token: accessToken,
    refresh_token: refreshToken,
    token_type: 'Bearer',
    scope: 'issues:read issues:write',
    ...(expiresIn !== null && { expires_in: expiresIn }),
  })
}

function revoke(response: ServerResponse, server: Server, form: URLSearchParams) {
  const token = form.get('token') ?? ''
  const family = server.refresh.get(token) ?? server.access.get(token)
  server.heard.push({
    kind: 'revoke',
    what: form.get('token_type_hint') ?? '',
    login: family?.login ?? null,
  })
  if (server.told.refusesToRevoke) return void response.writeHead(503).end()
  if (family) family.isRevoked = true
  response.writeHead(200).end()
}

type Message = { id?: number; method?: string; params?: { name?: string } }

const tool = (name: string, description: string) => ({
  name,
  description,
  inputSchema: { type: 'object', properties: {} },
})

/** The MCP server: it shows each account the same tools, and `secret` to `root` alone. */
function answerMcp(
  request: IncomingMessage,
  response: ServerResponse,
  { server, hint, message }: { server: Server; hint: string; message: Message },
) {
  const token = (request.headers.authorization ?? '').replace(/^Bearer /, '')
  const family = server.access.get(token)
  if (!family || family.isRevoked) {
    return json(response, { error: 'unauthorized' }, 401, {
      'www-authenticate': `Bearer resource_metadata="${hint}"`,
    })
  }
  if (request.method === 'DELETE') return void response.writeHead(200).end()
  const result = (value: unknown) =>
    json(response, { jsonrpc: '2.0', id: message.id, result: value })
  if (message.id === undefined) return void response.writeHead(202).end()
  if (message.method === 'initialize') {
    const serverInfo = { name: 'oauth', version: '1' }
    return result({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo })
  }
  if (message.method === 'tools/list') {
    const own = family.login === 'root' ? [tool('secret', 'For root.')] : []
    return result({ tools: [tool('whoami', 'Says who you are.'), tool('leak', 'Leaks.'), ...own] })
  }
  const name = message.params?.name ?? ''
  server.heard.push({ kind: 'call', what: name, login: family.login })
  const text = name === 'leak' ? formsOf(token).join(' ') : `You are ${family.login}.`
  result({ content: [{ type: 'text', text }] })
}

function register(response: ServerResponse, server: Server, body: { redirect_uris: string[] }) {
  const id = `client-${randomUUID()}`
  server.clients.set(id, { redirectUris: body.redirect_uris })
  server.heard.push({ kind: 'register', what: body.redirect_uris.join(' '), login: null })
  json(response, { ...body, client_id: id }, 201)
}

/** Answers `/.well-known/...` of both servers of a name. */
function describe(response: ServerResponse, origin: string, pathname: string) {
  const [, , document, kind, name = ''] = pathname.split('/')
  const server = find(name)
  if (document === 'oauth-authorization-server' && kind === 'as') {
    return json(response, metadataOf(origin, name, server))
  }
  if (document !== 'oauth-protected-resource' || kind !== 'mcp') return json(response, {}, 404)
  json(response, {
    resource: `${origin}/mcp/${name}`,
    authorization_servers: [`${origin}/as/${name}`],
    scopes_supported: ['issues:read', 'issues:write'],
    ...server.told.resource,
  })
}

/** Answers what tests set and ask. */
function answerTest(response: ServerResponse, server: Server, kind: string, text: string) {
  if (kind === 'heard') return json(response, server.heard.splice(0))
  const { forget, ...told } = JSON.parse(text) as OauthBehavior & { forget?: boolean }
  // As after a change of the server's keys; refresh tokens still work.
  if (forget) server.access.clear()
  server.told = told
  json(response, {})
}

/** `http://127.0.0.1:<port>`. */
export async function startOauthPeer(): Promise<Peer> {
  return listen((request, response, bytes) => {
    const origin = `http://${request.headers.host}`
    const { pathname, searchParams } = new URL(request.url ?? '/', origin)
    const [, kind = '', name = '', end = ''] = pathname.split('/')
    const text = bytes.toString()
    const server = find(name)
    if (kind === '.well-known') return describe(response, origin, pathname)
    if (kind === 'tell' || kind === 'heard') return answerTest(response, server, kind, text)
    if (kind === 'mcp') {
      const message = (text === '' ? {} : JSON.parse(text)) as Message
      const hint = `${origin}/.well-known/oauth-protected-resource/mcp/${name}`
      return answerMcp(request, response, { server, hint, message })
    }
    if (end === 'authorize')
      return authorize(response, server, `${origin}/as/${name}`, searchParams)
    if (end === 'register') return register(response, server, JSON.parse(text))
    if (end === 'token') return void giveToken(response, server, new URLSearchParams(text))
    if (end === 'revoke') return revoke(response, server, new URLSearchParams(text))
    json(response, {}, 404)
  })
}
