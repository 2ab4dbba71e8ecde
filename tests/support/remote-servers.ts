import { externalUrls } from './external-services'
import type { HostileBehavior } from './mcp-peers'
import { asAdmin } from './services'
import type { SentRequest, SessionBehavior } from './session-peer'

interface Shown {
  name: string
  tool: string
  state: string
  hash: string
  offered_hash: string | null
  diff: string[] | null
  text: string
  problem: string | null
}
interface Remote {
  failure: string | null
  problems: string[]
  instructions: string | null
  offered_instructions: string | null
  tools: Line[]
}
/** What the list shows of a tool. */
export type Line = Omit<Shown, 'diff' | 'text'> & { says_read_only: boolean }

/** Lists the tools of remote servers with the parameters of the API. */
export const listTools = async (query: Record<string, string>) => {
  const { status, body } = await asAdmin('GET', `/remote-tools?${new URLSearchParams(query)}`)
  const { remote_tools: tools = [], next_cursor: next } = body as unknown as {
    remote_tools?: Line[]
    next_cursor: string | null
  }
  return { status, tools, next, bytes: new TextEncoder().encode(JSON.stringify(body)).length }
}

/** Returns a tool of a remote server with its texts. */
export const readTool = async (server: string, tool: string): Promise<Shown> => {
  const { body } = await asAdmin('GET', `/remote-servers/${server}/tools/${tool}`)
  return (body as unknown as { remote_tool: Shown }).remote_tool
}

async function listAll(server: string): Promise<Line[]> {
  const all: Line[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page = await listTools({ server, limit: '100', cursor })
    all.push(...page.tools)
    cursor = page.next
  }
  return all
}

/** Calls the API of remote servers as an admin; `remote` is the server with its tools as they are then. */
export const api = async (method: string, path: string, body?: unknown) => {
  const answer = await asAdmin(method, `/remote-servers${path}`, body)
  const { remote_server: server, remote_tools: changed } = answer.body as unknown as {
    remote_server?: { name: string } & Omit<Remote, 'tools'>
    remote_tools: Line[]
  }
  const tools = server ? await listAll(server.name) : []
  return { ...answer, changed, remote: { ...server, tools } as Remote }
}

export const add = (name: string, url: string, more: object = {}) =>
  api('POST', '', {
    name,
    base_url: url,
    description: `The server ${name}.`,
    allow_http: true,
    allow_private: true,
    ...more,
  })

/** Sets the behavior of a hostile server. */
export const setBehavior = (name: string, body: HostileBehavior) =>
  fetch(`${externalUrls.mcp}/tell/${name}`, { method: 'POST', body: JSON.stringify(body) })

/** Returns the requests that a hostile server received. */
export const listRequests = async (name: string): Promise<string[]> =>
  (await fetch(`${externalUrls.mcp}/heard/${name}`)).json()

export const echo = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object', properties: {} },
}
export const mapEcho = (name: string) =>
  api('PUT', `/${name}/tools/echo`, { grant: `${name}:use`, tier: 'write' })

/** The ways in which a hostile server returns its caller's key, for `onCall` or the argument `how`. */
export const remoteEchoes = [
  'echo',
  'echo-structured',
  'echo-links',
  'echo-in-stream',
  'echo-in-pieces',
  'echo-as-failure',
  'echo-as-error',
  'echo-as-status',
  'echo-as-page',
]

/** Sets the behavior of a server that keeps sessions. Returns how many it holds; none after a restart. */
export const setSessions = async (
  name: string,
  behavior: SessionBehavior & { isRestarted?: boolean } = {},
): Promise<number> => {
  const body = JSON.stringify(behavior)
  const url = `${externalUrls.mcp}/sessions-set/${name}`
  const { sessions } = await (await fetch(url, { method: 'POST', body })).json<{
    sessions: number
  }>()
  return sessions
}

/** Takes the requests that a server that keeps sessions has received since the last time. */
export const takeSent = async (name: string): Promise<SentRequest[]> =>
  (await fetch(`${externalUrls.mcp}/sessions-sent/${name}`)).json()

/** Adds a server that keeps sessions, with some of its tools mapped: `get` only reads. */
export async function addSessions(name: string, tools: string[]): Promise<void> {
  const { remote } = await add(name, `${externalUrls.mcp}/sessions/${name}`)
  if (remote.failure !== null) throw new Error(remote.failure)
  for (const tool of tools) {
    await api('PUT', `/${name}/tools/${tool}`, {
      grant: `${name}:use`,
      tier: tool === 'get' ? 'read' : 'write',
    })
  }
}
