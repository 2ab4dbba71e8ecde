import { remoteServers } from '../../shared/config'
import type { OfferedTool } from './pin'
import { type Fields, isFields } from './read-message'
import { isResourceTool } from './resources'

/** The tools of a server, as far as its list can be read. */
export interface ToolList {
  tools: OfferedTool[]
  /** What is left out, with the reason, for the admin. */
  problems: string[]
  /** Nothing is left out by a limit: a tool that is not listed is gone. */
  isWhole: boolean
}

/**
 * Reads the lists of tools of all pages. A tool that cannot be read is left out with the reason, and no other with it.
 * A member that is null is absent.
 */
export function readTools(pages: { entries: unknown[]; isLast: boolean }[]): ToolList {
  const tools = new Map<string, OfferedTool>()
  const problems: string[] = []
  const entries = pages.flatMap((page) => page.entries)
  for (const [index, entry] of entries.slice(0, remoteServers.toolsMax).entries()) {
    const read = readTool(entry)
    if (typeof read !== 'string' && !tools.has(read.name)) tools.set(read.name, read)
    else
      problems.push(
        `${nameOf(entry, index)}: ${typeof read === 'string' ? read : 'it is listed twice'}`,
      )
  }
  const isWhole = pages.at(-1)?.isLast !== false && entries.length <= remoteServers.toolsMax
  if (!isWhole)
    problems.push(
      `Only the first ${Math.min(entries.length, remoteServers.toolsMax)} tools are read.`,
    )
  return { tools: [...tools.values()], problems: truncate(problems), isWhole }
}

const truncate = (problems: string[]): string[] => {
  const more = problems.length - remoteServers.problemsMax
  return more > 0
    ? [...problems.slice(0, remoteServers.problemsMax), `${more} more problems.`]
    : problems
}

const nameOf = (entry: unknown, index: number): string =>
  isFields(entry) && typeof entry.name === 'string' && entry.name !== ''
    ? `Tool ${JSON.stringify(entry.name.slice(0, remoteServers.toolNameCharsMax))}`
    : `Tool ${index + 1} of the list`

/** Returns a tool, or why it cannot be offered. */
function readTool(entry: unknown): OfferedTool | string {
  if (!isFields(entry)) return 'it is not an object'
  const { name, description, inputSchema, annotations } = entry
  const { toolNameCharsMax, schemaCharsMax, schemaDepthMax } = remoteServers
  if (typeof name !== 'string' || name === '') return 'it has no name'
  if (isResourceTool(name)) return 'its name is one of the hub'
  if (name.length > toolNameCharsMax)
    return `its name is longer than ${toolNameCharsMax} characters`
  if (!isAbsent(description) && typeof description !== 'string') return 'description is not a text'
  if (!isAbsent(inputSchema) && !isFields(inputSchema)) return 'inputSchema is not an object'
  const pin = {
    description: description ?? '',
    inputSchema: inputSchema ?? { type: 'object' },
    annotations: isFields(annotations) ? readAnnotations(annotations) : null,
  }
  const chars = JSON.stringify(pin).length
  if (chars > schemaCharsMax) {
    return `description and inputSchema have ${chars} characters, and ${schemaCharsMax} are allowed`
  }
  if (!isShallow(pin, schemaDepthMax)) return `inputSchema has more than ${schemaDepthMax} levels`
  return { name, ...pin }
}

const isAbsent = (value: unknown): value is null | undefined =>
  value === undefined || value === null

const isShallow = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1)))

/** The annotations of the specification, in its order. */
const hints = [
  'title',
  'readOnlyHint',
  'destructiveHint',
  'idempotentHint',
  'openWorldHint',
] as const

const readAnnotations = (annotations: Fields): Fields =>
  Object.fromEntries(
    hints.flatMap((name) => {
      const isGood = typeof annotations[name] === (name === 'title' ? 'string' : 'boolean')
      return isGood ? [[name, annotations[name]]] : []
    }),
  )
