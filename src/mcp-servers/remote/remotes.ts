import type * as z from 'zod'
import type { Actor, ConversationApi, DefinitionChangeApi } from '../../hub/contract/hub'
import { remoteServers } from '../../shared/config'
import { decodeKeyset, encodeCursor } from '../../shared/cursor'
import { shortenText } from '../../shared/cut-text'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { mapStatement, type Statement } from '../../shared/db/statement'
import { createDiffBudget, type DiffBudget, diffLines } from '../../shared/diff-lines'
import { AppError, type ErrorDetail, notFound } from '../../shared/errors'
import type { AccountId, Clock } from '../../shared/ids'
import type { Log } from '../../shared/log'
import type {
  RemoteServerSummary,
  RemoteServerText,
  RemoteToolCounts,
  RemoteToolLine,
  RemoteToolPage,
  RemoteToolQuery,
  RemoteToolState,
  RemoteToolText,
  SeenTool,
} from '../contract/tool-admin'
import type { Sealed } from '../credentials/cipher'
import type { Connect } from '../credentials/connection'
import type { Pin } from '../schema'
import { isBuiltInServer } from '../servers'
import { type ServiceRow, selectService } from '../services/queries'
import type { Services, serviceInput } from '../services/services'
import { isPlainGrant } from '../tool/grant-pattern'
import type { Catalogue } from './catalogue'
import { findCut, showInvisible, toInstructions } from './pin'
import { toPlainSchema } from './plain-schema'
import {
  acceptInstructions,
  acceptTool,
  countToolsChange,
  deleteGoneTool,
  deleteServer,
  deleteTools,
  hideInstructions,
  mapTools,
  type ReadState,
  type RemoteServerRow,
  type RemoteToolRow,
  type StateFacts,
  selectServer,
  selectServers,
  selectStateFacts,
  selectTool,
  selectTools,
  selectVersion,
  type ToolMapping,
  updateReadState,
  upsertServer,
} from './queries'
import { listRemoteTools } from './to-tool'
import { nameProblems, remoteErrors, withClient } from './transport'

interface Admin {
  id: AccountId
  name: string
}

interface RemoteInput {
  description: string
  oauthClientId: string | null
  service: z.output<typeof serviceInput>
}

interface RemotesDeps {
  db: Db
  clock: Clock
  hub: ConversationApi & Pick<DefinitionChangeApi, 'refreshWarnings'>
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
    ...createToolActions(deps, reader),

    /** Finds all problems of a name and an address; null: the address is not known. */
    findProblems: (name: string, service: RemoteInput['service'] | null): ErrorDetail[] => [
      ...findNameProblems(name),
      ...(service ? services.findProblems('remote', name, service) : []),
    ],

    /** Adds or updates a server, and reads its tools. @throws VALIDATION with all problems of its name and address */
    async put(name: string, input: RemoteInput, admin: Admin) {
      const problems = remotes.findProblems(name, input.service)
      if (problems.length > 0) throw remoteErrors.invalid(problems)
      await checkCount(db, name)
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
      await deps.hub.refreshWarnings(name)
      if (service) await revokeTokens(deps, service, connected)
    },

    /** Reads the tools of a server; the reason of a failure is stored with it. */
    async refresh(name: string, admin: Admin) {
      await remotes.find(name)
      const outcome = await read(deps, name, admin)
      await run(db, updateReadState(name, { now: clock.now(), ...outcome }))
      await deps.hub.refreshWarnings(name)
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
  }
  return remotes
}

/** What an admin decides about tools of a server. */
const createToolActions = (
  { db, clock, hub }: Pick<RemotesDeps, 'db' | 'clock' | 'hub'>,
  reader: ReturnType<typeof createReader>,
) => {
  const by = (admin: Admin) => ({ now: clock.now(), by: admin.name })
  return {
    /** Accepts the changed descriptions that the admin reviewed. Returns those of the tools that are left. */
    async accept(server: string, seen: SeenTool[], admin: Admin) {
      if (seen.length === 0) throw remoteErrors.nothingChosen()
      const rows = await reader.listRows(server)
      const writes = seen.map(({ name, hash }) => {
        const row = findRow(rows, name)
        if (row.offeredHash !== hash) throw remoteErrors.reviewOutdated(server, name)
        return hash === ''
          ? deleteGoneTool(server, row.name)
          : acceptTool(server, { name: row.name, hash }, by(admin))
      })
      const { after } = await batch(db, {
        writes,
        version: countToolsChange(),
        after: selectTools(server),
      })
      await hub.refreshWarnings(server)
      return presentNamed(after, seen)
    },

    /**
     * Sets grant and tier of all these tools or of none; null hides them. Returns these tools.
     *
     * @param seen a hash of null: whatever its description is
     */
    async map(
      server: string,
      seen: { name: string; hash: string | null }[],
      mapping: ToolMapping,
      admin: Admin,
    ) {
      if (seen.length === 0) throw remoteErrors.nothingChosen()
      checkGrant(server, mapping)
      const rows = await reader.listRows(server)
      const chosen = seen.map(({ name, hash }) => {
        const { pinnedHash } = findRow(rows, name)
        if (hash !== null && hash !== pinnedHash) throw remoteErrors.reviewOutdated(server, name)
        return { name, hash: pinnedHash }
      })
      const { isMapped, after } = await batch(db, {
        isMapped: mapTools(server, uniqueByName(chosen), { ...mapping, ...by(admin) }),
        version: countToolsChange(),
        after: selectTools(server),
      })
      if (!isMapped) throw remoteErrors.listOutdated()
      await hub.refreshWarnings(server)
      return presentNamed(after, seen)
    },

    /**
     * Returns the tools that match a filter, as an admin saw them.
     *
     * @param version the version of the tools that the admin saw; CONFLICT when it is not the current one
     */
    async match(
      server: string,
      { matching, version }: { matching: ToolFilter; version: number },
    ): Promise<SeenTool[]> {
      const { rows, latest } = await batch(db, {
        rows: selectTools(server),
        latest: reader.selectVersion(),
      })
      if (latest !== version) throw remoteErrors.listOutdated()
      return findTools(rows, matching).map(({ row }) => ({
        name: row.wireName,
        hash: row.pinnedHash,
      }))
    },
  }
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

const findRow = (rows: RemoteToolRow[], wireName: string): RemoteToolRow => {
  const found = rows.find((row) => row.wireName === wireName)
  if (!found) throw notFound('tool')
  return found
}

const uniqueByName = (tools: SeenTool[]): SeenTool[] => [
  ...new Map(tools.map((tool) => [tool.name, tool])).values(),
]

function presentNamed(rows: RemoteToolRow[], tools: { name: string }[]) {
  const names = new Set(tools.map(({ name }) => name))
  return presentLines(findTools(rows, {}).filter(({ row }) => names.has(row.wireName)))
}

function createReader(db: Db) {
  const reader = {
    /** Returns statements, to send them in a batch with others. */
    selectServers: (): Statement<RemoteServerSummary[]> =>
      mapStatement(selectServers(), (rows) => rows.map(summarizeServer)),
    selectServer: (name: string): Statement<RemoteServerText | null> =>
      mapStatement(selectServer(name), (row) => (row ? presentServer(row) : null)),
    selectCounts: (): Statement<Map<string, RemoteToolCounts>> =>
      mapStatement(selectStateFacts(), (facts) => {
        const states = Map.groupBy(facts, ({ server }) => server)
        return new Map(
          [...states].map(([server, each]) => [
            server,
            countStates(each.map((fact) => findState(fact).state)),
          ]),
        )
      }),
    selectVersion: (): Statement<number> =>
      mapStatement(selectVersion(), (row) => row?.version ?? 0),

    /** Returns the statement of a page of tools, with the changes that are short. */
    selectPage(query: RemoteToolQuery & { server: string }): Statement<RemoteToolPage> {
      return mapStatement(selectTools(query.server), (rows) => {
        const found = findTools(rows, query)
        const { page, next } = toPage(found, query)
        const all = rows.map(toFound)
        const usable = all.filter(({ state }) => state === 'usable')
        const grants = [...new Set(usable.flatMap(({ row }) => row.grant ?? []))].sort()
        const counts = countStates(all.map(({ state }) => state))
        return { tools: presentChanges(page), matching: found.length, counts, grants, next }
      })
    },

    selectTool: (server: string, tool: string): Statement<RemoteToolText | null> =>
      mapStatement(selectTool(server, tool), (row) => (row ? presentTool(row) : null)),

    async list() {
      const { servers, counts } = await batch(db, {
        servers: reader.selectServers(),
        counts: reader.selectCounts(),
      })
      return servers.map((server) => addCounts(server, counts))
    },

    /** Returns a page of tools without their texts. */
    async listTools(query: RemoteToolQuery) {
      const { page, next } = toPage(
        findTools(await run(db, selectTools(query.server)), query),
        query,
      )
      return { tools: presentLines(page), next }
    },

    async findTool(server: string, tool: string) {
      const found = await run(db, reader.selectTool(server, tool))
      if (!found) throw notFound('tool')
      return found
    },

    async find(name: string) {
      const { server, counts } = await batch(db, {
        server: reader.selectServer(name),
        counts: reader.selectCounts(),
      })
      if (!server) throw notFound('remote server')
      return addCounts(server, counts)
    },

    /** Returns the tools of a server. @throws NOT_FOUND */
    async listRows(name: string): Promise<RemoteToolRow[]> {
      const { server, tools } = await batch(db, {
        server: selectServer(name),
        tools: selectTools(name),
      })
      if (!server) throw notFound('remote server')
      return tools
    },
  }
  return reader
}

const addCounts = <Server extends RemoteServerSummary>(
  server: Server,
  counts: Map<string, RemoteToolCounts>,
) => ({
  ...server,
  tools: counts.get(server.name) ?? countStates([]),
})

function findNameProblems(name: string): ErrorDetail[] {
  const toDetail = (message: string) => [{ path: 'body.name', message }]
  if (!/^[a-z][a-z0-9]{1,19}$/.test(name)) return toDetail(nameProblems.malformed)
  return isBuiltInServer(name) ? toDetail(nameProblems.reserved) : []
}

/** @throws CONFLICT when another server would be too many */
async function checkCount(db: Db, name: string): Promise<void> {
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
function checkGrant(name: string, { grant, tier }: ToolMapping): void {
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
const presentLines = (found: readonly FoundTool[]) => found.map(presentLine)

/** Presents tools for a page, with the lines that changed as far as they are few. All changes share one budget. */
function presentChanges(found: readonly FoundTool[]): RemoteToolLine[] {
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
const summarizeServer = (row: RemoteServerRow): RemoteServerSummary => ({
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
const presentServer = (row: RemoteServerRow): RemoteServerText => ({
  ...summarizeServer(row),
  problems: row.problems.map(showInvisible),
  instructions: row.instructions,
  offered_instructions: row.offeredInstructions,
})

/** Returns a tool's state, and why no model can be given its arguments. */
function findState({ grant, offeredHash, inputSchema }: StateFacts): {
  state: RemoteToolState
  problem: string | null
} {
  const plain = inputSchema && toPlainSchema(inputSchema)
  const problem = typeof plain === 'string' ? plain : null
  if (grant !== null && offeredHash !== null) {
    return { state: offeredHash === '' ? 'gone' : 'changed', problem }
  }
  if (problem !== null) return { state: 'unreadable', problem }
  return { state: grant === null ? 'unmapped' : 'usable', problem }
}

/** A tool with its full name and its state. */
interface FoundTool {
  row: RemoteToolRow
  /** `server_tool`. */
  tool: string
  state: RemoteToolState
  problem: string | null
}

function toFound(row: RemoteToolRow): FoundTool {
  const { grant, offeredHash, pinned } = row
  const facts = { grant, offeredHash, inputSchema: pinned.inputSchema }
  return { row, tool: `${row.server}_${row.wireName}`, ...findState(facts) }
}

function countStates(states: readonly RemoteToolState[]): RemoteToolCounts {
  const counts = { usable: 0, unmapped: 0, unreadable: 0, changed: 0, gone: 0 }
  for (const state of states) counts[state]++
  return counts
}

/** Whether a server says that its tool only reads. Nothing depends on it but what an admin looks for. */
const saysReadOnly = ({ offered, pinned }: RemoteToolRow): boolean =>
  (offered ?? pinned).annotations?.readOnlyHint === true

/** What of the tools is asked for, without the page. */
export type ToolFilter = Omit<RemoteToolQuery, 'limit' | 'cursor'>

const foldCase = (text: string): string => text.normalize('NFKC').toUpperCase().toLowerCase()

/** Returns the tools that have all words of `q` and match the rest of the filter, in the order of their full names. */
export function findTools(rows: readonly RemoteToolRow[], filter: ToolFilter): FoundTool[] {
  const words = foldCase(filter.q ?? '')
    .split(/\s+/)
    .filter((word) => word !== '')
  return rows
    .filter((row) => filter.server === undefined || row.server === filter.server)
    .filter((row) => !filter.readOnly || saysReadOnly(row))
    .map(toFound)
    .filter(({ state }) => filter.state === undefined || state === filter.state)
    .filter((found) => {
      const text = words.length > 0 ? toSearched(found) : ''
      return words.every((word) => text.includes(word))
    })
    .sort((a, b) => (a.tool < b.tool ? -1 : Number(a.tool > b.tool)))
}

const toSearched = ({ row, tool }: FoundTool): string =>
  foldCase([tool, row.name, row.grant, row.pinned.description, row.offered?.description].join(' '))

/** Returns one page of found tools, and the cursor of the next one. */
export function toPage(
  found: readonly FoundTool[],
  { limit, cursor, ...filter }: RemoteToolQuery,
): { page: FoundTool[]; next: string | null } {
  const list = JSON.stringify([
    'remote tools',
    filter.server,
    filter.q,
    filter.state,
    filter.readOnly,
  ])
  const after = decodeKeyset(list, cursor)?.[1] ?? ''
  const rest = found.filter(({ tool }) => tool > after)
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  const next = last && rest.length > page.length ? encodeCursor(list, [0, last.tool]) : null
  return { page, next }
}
