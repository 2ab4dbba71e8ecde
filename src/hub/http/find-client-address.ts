import {
  type IpAddress,
  isInNetwork,
  parseAddress,
  toAddressSubject,
  toWideSubject,
} from '../../shared/ip-address'
import type { Settings } from '../../shared/settings'

/** Who a request without a known key counts for. */
export interface ClientAddress {
  /** An address; `local`: this machine; `unknown`: no proxy named one. */
  subject: string
  /** The IPv6 /48 of the address, which has an attempt limit of its own; null: none. */
  wideSubject: string | null
  /** Whether a program on this machine sent the request directly. */
  isLoopback: boolean
}

type AddressSettings = Pick<Settings, 'ROOKERY_CLIENT_ADDRESS_HEADER' | 'ROOKERY_TRUSTED_PROXIES'>

/** Headers of proxies: a request that has one was not sent by a program on this machine. */
const proxyHeaders = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via']

/**
 * Returns the address of a client. It is read from the configured header only, because clients can send
 * any other. A list of addresses is read from its end, where the nearest proxy wrote.
 */
export function findClientAddress(
  headers: Headers,
  settings: AddressSettings,
  isLoopbackHost: boolean,
): ClientAddress {
  const name = settings.ROOKERY_CLIENT_ADDRESS_HEADER
  if (!name) {
    const isLoopback = isLoopbackHost && !proxyHeaders.some((header) => headers.has(header))
    return { subject: isLoopback ? 'local' : 'unknown', wideSubject: null, isLoopback }
  }
  const address = findClient(headers.get(name) ?? '', settings.ROOKERY_TRUSTED_PROXIES ?? [])
  return {
    subject: address ? toAddressSubject(address) : 'unknown',
    wideSubject: address && toWideSubject(address),
    isLoopback: false,
  }
}

/** Returns the last address of a list that is not of a trusted proxy, or the first if all are. */
function findClient(
  list: string,
  proxies: NonNullable<AddressSettings['ROOKERY_TRUSTED_PROXIES']>,
) {
  let nearest: IpAddress | null = null
  for (const text of list.split(',').reverse()) {
    const address = parseAddress(text.trim())
    if (!address) return nearest
    nearest = address
    if (!proxies.some((network) => isInNetwork(address, network))) return address
  }
  return nearest
}
