import { outside } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { mapStatement, type Statement } from '../../shared/db/statement'
import { notFound } from '../../shared/errors'
import type { AccountId, Clock } from '../../shared/ids'
import type { CredentialSummary } from '../contract/tool-admin'
import { toDestination } from '../services/destination'
import { selectService } from '../services/queries'
import type { ServiceKinds } from '../services/service-kind'
import type { Cipher } from './cipher'
import { credentialErrors } from './errors'
import {
  type CredentialRow,
  deleteCredential,
  type ListedCredentialRow,
  selectCredentials,
  selectCredentialsOf,
  touchCredential,
  upsertCredential,
} from './queries'
import { secretCharsMin } from './scrub'
import { createSealer } from './sealer'

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
export interface Binding {
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
