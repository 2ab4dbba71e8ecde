import { decodeKeyset, encodeCursor } from '../../shared/cursor'
import type { RemoteToolCounts, RemoteToolQuery, RemoteToolState } from '../contract/tool-admin'
import { toPlainSchema } from './plain-schema'
import type { RemoteToolRow, StateFacts } from './queries'

/** Returns a tool's state, and why no model can be given its arguments. */
export function findState({ grant, offeredHash, inputSchema }: StateFacts): {
  state: RemoteToolState
  problem: string | null
} {
  const plain = inputSchema && toPlainSchema(inputSchema)
  const problem = typeof plain === 'string' ? plain : null
  if (grant !== null && offeredHash !== null) {
    return { state: offeredHash === '' ? 'gone' : 'changed', problem }
  }
  if (problem !== null) return { state: 'unreadable', problem }
  return { state: grant === null ? 'unmapped' : 'usable', problem }
}

/** A tool with its full name and its state. */
export interface FoundTool {
  row: RemoteToolRow
  /** `server_tool`. */
  tool: string
  state: RemoteToolState
  problem: string | null
}

export function toFound(row: RemoteToolRow): FoundTool {
  const { grant, offeredHash, pinned } = row
  const facts = { grant, offeredHash, inputSchema: pinned.inputSchema }
  return { row, tool: `${row.server}_${row.wireName}`, ...findState(facts) }
}

export function countStates(states: readonly RemoteToolState[]): RemoteToolCounts {
  const counts = { usable: 0, unmapped: 0, unreadable: 0, changed: 0, gone: 0 }
  for (const state of states) counts[state]++
  return counts
}

/** Whether a server says that its tool only reads. Nothing depends on it but what an admin looks for. */
export const saysReadOnly = ({ offered, pinned }: RemoteToolRow): boolean =>
  (offered ?? pinned).annotations?.readOnlyHint === true

/** What of the tools is asked for, without the page. */
export type ToolFilter = Omit<RemoteToolQuery, 'limit' | 'cursor'>

const foldCase = (text: string): string => text.normalize('NFKC').toUpperCase().toLowerCase()

/** Returns the tools that have all words of `q` and match the rest of the filter, in the order of their full names. */
export function findTools(rows: readonly RemoteToolRow[], filter: ToolFilter): FoundTool[] {
  const words = foldCase(filter.q ?? '')
    .split(/\s+/)
    .filter((word) => word !== '')
  return rows
    .filter((row) => filter.server === undefined || row.server === filter.server)
    .filter((row) => !filter.readOnly || saysReadOnly(row))
    .map(toFound)
    .filter(({ state }) => filter.state === undefined || state === filter.state)
    .filter((found) => {
      const text = words.length > 0 ? toSearched(found) : ''
      return words.every((word) => text.includes(word))
    })
    .sort((a, b) => (a.tool < b.tool ? -1 : Number(a.tool > b.tool)))
}

const toSearched = ({ row, tool }: FoundTool): string =>
  foldCase([tool, row.name, row.grant, row.pinned.description, row.offered?.description].join(' '))

/** Returns one page of found tools, and the cursor of the next one. */
export function toPage(
  found: readonly FoundTool[],
  { limit, cursor, ...filter }: RemoteToolQuery,
): { page: FoundTool[]; next: string | null } {
  const list = JSON.stringify([
    'remote tools',
    filter.server,
    filter.q,
    filter.state,
    filter.readOnly,
  ])
  const after = decodeKeyset(list, cursor)?.[1] ?? ''
  const rest = found.filter(({ tool }) => tool > after)
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  const next = last && rest.length > page.length ? encodeCursor(list, [0, last.tool]) : null
  return { page, next }
}
