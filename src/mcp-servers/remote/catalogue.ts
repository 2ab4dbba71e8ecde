import { remoteServers } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { AccountId, Clock } from '../../shared/ids'
import type { Cipher } from '../credentials/cipher'
import type { RemoteCatalogue } from '../gateway/tool-registry'
import type { ToolServer } from '../tool/define-tool'
import { hashOffer, type OfferedTool } from './pin'
import {
  countToolsChange,
  selectServers,
  selectTools,
  selectUsableTools,
  selectVersion,
  updateReadState,
} from './queries'
import type { ToolList } from './read-tools'
import { reconcile } from './reconcile'
import { remoteServices } from './remote-services'
import { createRunSessions } from './run-sessions'
import { toTool } from './to-tool'

export interface Catalogue extends RemoteCatalogue {
  /** Loads the newest version, for what does not read it with a policy. */
  refreshToLatest(): Promise<void>
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
      const latest = await run(db, selectVersion())
      await catalogue.refresh(latest?.version ?? 0)
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
    },
  }
  return catalogue
}

const toKey = (server: string, owner: AccountId | null): string => `${server} ${owner ?? ''}`
