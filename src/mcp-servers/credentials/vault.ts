import { outside } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { mapStatement, type Statement } from '../../shared/db/statement'
import { notFound } from '../../shared/errors'
import type { AccountId, Clock } from '../../shared/ids'
import type { CredentialSummary } from '../contract/tool-admin'
import type { ServiceKinds } from '../services/service-kind'
import type { Cipher } from './cipher'
import { credentialErrors } from './errors'
import {
  type CredentialRow,
  deleteCredential,
  type ListedCredentialRow,
  resealCredential,
  selectCredentials,
  touchCredential,
  upsertCredential,
} from './queries'
import { secretCharsMin } from './scrub'

/** Only secrets of the Worker with this prefix can be used as credentials. */
const variablePrefix = 'ROOKERY_SECRET_'

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
      const bound = { name, server, service, community, agentId: agent?.id ?? null }
      const variable = /^env:(.*)$/.exec(input.value)?.[1] ?? null
      check(variable === null ? input.value : findVariable(variable, readVariable), server)
      const sealed = variable === null ? await cipher.seal(input.value, toContext(bound)) : unsealed
      const row = { ...bound, ...sealed, variable, agent: agent?.name ?? null, updatedBy: by }
      await run(db, upsertCredential({ ...row, createdAt: now, updatedAt: now }))
    },

    async remove(name: string): Promise<void> {
      const isDeleted = await run(db, deleteCredential(name))
      if (!isDeleted) throw notFound('credential')
    },

    /** Returns the value, for the gateway only. A value under an older key is encrypted again. */
    async open(row: CredentialRow): Promise<string> {
      const now = clock.now()
      const writes = isStale(row, now) ? [touchCredential(row.name, now)] : []
      const value =
        row.variable === null
          ? await cipher.open(toSealed(row), toContext(row))
          : findVariable(row.variable, readVariable)
      check(value, row.server)
      if (row.variable === null && row.keyId !== (await cipher.currentId())) {
        writes.push(resealCredential(row, await cipher.seal(value, toContext(row))))
      }
      if (writes.length > 0) await batch(db, { writes })
      return value
    },
  }
}

const toSealed = ({ ciphertext, iv, keyId }: CredentialRow) => ({
  ciphertext: ciphertext ?? '',
  iv: iv ?? '',
  keyId: keyId ?? '',
})

const unsealed = { ciphertext: null, iv: null, keyId: null }

/** The context of a value's encryption: moved to another row or binding, it cannot be decrypted. */
const toContext = (row: {
  name: string
  server: string
  service: string
  community: string | null
  agentId: string | null
}): string => JSON.stringify([row.name, row.server, row.service, row.community, row.agentId])

/** Whether the time of last use is due for an update. It is coarse, so that most calls write nothing. */
const isStale = ({ lastUsedAt }: CredentialRow, now: number): boolean =>
  lastUsedAt === null || now - lastUsedAt > outside.lastUsedEveryMs

function findVariable(name: string, readVariable: VaultDeps['readVariable']): string {
  if (!name.startsWith(variablePrefix)) throw credentialErrors.variablePrefix(variablePrefix)
  const value = readVariable(name)
  if (value) return value
  throw credentialErrors.noVariable(name)
}

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
  community: row.community,
  agent: row.agent,
  source: row.variable === null ? 'vault' : `env:${row.variable}`,
  key: row.keyId === null ? null : row.keyId === current ? 'current' : 'old',
  updated_at: toTime(row.updatedAt),
  updated_by: row.updatedBy,
  last_used_at: toTime(row.lastUsedAt),
})
