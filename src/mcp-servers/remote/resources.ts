import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js'
import * as z from 'zod'
import type { OfferedTool } from './pin'
import { type Fields, isFields } from './read-message'
import { type ReadResult, readResult } from './read-result'

/** Results are read member by member, so that one that is wrong does not lose the others. */
export const anyResult = z.looseObject({})

const annotations = { readOnlyHint: true }

/** The tools by which models read the resources of a server. An admin maps them like those of the server. */
const tools = {
  'resources:list': {
    description:
      'Lists the resources of this server: name, URI, type and description of each, and templates of URIs. For the next page, pass the cursor that a list ends with.',
    inputSchema: { type: 'object', properties: { cursor: { type: 'string' } } },
    annotations,
  },
  'resources:read': {
    description: 'Reads a resource of this server by its URI.',
    inputSchema: { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] },
    annotations,
  },
} as const

type ResourceTool = keyof typeof tools

/** Whether a name is that of a tool of the hub, which a server cannot take. */
export const isResourceTool = (name: string): name is ResourceTool => Object.hasOwn(tools, name)

export const resourceTools: OfferedTool[] = Object.entries(tools).map(([name, tool]) => ({
  name,
  ...tool,
}))

/** Calls a tool that reads the resources of a server. @returns null when the answer is not what the specification says */
export async function callResourceTool(
  client: Client,
  name: ResourceTool,
  input: Fields,
  options: RequestOptions,
): Promise<ReadResult | null> {
  const ask = (method: string, params: Fields) =>
    client.request({ method, params } as Parameters<Client['request']>[0], anyResult, options)
  if (name === 'resources:read') {
    const { contents } = await ask('resources/read', input)
    if (!Array.isArray(contents)) return null
    return readResult({ content: contents.map((resource) => ({ type: 'resource', resource })) })
  }
  const { resources, nextCursor } = await ask('resources/list', input)
  if (!Array.isArray(resources)) return null
  // Templates are optional, and stand on the first page only.
  const hasCursor = input.cursor !== undefined
  const templates = hasCursor ? {} : await ask('resources/templates/list', {}).catch(() => ({}))
  return readResult({
    content: [
      ...resources.map(toLink),
      ...toList('resourceTemplates' in templates && templates.resourceTemplates).map(toLink),
      ...(typeof nextCursor === 'string' && nextCursor !== ''
        ? [{ type: 'text', text: `[More: cursor ${JSON.stringify(nextCursor)}]` }]
        : []),
    ],
  })
}

const toList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** Returns a resource or a template as a block of a result. */
const toLink = (entry: unknown): unknown =>
  isFields(entry) ? { ...entry, uri: entry.uri ?? entry.uriTemplate, type: 'resource_link' } : entry
