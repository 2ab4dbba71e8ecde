import { remoteServers } from '../../config'
import type { Clock } from '../../ids'
import type { ToolServer } from '../define-tool'
import type { RemoteCatalogue } from '../gateway/tool-registry'
import { hashOffer, type OfferedTool } from './pin'
import {
  noteRead,
  type RemoteServerRow,
  type RemoteToolRow,
  selectServers,
  selectTools,
  selectUsableTools,
  selectVersion,
} from './queries'
import { reconcile } from './reconcile'
import { remoteServices } from './remote-services'
import { toTool } from './to-tool'

export interface Catalogue extends RemoteCatalogue {
  /** What a server says of its tools now: changes are kept, and hide what changed. */
  note(server: string, tools: OfferedTool[]): Promise<void>
}

/**
 * The usable tools of others' servers, as an isolate knows them. The version that comes with every
 * policy says whether they are those there are, so nothing is read as long as nothing changes.
 */
export function createCatalogue({ d1, clock }: { d1: D1Database; clock: Clock }): Catalogue {
  let held = 0
  let known: ToolServer[] = []
  /** By server: when its list was read, and the hashes of what was on it. */
  const noted = new Map<string, { at: number; hashes: Set<string> }>()

  const listing = {
    isDue(server: string, pinnedHash: string) {
      const last = noted.get(server)
      if (!last || last.at + remoteServers.checkEveryMs <= clock.now()) return true
      // A call that began before a change was kept, or an older list that was kept after it.
      return !last.hashes.has(pinnedHash)
    },
    note: (server: string, tools: OfferedTool[]) => catalogue.note(server, tools),
  }
  /** Each caller reads for itself: what another request waits for may never come when it is cancelled. */
  const load = async () => {
    const [version, servers, tools] = await d1.batch<unknown>([
      selectVersion(d1),
      selectServers(d1),
      selectUsableTools(d1),
    ])
    const read = (version?.results[0] as { version: number } | undefined)?.version ?? 0
    // A newer one may have come before it.
    if (read <= held) return
    const rows = (tools?.results ?? []) as RemoteToolRow[]
    known = ((servers?.results ?? []) as RemoteServerRow[]).map((server) => ({
      name: server.name,
      description: server.description,
      services: remoteServices,
      tools: rows
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
      const { results } = await selectTools(d1, server).all<RemoteToolRow>()
      const writes = await reconcile(d1, server, results, tools, now)
      noted.set(server, { at: now, hashes: new Set(await Promise.all(tools.map(hashOffer))) })
      if (writes.length > 0)
        await d1.batch([...writes, noteRead(d1, server, { now, failure: null })])
    },
  }
  return catalogue
}
