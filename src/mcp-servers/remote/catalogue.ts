import { remoteServers } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { Clock } from '../../shared/ids'
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
import { reconcile } from './reconcile'
import { remoteServices } from './remote-services'
import { toTool } from './to-tool'

export interface Catalogue extends RemoteCatalogue {
  /** Stores a server's current list of tools. Mapped tools that changed are hidden. */
  note(server: string, tools: OfferedTool[]): Promise<void>
}

/**
 * Creates the cache of usable remote tools of an isolate. Every policy contains the current version, so
 * the database is read only after a change.
 */
export function createCatalogue({ db, clock }: { db: Db; clock: Clock }): Catalogue {
  let held = 0
  let known: ToolServer[] = []
  /** By server: when its list was read, and the hashes of its tools. */
  const noted = new Map<string, { at: number; hashes: Set<string> }>()

  const listing = {
    isDue(server: string, pinnedHash: string) {
      const last = noted.get(server)
      if (!last || last.at + remoteServers.checkEveryMs <= clock.now()) return true
      // The pinned version can be newer than the list, or the list newer than this call's tools.
      return !last.hashes.has(pinnedHash)
    },
    note: (server: string, tools: OfferedTool[]) => catalogue.note(server, tools),
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
      services: remoteServices,
      tools: tools
        .filter((row) => row.server === server.name)
        .flatMap((row) => toTool(row, listing)),
    }))
    held = read
  }

  const catalogue: Catalogue = {
    servers: () => known,
    refresh: (version) => (version <= held ? undefined : load()),
    async note(server, tools) {
      const now = clock.now()
      const rows = await run(db, selectTools(server))
      const writes = await reconcile(server, rows, tools, now)
      noted.set(server, { at: now, hashes: new Set(await Promise.all(tools.map(hashOffer))) })
      if (writes.length === 0) return
      await batch(db, {
        writes,
        version: countToolsChange(),
        readState: updateReadState(server, { now, failure: null }),
      })
    },
  }
  return catalogue
}
