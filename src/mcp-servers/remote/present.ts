import { createDiffBudget, type DiffBudget, diffLines } from '../../shared/diff-lines'
import type { RemoteServerSummary, RemoteToolState } from '../contract/tool-admin'
import { findCut, type Pin, showInvisible } from './pin'
import { toPlainSchema } from './plain-schema'
import type { RemoteServerRow, RemoteToolRow } from './queries'

const stateOf = (
  { grant, offeredHash }: RemoteToolRow,
  problem: string | null,
): RemoteToolState => {
  if (grant !== null && offeredHash !== null) return offeredHash === '' ? 'gone' : 'changed'
  if (problem !== null) return 'unreadable'
  return grant === null ? 'unmapped' : 'usable'
}

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

function presentTool(row: RemoteToolRow, budget: DiffBudget) {
  const pin = row.pinned
  const plain = toPlainSchema(pin.inputSchema)
  const problem = typeof plain === 'string' ? plain : null
  return {
    /** The name on this hub, its full name, and the name on its server. */
    name: row.wireName,
    tool: `${row.server}_${row.wireName}`,
    remote_name: row.name,
    state: stateOf(row, problem),
    problem,
    grant: row.grant,
    tier: row.tier,
    description: showInvisible(pin.description),
    /** The whole accepted description, for the admin who maps it. */
    text: toReadable(pin),
    input_schema: pin.inputSchema,
    annotations: pin.annotations,
    hash: row.pinnedHash,
    /** Hash of the current description, for `accept`; empty when the server removed the tool. */
    offered_hash: row.offeredHash,
    diff: presentDiff(row, budget),
  }
}

/** Presents a server without its tools. */
export const summarizeServer = (row: RemoteServerRow): RemoteServerSummary => ({
  name: row.name,
  description: row.description,
  read_at: toTime(row.readAt),
  failure: row.failure,
  problems: row.problems.map(showInvisible),
  instructions: row.instructions,
  offered_instructions: row.offeredInstructions,
  oauth_client_id: row.oauthClientId,
  updated_at: toTime(row.updatedAt),
  updated_by: row.updatedBy,
})

/** Presents tools with their servers. All their changes share one budget. */
export function presentTools(rows: RemoteToolRow[]) {
  const budget = createDiffBudget()
  return rows.map((row) => ({ server: row.server, ...presentTool(row, budget) }))
}

export function presentServers(rows: RemoteServerRow[], tools: RemoteToolRow[]) {
  const budget = createDiffBudget()
  return rows.map((row) => ({
    ...summarizeServer(row),
    tools: tools
      .filter(({ server }) => server === row.name)
      .map((each) => presentTool(each, budget)),
  }))
}
