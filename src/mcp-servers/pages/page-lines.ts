import type { Vault } from '../credentials/vault'
import type { Services } from '../services/services'

/** What may be told of a credential, and a service, as the API tells it. */
export type CredentialLine = Awaited<ReturnType<Vault['describe']>>[number]
export type ServiceLine = ReturnType<Services['describe']>[number]
