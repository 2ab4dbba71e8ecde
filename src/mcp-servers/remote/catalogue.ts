import { remoteServers } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { Statement } from '../../shared/db/statement'
import { hashArguments } from '../../shared/exact-json'
import type { AccountId, Clock } from '../../shared/ids'
import type { Cipher } from '../credentials/cipher'
import { isToolName, type RemoteCatalogue } from '../gateway/registry'
import type { Pin } from '../schema'
import type { ServiceKind } from '../services/check-service'
import type { ToolServer } from '../tool/define-tool'
import type { ToolList } from './messages'
import { hashOffer, type OfferedTool } from './pin'
import {
  countToolsChange,
  deleteTool,
  offerTool,
  putTool,
  type RemoteToolRow,
  selectServers,
  selectTools,
  selectUsableTools,
  selectVersion,
  updateReadState,
} from './queries'
import { createRunSessions } from './run-sessions'
import { toTool } from './to-tool'

export interface Catalogue extends RemoteCatalogue {
  /** Loads the newest version, for what does not read it with a policy; returns a version that is loaded then. */
  refreshToLatest(): Promise<number>
  /** Sets what is done when tools of a server were hidden, or are shown again. */
  onChange(listener: (server: string) => Promise<void>): void
  /** Stores a server's current list of tools. Mapped tools that changed are hidden. */
  note(server: string, list: ToolList): Promise<void>
}

interface CatalogueDeps {
  db: Db
  clock: Clock
  /** Encrypts the sessions of runs. */
  cipher: Cipher
  /** The time of a call; absent: the default. */
  toolTimeoutMs?: number | undefined
}

/**
 * Creates the cache of usable remote tools of an isolate. Every policy contains the current version, so
 * the database is read only after a change.
 */
export function createCatalogue({ db, clock, cipher, toolTimeoutMs }: CatalogueDeps): Catalogue {
  let held = 0
  let notify = async (_server: string) => {}
  let known: ToolServer[] = []
  /** By server and requester: when a list was read, and the hashes of its tools. */
  const noted = new Map<string, { at: number; hashes: Set<string> }>()
  const keep = async (key: string, tools: OfferedTool[]) => {
    noted.delete(key)
    noted.set(key, { at: clock.now(), hashes: new Set(await Promise.all(tools.map(hashOffer))) })
    const [oldest] = noted.keys()
    if (noted.size > remoteServers.listsKeptMax && oldest !== undefined) noted.delete(oldest)
  }

  const sessions = createRunSessions({ db, clock, cipher })
  const listing = {
    sessions,
    timeoutMs: toolTimeoutMs ?? remoteServers.timeoutMs,
    isDue(server: string, pinnedHash: string, owner: AccountId | null) {
      const last = noted.get(toKey(server, owner))
      if (!last || last.at + remoteServers.checkEveryMs <= clock.now()) return true
      // The pinned version can be newer than the list, or the list newer than this call's tools.
      return !last.hashes.has(pinnedHash)
    },
    // What one account is shown decides about its own calls, and hides no tool from others.
    note: (server: string, list: ToolList, owner: AccountId | null) =>
      owner === null ? catalogue.note(server, list) : keep(toKey(server, owner), list.tools),
  }
  /** Loads the tools. Requests do not share a load, since cancelling one would stop it for all. */
  const load = async () => {
    const { version, servers, tools } = await batch(db, {
      version: selectVersion(),
      servers: selectServers(),
      tools: selectUsableTools(),
    })
    const read = version?.version ?? 0
    // A concurrent load can have returned a newer version already.
    if (read <= held) return
    known = servers.map((server) => ({
      name: server.name,
      description: server.description,
      ...(server.instructions !== null && { instructions: server.instructions }),
      isConnectable: true,
      services: remoteServices,
      tools: tools
        .filter((row) => row.server === server.name)
        .flatMap((row) => toTool(row, listing)),
    }))
    held = read
  }

  const catalogue: Catalogue = {
    servers: () => known,
    sessions,
    refresh: (version) => (version <= held ? undefined : load()),
    async refreshToLatest() {
      const latest = (await run(db, selectVersion()))?.version ?? 0
      await catalogue.refresh(latest)
      return latest
    },
    onChange: (listener) => {
      notify = listener
    },
    async note(server, list) {
      const now = clock.now()
      const rows = await run(db, selectTools(server))
      const writes = await reconcile(server, rows, list, now)
      await keep(toKey(server, null), list.tools)
      if (writes.length === 0) return
      await batch(db, {
        writes,
        version: countToolsChange(),
        readState: updateReadState(server, { now, failure: null, problems: list.problems }),
      })
      await notify(server)
    },
  }
  return catalogue
}

const toKey = (server: string, owner: AccountId | null): string => `${server} ${owner ?? ''}`

/**
 * Returns the statements that store a server's current list of tools; none when nothing changed. Of a list that was cut,
 * nothing is known about tools that are not in it.
 */
async function reconcile(
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

/**
 * Returns the name of a remote tool on this hub, without its server: lower case letters, digits and
 * underscores, as model providers require. A taken or too long name ends in a part of its hash, which
 * keeps it stable.
 */
export async function toWireName(
  server: string,
  name: string,
  isTaken: (wireName: string) => boolean,
): Promise<string> {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')
  if (isToolName(`${server}_${plain}`) && !isTaken(plain)) return plain
  const digest = (await hashArguments(name, undefined)).slice(0, 8)
  return `${plain.slice(0, 30)}_${digest}`.replace(/^_/, '')
}

/** The service kind of remote servers: each is a service of `remote`, under its own name. */
export const remoteServices: ServiceKind = {
  server: 'remote',
  builtIn: () => null,
  isSentInHeader: true,
}
