import { type DiffLine, diffLines } from './diff-lines'
import { type Pin, toVisible } from './pin'
import { hasUnseenNames } from './plain-schema'
import type { RemoteServerRow, RemoteToolRow } from './queries'

/** `unreadable`: the name of an argument holds characters that nobody sees. */
type ToolState = 'usable' | 'unmapped' | 'unreadable' | 'changed' | 'gone'

const stateOf = ({ grant, offeredHash }: RemoteToolRow, { inputSchema }: Pin): ToolState => {
  if (grant !== null && offeredHash !== null) return offeredHash === '' ? 'gone' : 'changed'
  if (hasUnseenNames(inputSchema)) return 'unreadable'
  return grant === null ? 'unmapped' : 'usable'
}

/** A description as people read it: the words, then what arguments it takes, nothing of it unseen. */
function toReadable({ description, inputSchema, annotations }: Pin): string {
  const hints = annotations === null ? '' : `\n${JSON.stringify(annotations)}`
  return toVisible(`${description}\n\n${JSON.stringify(inputSchema, null, 2)}${hints}`)
}

const diffOf = ({ pinned, offered }: RemoteToolRow): DiffLine[] | null =>
  offered === null
    ? null
    : diffLines(toReadable(JSON.parse(pinned) as Pin), toReadable(JSON.parse(offered) as Pin))

const toTime = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString()

function presentTool(row: RemoteToolRow) {
  const pin = JSON.parse(row.pinned) as Pin
  return {
    /** As it is called here, and as its server calls it. */
    name: row.wireName,
    tool: `${row.server}_${row.wireName}`,
    remote_name: row.name,
    state: stateOf(row, pin),
    ...{ grant: row.grant, tier: row.tier },
    description: toVisible(pin.description),
    /** All that was pinned, for who maps it. */
    text: toReadable(pin),
    input_schema: pin.inputSchema,
    annotations: pin.annotations,
    hash: row.pinnedHash,
    /** What its server says now, for `accept`; empty when it is gone. */
    offered_hash: row.offeredHash,
    diff: diffOf(row)?.map(({ sign, text }) => `${sign} ${text}`) ?? null,
  }
}

export const presentServer = (row: RemoteServerRow, tools: RemoteToolRow[]) => ({
  name: row.name,
  description: row.description,
  read_at: toTime(row.readAt),
  failure: row.failure,
  updated_at: toTime(row.updatedAt),
  updated_by: row.updatedBy,
  tools: tools.filter(({ server }) => server === row.name).map(presentTool),
})

export type PresentedServer = ReturnType<typeof presentServer>
export type PresentedTool = PresentedServer['tools'][number]
