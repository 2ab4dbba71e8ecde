import { decodeKeyset, encodeCursor } from '../../shared/cursor'
import { shortenText } from '../../shared/cut-text'
import { createDiffBudget, type DiffBudget, diffLines } from '../../shared/diff-lines'
import type {
  RemoteServerSummary,
  RemoteServerText,
  RemoteToolCounts,
  RemoteToolLine,
  RemoteToolQuery,
  RemoteToolState,
  RemoteToolText,
} from '../contract/tool-admin'
import type { Pin } from '../schema'
import { findCut, showInvisible } from './pin'
import { toPlainSchema } from './plain-schema'
import type { RemoteServerRow, RemoteToolRow, StateFacts } from './queries'

/** Characters of a description in a list, of one tool's change there, and of all changes of a page. */
const summaryCharsMax = 120
const changeCharsMax = 800
const changesCharsMax = 8_000

/** Formats a description and its arguments for people, with invisible characters shown. */
function toReadable({ description, inputSchema, annotations }: Pin): string {
  const hints = annotations === null ? '' : `\n${JSON.stringify(annotations)}`
  const note = [findCut(description), findRenamed(inputSchema)]
    .filter((text) => text !== null)
    .map((text) => `\n\n[${text}]`)
    .join('')
  return showInvisible(`${description}${note}\n\n${JSON.stringify(inputSchema, null, 2)}${hints}`)
}

/** Returns which arguments have other names for models; null: none. */
function findRenamed(inputSchema: Pin['inputSchema']): string | null {
  const plain = toPlainSchema(inputSchema)
  if (typeof plain === 'string' || plain.renamed.size === 0) return null
  const names = [...plain.renamed].map(([name, shown]) => `${JSON.stringify(name)} as ${shown}`)
  return `Models are shown the argument ${names.join(', ')}.`
}

/** Returns the changes of a tool, a line each with its sign; null when it did not change. */
function presentDiff({ pinned, offered }: RemoteToolRow, budget: DiffBudget): string[] | null {
  if (offered === null) return null
  const [before, after] = [toReadable(pinned), toReadable(offered)]
  const lines = diffLines(before, after, budget)
  if (lines) return lines.map(({ sign, text }) => `${sign} ${text}`)
  // Both as a whole, since nothing that a server changed may be hidden from who accepts it.
  const toSigned = (text: string, sign: string) => text.split('\n').map((line) => `${sign} ${line}`)
  return [...toSigned(before, '-'), ...toSigned(after, '+')]
}

const toTime = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString()

/** Returns the start of a text on one line. */
const summarize = (text: string): string =>
  shortenText(showInvisible(text).replace(/\s+/g, ' ').trim(), summaryCharsMax)

const presentLine = ({ row, tool, state, problem }: FoundTool) => ({
  server: row.server,
  name: row.wireName,
  tool,
  remote_name: row.name,
  state,
  problem: problem && summarize(problem),
  grant: row.grant,
  tier: row.tier,
  says_read_only: saysReadOnly(row),
  summary: summarize((row.offered ?? row.pinned).description),
  hash: row.pinnedHash,
  offered_hash: row.offeredHash,
})

/** Presents tools for the API's lists, without their texts. */
export const presentLines = (found: readonly FoundTool[]) => found.map(presentLine)

/** Presents tools for a page, with the lines that changed as far as they are few. All changes share one budget. */
export function presentChanges(found: readonly FoundTool[]): RemoteToolLine[] {
  const budget = createDiffBudget()
  let charsLeft = changesCharsMax
  return found.map((each) => {
    const isChanged = each.state === 'changed'
    const lines = isChanged ? (presentDiff(each.row, budget) ?? []) : []
    const change = lines.filter((line) => !line.startsWith(' '))
    const chars = change.join('\n').length
    const isShown = isChanged && chars <= Math.min(changeCharsMax, charsLeft)
    if (isShown) charsLeft -= chars
    return { ...presentLine(each), change: isShown ? change : null }
  })
}

/** Presents one tool, with all that an admin reads before mapping or accepting it. */
export function presentTool(row: RemoteToolRow): RemoteToolText {
  const found = toFound(row)
  const pin = row.pinned
  return {
    ...presentLine(found),
    problem: found.problem,
    description: showInvisible(pin.description),
    /** The whole accepted description, for the admin who maps it. */
    text: toReadable(pin),
    input_schema: pin.inputSchema,
    annotations: pin.annotations,
    diff: presentDiff(row, createDiffBudget()),
  }
}

/** Presents a server for lists. */
export const summarizeServer = (row: RemoteServerRow): RemoteServerSummary => ({
  name: row.name,
  description: row.description,
  read_at: toTime(row.readAt),
  failure: row.failure,
  problem_count: row.problems.length,
  oauth_client_id: row.oauthClientId,
  updated_at: toTime(row.updatedAt),
  updated_by: row.updatedBy,
})

/** Presents a server without its tools. */
export const presentServer = (row: RemoteServerRow): RemoteServerText => ({
  ...summarizeServer(row),
  problems: row.problems.map(showInvisible),
  instructions: row.instructions,
  offered_instructions: row.offeredInstructions,
})

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
interface FoundTool {
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
const saysReadOnly = ({ offered, pinned }: RemoteToolRow): boolean =>
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
