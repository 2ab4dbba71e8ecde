import type { Statement } from '../../shared/db/statement'
import type { Cipher, Sealed } from './cipher'
import { credentialErrors } from './errors'
import { type CredentialRow, resealCredential, type Unsealed } from './queries'

/** Only secrets of the Worker with this prefix can be used as credentials. */
const variablePrefix = 'ROOKERY_SECRET_'

/** What a value is sealed to; `variable`: the value is a secret of the Worker, which is not encrypted. */
type Binding = Pick<
  CredentialRow,
  'name' | 'server' | 'service' | 'community' | 'agentId' | 'destination' | 'variable'
>

/** Creates the reader and writer of the values of credentials. */
export function createSealer(cipher: Cipher, readVariable: (name: string) => string | undefined) {
  const findVariable = (name: string): string => {
    if (!name.startsWith(variablePrefix)) throw credentialErrors.variablePrefix(variablePrefix)
    const value = readVariable(name)
    if (value) return value
    throw credentialErrors.noVariable(name)
  }
  const seal = async (row: Binding, value: string): Promise<Sealed | Unsealed> =>
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
const toContext = (row: Binding): string =>
  JSON.stringify([
    ...[row.name, row.server, row.service, row.community, row.agentId],
    ...(row.destination === null ? [] : [row.destination]),
  ])
