import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/cfworker'
import { closeAtEnd } from './at-end'

/** Connects the official client to `handle` with an account key. */
export async function connectMcp(
  handle: (request: Request) => Promise<Response>,
  key: string,
  path = '/mcp/hub',
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { jsonSchemaValidator: new CfWorkerJsonSchemaValidator() },
  )
  const transport = new StreamableHTTPClientTransport(new URL(`https://hub.test${path}`), {
    fetch: (url, init) => handle(new Request(url, init)),
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
  })
  // The SDK's transport type lacks `sessionId?: string | undefined`.
  await client.connect(transport as Parameters<Client['connect']>[0])
  // It listens for messages of the server, and connects again when that ends.
  closeAtEnd(() => client.close())
  return client
}

/** Returns the text of a tool's result. */
export const textOf = (result: unknown): string =>
  (result as { content: [{ text: string }] }).content[0].text
