import { shortenText } from '../../shared/cut-text'
import { createDiffBudget, type DiffBudget, diffLines } from '../../shared/diff-lines'
import type {
  RemoteServerSummary,
  RemoteServerText,
  RemoteToolLine,
  RemoteToolText,
} from '../contract/tool-admin'
import { type FoundTool, saysReadOnly, toFound } from './find-tools'
import { findCut, type Pin, showInvisible } from './pin'
import { toPlainSchema } from './plain-schema'
import type { RemoteServerRow, RemoteToolRow } from './queries'

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
