import type * as z from 'zod'
import type { Actor, ConversationApi } from '../../hub/contract/hub'
import { remoteServers } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { mapStatement, type Statement } from '../../shared/db/statement'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId, Clock } from '../../shared/ids'
import type { Log } from '../../shared/log'
import type { RemoteServerSummary, RemoteToolSummary } from '../contract/tool-admin'
import type { Sealed } from '../credentials/cipher'
import type { Connect } from '../credentials/connection'
import { isBuiltInServer } from '../servers'
import { type ServiceRow, selectService } from '../services/queries'
import type { Services, serviceInput } from '../services/services'
import { isPlainGrant } from '../tool/grant-pattern'
import { listRemoteTools } from './call-remote'
import type { Catalogue } from './catalogue'
import { remoteErrors } from './errors'
import { withClient } from './open-client'
import { toInstructions } from './pin'
import { presentServers, presentTools, summarizeServer } from './present'
import {
  acceptInstructions,
  acceptTool,
  countToolsChange,
  deleteServer,
  deleteTool,
  deleteTools,
  hideInstructions,
  mapTool,
  type ReadState,
  selectServers,
  selectTools,
  type ToolMapping,
  updateReadState,
  upsertServer,
} from './queries'

interface Admin {
  id: AccountId
  name: string
}

export interface RemoteInput {
  description: string
  oauthClientId: string | null
  service: z.output<typeof serviceInput>
}

interface RemotesDeps {
  db: Db
  clock: Clock
  hub: ConversationApi
  services: Services
  connect: Connect
  catalogue: Catalogue
  accounts: ConnectedAccountsOfServers
  log: Log
}

/** The accounts that people have connected, as the store of remote servers uses them. */
export interface ConnectedAccountsOfServers {
  /** Whether an account has a usable connection to a server. */
  has(accountId: AccountId, server: string): Promise<boolean>
  /** Returns the writes that delete what all accounts have connected to a server; `connected` answers with it. */
  takeAt(
    server: string,
  ): Record<'attempts' | 'clients', Statement<void>> & { connected: Statement<TakenAccount[]> }
  /** Revokes the tokens of deleted connections, where the server can. Returns how many were not revoked. */
  revoke(service: ServiceRow, taken: TakenAccount[]): Promise<{ failed: number }>
}

/** A connection that was deleted, with its encrypted tokens. */
export interface TakenAccount extends Sealed {
  id: string
  accountId: AccountId
  service: string
  destination: string
}

export type Remotes = ReturnType<typeof createRemotes>

/** Creates the store of remote MCP servers, as admins manage them. */
export function createRemotes(deps: RemotesDeps) {
  const { db, clock, services } = deps
  const by = (admin: Admin) => ({ now: clock.now(), by: admin.name })
  const reader = createReader(db)
  const remotes = {
    ...reader,

    /** Adds or updates a server, and reads its tools. */
    async put(name: string, input: RemoteInput, admin: Admin) {
      await checkName(deps, name)
      await services.put('remote', name, input.service, admin.name)
      const { description, oauthClientId } = input
      await batch(db, {
        server: upsertServer({ name, description, oauthClientId, ...by(admin) }),
        version: countToolsChange(),
      })
      return remotes.refresh(name, admin)
    },

    /** Deletes a server, what people connected to it, and their tokens there. */
    async remove(name: string): Promise<void> {
      const { isDeleted, connected, service } = await batch(db, {
        service: selectService('remote', name),
        ...deps.accounts.takeAt(name),
        tools: deleteTools(name),
        isDeleted: deleteServer(name),
        version: countToolsChange(),
      })
      if (!isDeleted) throw notFound('remote server')
      await services.remove('remote', name)
      if (service) await revokeTokens(deps, service, connected)
    },

    /** Reads the tools of a server; the reason of a failure is stored with it. */
    async refresh(name: string, admin: Admin) {
      await remotes.find(name)
      const outcome = await read(deps, name, admin)
      await run(db, updateReadState(name, { now: clock.now(), ...outcome }))
      return remotes.find(name)
    },

    /** Accepts the changed descriptions that the admin reviewed. */
    async accept(name: string, seen: { name: string; hash: string }[], admin: Admin) {
      const { tools } = await remotes.find(name)
      const writes = seen.map(({ name: wireName, hash }) => {
        const tool = tools.find((each) => each.name === wireName)
        if (!tool) throw notFound('tool')
        if (tool.offered_hash !== hash) throw remoteErrors.reviewOutdated(tool.tool)
        return hash === ''
          ? deleteTool(name, tool.remote_name)
          : acceptTool(name, { name: tool.remote_name, hash }, by(admin))
      })
      if (writes.length > 0) await batch(db, { writes, version: countToolsChange() })
      return remotes.find(name)
    },

    /** Shows models the instructions that the admin reviewed; null: none. */
    async setInstructions(name: string, reviewed: string | null) {
      // Forms send line breaks in another way.
      const text = reviewed?.replaceAll('\r\n', '\n').trim()
      const { isDone } = await batch(db, {
        isDone: text === undefined ? hideInstructions(name) : acceptInstructions(name, text),
        version: countToolsChange(),
      })
      const found = await remotes.find(name)
      if (!isDone) throw remoteErrors.instructionsOutdated(name)
      return found
    },

    /** Sets grant and tier of a tool; null hides it. */
    async map(name: string, tool: ToolMapping, admin: Admin) {
      checkGrant(name, tool)
      const { isMapped } = await batch(db, {
        isMapped: mapTool(name, tool, by(admin)),
        version: countToolsChange(),
      })
      if (!isMapped) {
        const { tools } = await remotes.find(name)
        const found = tools.find((each) => each.name === tool.wireName)
        throw found ? remoteErrors.reviewOutdated(found.tool) : notFound('tool')
      }
      return remotes.find(name)
    },
  }
  return remotes
}

/** Revokes the tokens of a deleted server. A failure is logged: the deletion is done. */
async function revokeTokens(
  { accounts, log }: RemotesDeps,
  service: ServiceRow,
  taken: TakenAccount[],
): Promise<void> {
  const { failed } = await accounts.revoke(service, taken)
  if (failed > 0) log.warn('tokens not revoked', { server: service.name, accounts: failed })
}

function createReader(db: Db) {
  const reader = {
    /** Returns the statement of all servers without their tools, to send it in a batch with others. */
    selectServers: (): Statement<RemoteServerSummary[]> =>
      mapStatement(selectServers(), (rows) => rows.map(summarizeServer)),

    /** Returns the statement of the tools of all servers. */
    selectTools: (): Statement<RemoteToolSummary[]> => mapStatement(selectTools(), presentTools),

    async list() {
      const { servers, tools } = await batch(db, {
        servers: selectServers(),
        tools: selectTools(),
      })
      return presentServers(servers, tools)
    },

    async find(name: string) {
      const found = (await reader.list()).find((each) => each.name === name)
      if (!found) throw notFound('remote server')
      return found
    },
  }
  return reader
}

async function checkName({ db }: RemotesDeps, name: string): Promise<void> {
  if (!/^[a-z][a-z0-9]{1,19}$/.test(name)) {
    throw remoteErrors.invalidName()
  }
  if (isBuiltInServer(name)) throw remoteErrors.reservedName()
  const servers = await run(db, selectServers())
  const isNew = !servers.some((row) => row.name === name)
  if (isNew && servers.length >= remoteServers.serversMax) {
    throw remoteErrors.tooMany(servers.length)
  }
}

/**
 * Checks that a grant begins with the server's name, so that no grant for other tools applies to a remote
 * one by mistake.
 *
 * @throws VALIDATION
 */
function checkGrant(
  name: string,
  { grant, tier }: { grant: string | null; tier: string | null },
): void {
  if ((grant === null) !== (tier === null)) {
    throw remoteErrors.grantWithoutTier()
  }
  if (grant !== null && !(isPlainGrant(grant) && grant.startsWith(`${name}:`))) {
    throw remoteErrors.foreignGrant(name)
  }
}

/** Reads the tools of a server, with the admin's own account if there is one. @returns why that failed, or what was left out */
async function read(deps: RemotesDeps, name: string, admin: Admin): Promise<ReadState> {
  const actor: Actor = {
    accountId: admin.id,
    name: admin.name,
    kind: 'human',
    activationId: null,
    postId: null,
    idempotencyKey: null,
  }
  const signal = AbortSignal.timeout(remoteServers.refreshMs)
  const target = { server: 'remote', service: name, actor, hub: deps.hub, signal }
  try {
    const hasOwn = await deps.accounts.has(admin.id, name)
    const { connection } = await deps.connect({ ...target, owner: hasOwn ? admin : null })
    const { list, said } = await withClient({ connection }, async (client, transport) => ({
      list: await listRemoteTools(client, transport),
      said: client.getInstructions(),
    }))
    await deps.catalogue.note(name, list)
    return { failure: null, problems: list.problems, offeredInstructions: toInstructions(said) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { failure: [error.message, error.hint].filter(Boolean).join(' ') }
  }
}
