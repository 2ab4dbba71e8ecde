import { type DiffLine, diffLines } from '../../shared/diff-lines'
import type { RemoteServerSummary, RemoteToolState } from '../contract/tool-admin'
import { type Pin, showInvisible } from './pin'
import { hasInvisibleNames } from './plain-schema'
import type { RemoteServerRow, RemoteToolRow } from './queries'

const stateOf = ({ grant, offeredHash }: RemoteToolRow, { inputSchema }: Pin): RemoteToolState => {
  if (grant !== null && offeredHash !== null) return offeredHash === '' ? 'gone' : 'changed'
  if (hasInvisibleNames(inputSchema)) return 'unreadable'
  return grant === null ? 'unmapped' : 'usable'
}

/** Formats a description and its arguments for people, with invisible characters shown. */
function toReadable({ description, inputSchema, annotations }: Pin): string {
  const hints = annotations === null ? '' : `\n${JSON.stringify(annotations)}`
  return showInvisible(`${description}\n\n${JSON.stringify(inputSchema, null, 2)}${hints}`)
}

const diffOf = ({ pinned, offered }: RemoteToolRow): DiffLine[] | null =>
  offered === null ? null : diffLines(toReadable(pinned), toReadable(offered))

const toTime = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString()

export function presentTool(row: RemoteToolRow) {
  const pin = row.pinned
  return {
    /** The name on this hub, its full name, and the name on its server. */
    name: row.wireName,
    tool: `${row.server}_${row.wireName}`,
    remote_name: row.name,
    state: stateOf(row, pin),
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
    diff: diffOf(row)?.map(({ sign, text }) => `${sign} ${text}`) ?? null,
  }
}

/** Presents a server without its tools. */
export const summarizeServer = (row: RemoteServerRow): RemoteServerSummary => ({
  name: row.name,
  description: row.description,
  read_at: toTime(row.readAt),
  failure: row.failure,
  oauth_client_id: row.oauthClientId,
  updated_at: toTime(row.updatedAt),
  updated_by: row.updatedBy,
})

export const presentServer = (row: RemoteServerRow, tools: RemoteToolRow[]) => ({
  ...summarizeServer(row),
  tools: tools.filter(({ server }) => server === row.name).map(presentTool),
})
