import { hashOffer, type OfferedTool } from './pin'
import { deleteTool, offerTool, putTool, type RemoteToolRow } from './queries'
import { toWireName } from './wire-name'

/** Returns the statements that store a server's current list of tools; none when nothing changed. */
export async function reconcile(
  d1: D1Database,
  server: string,
  rows: RemoteToolRow[],
  tools: OfferedTool[],
  now: number,
): Promise<D1PreparedStatement[]> {
  const writes: D1PreparedStatement[] = []
  const taken = new Set(rows.map(({ wireName }) => wireName))
  for (const tool of tools) {
    const hash = await hashOffer(tool)
    const row = rows.find(({ name }) => name === tool.name)
    const text = JSON.stringify(toPin(tool))
    if (row && row.grant !== null) {
      writes.push(...toOffer(d1, row, hash === row.pinnedHash ? null : { text, hash }))
    } else if (row?.pinnedHash !== hash) {
      const wireName =
        row?.wireName ?? (await toWireName(server, tool.name, (name) => taken.has(name)))
      taken.add(wireName)
      writes.push(putTool(d1, hiddenTool(server, tool.name, wireName, { text, hash }, now)))
    }
  }
  const gone = rows.filter(({ name }) => !tools.some((tool) => tool.name === name))
  return [
    ...writes,
    ...gone.flatMap((row) =>
      row.grant === null
        ? [deleteTool(d1, server, row.name)]
        : toOffer(d1, row, { text: null, hash: '' }),
    ),
  ]
}

const toPin = ({ description, inputSchema, annotations }: OfferedTool) => ({
  description,
  inputSchema,
  annotations,
})

/** Stores the changed description of a mapped tool beside the accepted one. */
const toOffer = (
  d1: D1Database,
  row: RemoteToolRow,
  offer: { text: string | null; hash: string } | null,
): D1PreparedStatement[] =>
  row.offeredHash === (offer?.hash ?? null)
    ? []
    : [offerTool(d1, row, { offered: offer?.text ?? null, offeredHash: offer?.hash ?? null })]

/** Returns the row of a new tool, hidden until an admin maps it. */
const hiddenTool = (
  server: string,
  name: string,
  wireName: string,
  { text, hash }: { text: string; hash: string },
  now: number,
): RemoteToolRow => ({
  server,
  name,
  wireName,
  pinned: text,
  pinnedHash: hash,
  offered: null,
  offeredHash: null,
  grant: null,
  tier: null,
  updatedAt: now,
  updatedBy: '',
})
