import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The hub's tools for tests: one tool, over streamable HTTP, that answers only with the token. */
export interface FakeMcp {
  url: string
  token: string
  /** Methods that arrived with the token, oldest first; tools by their name. */
  calls: string[]
  /** Requests with another token or none. */
  refused: number
  /** Accepts so many calls, then refuses the token. */
  breakAfter: number
  close(): void
}

const tool = {
  name: 'get_ticket',
  description: 'Returns a ticket.',
  inputSchema: {
    type: 'object',
    properties: { id: { type: 'string' } },
    required: ['id'],
    additionalProperties: false,
  },
}

interface Call {
  id?: number | string
  method: string
  params?: { name?: string; protocolVersion?: string }
}

export async function startFakeMcp(token: string): Promise<FakeMcp> {
  const fake: FakeMcp = {
    url: '',
    token,
    calls: [],
    refused: 0,
    breakAfter: Number.POSITIVE_INFINITY,
    close: () => undefined,
  }
  const server = createServer((request, response) => void handle(fake, request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  fake.close = () => {
    server.close()
    server.closeAllConnections()
  }
  return fake
}

async function handle(fake: FakeMcp, request: IncomingMessage, response: ServerResponse) {
  const isBroken = fake.calls.length >= fake.breakAfter
  if (isBroken || request.headers.authorization !== `Bearer ${fake.token}`) {
    fake.refused++
    return response.writeHead(401).end('no')
  }
  if (request.method !== 'POST') return response.writeHead(405).end()
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const call: Call = JSON.parse(Buffer.concat(chunks).toString())
  fake.calls.push(call.method === 'tools/call' ? `call ${call.params?.name}` : call.method)
  if (call.id === undefined) return response.writeHead(202).end()
  const result = answer(call)
  const error = { code: -32601, message: 'Method not found' }
  response.writeHead(result ? 200 : 400, { 'content-type': 'application/json' })
  response.end(
    JSON.stringify({ jsonrpc: '2.0', id: call.id, ...(result ? { result } : { error }) }),
  )
}

function answer({ method, params }: Call): object | null {
  if (method === 'initialize') {
    return {
      protocolVersion: params?.protocolVersion ?? '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'fake', version: '1' },
    }
  }
  if (method === 'ping') return {}
  if (method === 'tools/list') return { tools: [tool] }
  if (method === 'tools/call') {
    return { content: [{ type: 'text', text: 'Ticket 7: the printer is on fire.' }] }
  }
  return null
}
