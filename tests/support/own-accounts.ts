import { env, exports } from 'cloudflare:workers'
import { call, createAccount } from './cast'
import { connectMcp, textOf } from './connect-mcp'
import { externalUrls } from './external-services'
import type { OauthBehavior, OauthEvent } from './oauth-peer'
import { add, api } from './remote-servers'
import { allow } from './services'

const origin = 'http://hub.test'

/** Sets the behavior of a server that people sign in to; `forget` ends its access tokens. */
export const setOauth = (name: string, behavior: OauthBehavior & { forget?: boolean } = {}) =>
  fetch(`${externalUrls.oauth}/tell/${name}`, { method: 'POST', body: JSON.stringify(behavior) })

/** Returns what a server has received since the last time. */
export const listEvents = async (name: string): Promise<OauthEvent[]> =>
  (await fetch(`${externalUrls.oauth}/heard/${name}`)).json()

/** Returns the logins as whom a server was called since the last time, and the tokens that it gave. */
export async function countEvents(name: string) {
  const events = await listEvents(name)
  const of = (kind: OauthEvent['kind']) => events.filter((event) => event.kind === kind)
  return {
    calls: of('call').map(({ login }) => login),
    tokens: of('token').map(({ what }) => what),
    revoked: of('revoke').map(({ what, login }) => `${what} ${login}`),
    registered: of('register').length,
  }
}

/** A person with a browser of their own. */
export interface Visitor {
  id: string
  name: string
  key: string
  get(path: string): Promise<Response>
  read(path: string): Promise<string>
  send(path: string, fields: Record<string, string>): Promise<Response>
}

/** Sends a request without a session, and follows no redirect. */
export const visit = (path: string, headers: Record<string, string>, init: RequestInit = {}) =>
  exports.default.fetch(new URL(path, origin).href, { ...init, headers, redirect: 'manual' })

const ask = (path: string, cookie: string, init: RequestInit = {}) =>
  visit(path, { ...(init.headers as Record<string, string>), cookie }, init)
const toForm = (fields: Record<string, string>): RequestInit => ({
  method: 'POST',
  headers: {
    'content-type': 'application/x-www-form-urlencoded',
    origin,
    'sec-fetch-site': 'same-origin',
  },
  body: new URLSearchParams(fields).toString(),
})

/** Opens a browser session for a key. */
export async function openBrowser(account: { id: string; name: string; key: string }) {
  const login = await ask('/login', '', toForm({ key: account.key, next: '/' }))
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  const get = (path: string) => ask(path, cookie)
  const visitor: Visitor = {
    ...account,
    get,
    read: async (path) => (await get(path)).text(),
    send: (path, fields) => ask(path, cookie, toForm(fields)),
  }
  return visitor
}

/** Creates a person who can use the tools of servers with their own accounts, from a program too. */
export async function createVisitor(name: string, lines: string[]): Promise<Visitor> {
  const account = await createAccount(name)
  await allow(account.id, lines)
  return openBrowser(account)
}

/** Starts to connect an account. Returns the authorization server's page. */
export async function startConnecting(
  visitor: Visitor,
  server: string,
  next = '/inbox',
): Promise<string> {
  const page = await visitor.send(`/connect/${server}`, { next })
  const html = await page.text()
  const url = /<a class="btn go" href="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
  if (page.status !== 200 || !url) throw new Error(`not started: ${page.status} ${html}`)
  return url
}

/** Allows the access at the authorization server's page, or refuses it. Returns where it sends the browser. */
export async function allowAccess(url: string, login: string | null): Promise<string> {
  const page = new URL(url)
  if (login !== null) page.searchParams.set('login', login)
  const answer = await fetch(page, { redirect: 'manual' })
  return answer.headers.get('location') ?? `${answer.status} ${await answer.text()}`
}

/** Connects an account as a person does. Returns where the person is in the end. */
export async function connectAccount(visitor: Visitor, server: string, login = visitor.name) {
  const back = await allowAccess(await startConnecting(visitor, server), login)
  return (await visitor.get(back)).headers.get('location')
}

/** Calls a tool with the person's key, as a program does. */
export async function callAs({ key }: Visitor, tool: string): Promise<string> {
  const client = await connectMcp((request) => exports.default.fetch(request), key, '/mcp')
  return textOf(await client.callTool({ name: tool, arguments: {} }))
}

/** Adds a server, connects the admin's account, reads its tools with it, and maps them. */
export async function addOauthServer(admin: Visitor, name: string, more: object = {}) {
  const first = await add(name, `${externalUrls.oauth}/mcp/${name}`, more)
  await connectAccount(admin, name, 'root')
  const { remote } = await api('POST', `/${name}/refresh`)
  for (const tool of ['whoami', 'leak']) {
    await api('PUT', `/${name}/tools/${tool}`, { grant: `${name}:read`, tier: 'read' })
  }
  await listEvents(name)
  return { before: first.remote.failure, after: remote }
}

/** Returns every row of the database that contains a text. */
export async function findInDatabase(text: string): Promise<string[]> {
  const { results } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
     AND name NOT LIKE '_cf%' AND name NOT LIKE 'sqlite%'`,
  ).all<{ name: string }>()
  const found: string[] = []
  for (const { name } of results) {
    const rows = await env.DB.prepare(`SELECT * FROM "${name}"`).all()
    if (JSON.stringify(rows.results).includes(text)) found.push(name)
  }
  return found
}

/** Returns at which servers a text would make agents use an account of its author, and whether it is connected. */
export async function previewAccounts({ key }: Visitor, body: object) {
  const preview = await call<{
    agents: { accounts: { service: string; is_connected: boolean }[] }[]
  }>('POST', '/api/v1/posts/preview', { key, body })
  return preview.body.agents[0]?.accounts.map((each) => [each.service, each.is_connected])
}

/** Returns the pending approvals with what they promise. */
export async function listApprovals(key: string) {
  const { body } = await call<{
    approvals: { id: string; promise: { account: object; requesters: string[] } }[]
  }>('GET', '/api/v1/approvals', { key })
  return body.approvals
}
