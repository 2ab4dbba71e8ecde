import type { ModelAddress } from '../contract/model-admin'
import { credentialMark } from '../services/check-service'
import type { ServiceKind } from '../services/service-kind'
import { modelServer } from './queries'

/** Returns the header that carries a provider's key. */
export const toKeyHeaders = ({ keyHeader }: ModelAddress): Record<string, string> => ({
  [keyHeader]: keyHeader === 'authorization' ? `Bearer ${credentialMark}` : credentialMark,
})

/**
 * Returns the kind of the services of model providers. Those with a known address are built in, so that
 * a key is sealed to that address from the start.
 */
export const createModelKind = (addresses: ReadonlyMap<string, ModelAddress>): ServiceKind => ({
  server: modelServer,
  builtIn(provider) {
    const address = addresses.get(provider)
    if (!address?.baseUrl) return null
    return { baseUrl: address.baseUrl, headers: toKeyHeaders(address) }
  },
  isSentInHeader: true,
})
