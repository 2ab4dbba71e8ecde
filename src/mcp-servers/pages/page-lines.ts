import type { Vault } from '../credentials/vault'
import type { Services } from '../services/services'

/** A credential without its value, and a service, as the API presents them. */
export type CredentialLine = Awaited<ReturnType<Vault['describe']>>[number]
export type ServiceLine = ReturnType<Services['describe']>[number]
