import type { Statement } from '../../shared/db/statement'
import { hashOffer, type OfferedTool, type Pin } from './pin'
import { deleteTool, offerTool, putTool, type RemoteToolRow } from './queries'
import type { ToolList } from './read-tools'
import { toWireName } from './wire-name'

/**
 * Returns the statements that store a server's current list of tools; none when nothing changed. Of a list that was cut,
 * nothing is known about tools that are not in it.
 */
export async function reconcile(
  server: string,
  rows: RemoteToolRow[],
  { tools, isWhole }: ToolList,
  now: number,
): Promise<Statement<void>[]> {
  const writes: Statement<void>[] = []
  const taken = new Set(rows.map(({ wireName }) => wireName))
  const known = new Map(rows.map((row) => [row.name, row]))
  for (const tool of tools) {
    const hash = await hashOffer(tool)
    const row = known.get(tool.name)
    const pin = toPin(tool)
    if (row && row.grant !== null) {
      writes.push(...toOffer(row, hash === row.pinnedHash ? null : { pin, hash }))
    } else if (row?.pinnedHash !== hash) {
      const wireName =
        row?.wireName ?? (await toWireName(server, tool.name, (name) => taken.has(name)))
      taken.add(wireName)
      writes.push(putTool(hiddenTool(server, tool.name, wireName, { pin, hash }, now)))
    }
  }
  const listed = new Set(tools.map(({ name }) => name))
  const gone = isWhole ? rows.filter(({ name }) => !listed.has(name)) : []
  return [
    ...writes,
    ...gone.flatMap((row) =>
      row.grant === null ? [deleteTool(server, row.name)] : toOffer(row, { pin: null, hash: '' }),
    ),
  ]
}

const toPin = ({ description, inputSchema, annotations }: OfferedTool): Pin => ({
  description,
  inputSchema,
  annotations,
})

/** Stores the changed description of a mapped tool beside the accepted one. */
const toOffer = (
  row: RemoteToolRow,
  offer: { pin: Pin | null; hash: string } | null,
): Statement<void>[] =>
  row.offeredHash === (offer?.hash ?? null)
    ? []
    : [offerTool(row, { offered: offer?.pin ?? null, offeredHash: offer?.hash ?? null })]

/** Returns the row of a new tool, hidden until an admin maps it. */
const hiddenTool = (
  server: string,
  name: string,
  wireName: string,
  { pin, hash }: { pin: Pin; hash: string },
  now: number,
): RemoteToolRow => ({
  server,
  name,
  wireName,
  pinned: pin,
  pinnedHash: hash,
  offered: null,
  offeredHash: null,
  grant: null,
  tier: null,
  updatedAt: now,
  updatedBy: '',
})
