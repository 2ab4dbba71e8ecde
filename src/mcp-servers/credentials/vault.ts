import type { ConversationApi, GrantApi, Sender } from '../../hub/contract/hub'
import { outside } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { mapStatement, type Statement } from '../../shared/db/statement'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId, Clock } from '../../shared/ids'
import type { CredentialSummary } from '../contract/tool-admin'
import { type ServiceKinds, toDestination } from '../services/check-service'
import { selectService } from '../services/queries'
import type { Cipher, Sealed } from './cipher'
import { credentialErrors } from './errors'
import {
  type CredentialRow,
  deleteCredential,
  type ListedCredentialRow,
  resealCredential,
  selectCredentials,
  selectCredentialsOf,
  touchCredential,
  type Unsealed,
  upsertCredential,
} from './queries'
import { secretCharsMin } from './scrub'

interface VaultDeps {
  db: Db
  cipher: Cipher
  clock: Clock
  kinds: ServiceKinds
  /** A secret of the Worker, by name. */
  readVariable: (name: string) => string | undefined
}

/** A credential as an admin submits it. */
interface CredentialInput {
  name: string
  /** The secret, or `env:NAME` of a Worker secret. */
  value: string
  server: string
  service: string
  community: string | null
  agent: { id: AccountId; name: string } | null
  by: string
}

export type Vault = ReturnType<typeof createVault>

/** Creates the store of credentials. Values are written and used here and never returned to people. */
export function createVault({ db, cipher, clock, kinds, readVariable }: VaultDeps) {
  const check = (value: string, server: string) => checkCredential(value, kinds, server)
  const sealer = createSealer(cipher, readVariable)
  return {
    /** Returns the statement of `list`, to send it in a batch with others. */
    async select(): Promise<Statement<CredentialSummary[]>> {
      const current = await cipher.currentId()
      return mapStatement(selectCredentials(), (rows) => rows.map((row) => describe(row, current)))
    },

    async list(): Promise<CredentialSummary[]> {
      return run(db, await this.select())
    },

    async put(input: CredentialInput): Promise<void> {
      const now = clock.now()
      const { name, server, service, community, agent, by } = input
      const destination = await findDestination(db, kinds, { server, service })
      const bound = { name, server, service, community, agentId: agent?.id ?? null, destination }
      const variable = /^env:(.*)$/.exec(input.value)?.[1] ?? null
      check(variable === null ? input.value : sealer.findVariable(variable), server)
      const sealed = await sealer.seal({ ...bound, variable }, input.value)
      const row = { ...bound, ...sealed, variable, agent: agent?.name ?? null, updatedBy: by }
      await run(db, upsertCredential({ ...row, createdAt: now, updatedAt: now }))
    },

    async remove(name: string): Promise<void> {
      const isDeleted = await run(db, deleteCredential(name))
      if (!isDeleted) throw notFound('credential')
    },

    /**
     * Returns the value, for the gateway only. A value under an older key is encrypted again, and one
     * that has no destination yet for this one.
     *
     * @param destination where the value is sent
     * @throws UNAVAILABLE when the value was set for another destination
     */
    async open(row: CredentialRow, destination: string): Promise<string> {
      const now = clock.now()
      const writes = isStale(row, now) ? [touchCredential(row.name, now)] : []
      const value = await this.read(row, destination)
      const isOld = row.variable === null && row.keyId !== (await cipher.currentId())
      if (isOld || row.destination === null) {
        writes.push(await sealer.reseal(row, value, destination))
      }
      if (writes.length > 0) await batch(db, { writes })
      return value
    },

    /**
     * Returns the value without a write, for calls that must not wait for the database.
     *
     * @throws as `open`
     */
    async read(row: CredentialRow, destination: string): Promise<string> {
      if (row.destination !== null && row.destination !== destination) {
        throw credentialErrors.sealedElsewhere(row.name, row.destination, destination)
      }
      const value = await sealer.read(row)
      check(value, row.server)
      return value
    },

    /**
     * Returns the writes that seal the credentials of a service to where its declaration sends them.
     *
     * @param former where they were sent so far; null: the service was not declared
     * @throws VALIDATION when one was set for another destination
     */
    async bind({ server, service, former, destination }: Binding): Promise<Statement<void>[]> {
      const rows = await run(db, selectCredentialsOf(server, service))
      const elsewhere = rows.find(
        (row) => (row.destination ?? former ?? destination) !== destination,
      )
      if (elsewhere) {
        const from = elsewhere.destination ?? former ?? destination
        throw credentialErrors.destinationChanged(elsewhere.name, from, destination)
      }
      const unbound = rows.filter((row) => row.destination === null)
      return Promise.all(
        unbound.map(async (row) =>
          sealer.reseal(row, row.variable === null ? await sealer.read(row) : '', destination),
        ),
      )
    },
  }
}

/** Where the credentials of a declared service go. */
interface Binding {
  server: string
  service: string
  former: string | null
  destination: string
}

/** Returns where a service sends its credential; null: it is neither declared nor built in. */
async function findDestination(
  db: Db,
  kinds: ServiceKinds,
  { server, service }: { server: string; service: string },
): Promise<string | null> {
  const declared = await run(db, selectService(server, service))
  const baseUrl = declared?.baseUrl ?? kinds.get(server)?.builtIn(service)?.baseUrl
  return baseUrl === undefined ? null : toDestination(baseUrl)
}

/** Whether the time of last use is due for an update. It is coarse, so that most calls write nothing. */
const isStale = ({ lastUsedAt }: CredentialRow, now: number): boolean =>
  lastUsedAt === null || now - lastUsedAt > outside.lastUsedEveryMs

/** Validates a credential and the secrets that its server derives from it. */
function checkCredential(value: string, kinds: ServiceKinds, server: string): void {
  const kind = kinds.get(server)
  if (!kind) throw credentialErrors.serverWithoutCredentials(server, [...kinds.keys()])
  checkSecret(value)
  const problem = kind.checkCredential?.(value) ?? null
  if (problem !== null) throw credentialErrors.invalid(problem)
  for (const part of kind.secretParts?.(value) ?? []) checkSecret(part)
}

/** Validates the length and characters of a secret; one that looks like ordinary words cannot be redacted. */
function checkSecret(value: string): void {
  if (value.length < secretCharsMin) throw credentialErrors.tooShort(secretCharsMin)
  if (value.length > outside.credentialCharsMax || !/^[\x20-\x7e\t\r\n]+$/.test(value)) {
    throw credentialErrors.notAscii()
  }
}

const toTime = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString()

/** Converts a row to an API response, without the value. */
const describe = (row: ListedCredentialRow, current: string | null): CredentialSummary => ({
  name: row.name,
  server: row.server,
  service: row.service,
  destination: row.destination,
  community: row.community,
  agent: row.agent,
  source: row.variable === null ? 'vault' : `env:${row.variable}`,
  key: row.keyId === null ? null : row.keyId === current ? 'current' : 'old',
  updated_at: toTime(row.updatedAt),
  updated_by: row.updatedBy,
  last_used_at: toTime(row.lastUsedAt),
})

/** Only secrets of the Worker with this prefix can be used as credentials. */
const variablePrefix = 'ROOKERY_SECRET_'

/** What a value is sealed to; `variable`: the value is a secret of the Worker, which is not encrypted. */
type SealedTo = Pick<
  CredentialRow,
  'name' | 'server' | 'service' | 'community' | 'agentId' | 'destination' | 'variable'
>

/** Creates the reader and writer of the values of credentials. */
function createSealer(cipher: Cipher, readVariable: (name: string) => string | undefined) {
  const findVariable = (name: string): string => {
    if (!name.startsWith(variablePrefix)) throw credentialErrors.variablePrefix(variablePrefix)
    const value = readVariable(name)
    if (value) return value
    throw credentialErrors.noVariable(name)
  }
  const seal = async (row: SealedTo, value: string): Promise<Sealed | Unsealed> =>
    row.variable === null ? cipher.seal(value, toContext(row)) : unsealed
  return {
    findVariable,
    seal,
    read: async (row: CredentialRow): Promise<string> =>
      row.variable === null
        ? cipher.open(toSealed(row), toContext(row))
        : findVariable(row.variable),
    /** Returns the write that seals a value to a destination. */
    reseal: async (
      row: CredentialRow,
      value: string,
      destination: string,
    ): Promise<Statement<void>> =>
      resealCredential(row, { ...(await seal({ ...row, destination }, value)), destination }),
  }
}

const toSealed = ({ ciphertext, iv, keyId }: CredentialRow) => ({
  ciphertext: ciphertext ?? '',
  iv: iv ?? '',
  keyId: keyId ?? '',
})

const unsealed: Unsealed = { ciphertext: null, iv: null, keyId: null }

/**
 * The context of a value's encryption: moved to another row, binding or destination, it cannot be
 * decrypted.
 */
const toContext = (row: SealedTo): string =>
  JSON.stringify([
    row.name,
    row.server,
    row.service,
    row.community,
    row.agentId,
    ...(row.destination === null ? [] : [row.destination]),
  ])

interface GivenCredential {
  name: string
  value: string
  server: string
  service: string
  /** With or without `m/` and `@`. */
  community?: string | null | undefined
  agent?: string | null | undefined
}

/** Stores a credential that an admin submitted on the page or over the API. */
export async function setCredential(
  { vault, hub }: { vault: Vault; hub: ConversationApi & Pick<GrantApi, 'recordAdminAction'> },
  admin: Pick<Sender, 'id' | 'name' | 'keyId'>,
  { name, value, server, service, community, agent }: GivenCredential,
): Promise<void> {
  const actor = { accountId: admin.id, name: admin.name, kind: 'human' as const }
  const requester = { ...actor, activationId: null, postId: null, idempotencyKey: null }
  const found = agent
    ? await find('agent', hub.readProfile(requester, agent.replace(/^@/, '')))
    : null
  const place = community ? await find('community', hub.readCommunity(requester, community)) : null
  await hub.recordAdminAction(admin, {
    action: 'credential.set',
    targetType: 'credential',
    targetId: name,
    after: { server, service, community: place?.name ?? null, agent: found?.name ?? null },
  })
  await vault.put({
    name,
    value,
    server,
    service,
    by: admin.name,
    community: place?.name ?? null,
    agent: found && { id: found.id, name: found.name },
  })
}

/** Awaits a read of what a field names. @throws NOT_FOUND with the field */
async function find<Found>(field: 'agent' | 'community', read: Promise<Found>): Promise<Found> {
  try {
    return await read
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'NOT_FOUND')) throw error
    throw credentialErrors.fieldNotFound(field, error)
  }
}
