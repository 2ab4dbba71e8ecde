import type {
  OAuthClientInformationMixed,
  OAuthMetadata,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import type { Cipher, Sealed } from '../credentials/cipher'
import type { AttemptRow, ClientRow, ConnectedRow } from './queries'

/** How the hub is registered at an authorization server. */
export type Client = OAuthClientInformationMixed

/** An authorization server, as it described itself when the account was connected. */
export interface AuthorizationServer {
  metadata: OAuthMetadata
  /** The resource that tokens are for; null: the remote server names none. */
  resource: string | null
}

/** What a connection keeps. It is encrypted, and never asked for again: a server cannot redirect a token. */
export interface Grant extends AuthorizationServer {
  client: Client
  accessToken: string
  refreshToken: string | null
}

/** What an attempt keeps until its answer arrives. */
export interface Attempt extends AuthorizationServer {
  client: Client
  codeVerifier: string
  redirectUri: string
  destination: string
  scope: string | null
  /** Whether the answer has to name the issuer (RFC 9207). */
  namesIssuer: boolean
  /** The path of this hub to go on to. */
  next: string
}

/** The contexts of the encryption: moved to another row, nothing can be decrypted. */
export const contextOf = {
  grant: (row: Pick<ConnectedRow, 'id' | 'accountId' | 'service' | 'destination'>) =>
    JSON.stringify(['connected account', row.id, row.accountId, row.service, row.destination]),
  attempt: (row: Pick<AttemptRow, 'stateHash' | 'accountId' | 'service' | 'sessionHash'>) =>
    JSON.stringify(['attempt', row.stateHash, row.accountId, row.service, row.sessionHash]),
  client: (row: Pick<ClientRow, 'service' | 'issuer' | 'redirectUri'>) =>
    JSON.stringify(['client', row.service, row.issuer, row.redirectUri]),
}

export const sealValue = (
  cipher: Cipher,
  value: Grant | Attempt | Client,
  context: string,
): Promise<Sealed> => cipher.seal(JSON.stringify(value), context)

/** Opens what `sealValue` has sealed in the same context, so that it has the same type. */
export const openValue = async <Value extends Grant | Attempt | Client>(
  cipher: Cipher,
  { ciphertext, iv, keyId }: Sealed,
  context: string,
): Promise<Value> => JSON.parse(await cipher.open({ ciphertext, iv, keyId }, context))

/** Returns the secrets of a grant, which are redacted from everything. */
export const listSecrets = ({ accessToken, refreshToken, client }: Grant): string[] =>
  [accessToken, refreshToken, client.client_secret].filter(
    (each): each is string => typeof each === 'string' && each !== '',
  )
