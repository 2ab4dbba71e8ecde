import ipaddr from 'ipaddr.js'

/**
 * Whether a host is on the public internet. The host comes from a parsed URL, which writes every form of
 * an IPv4 address (decimal, hex, octal, short) as four decimal numbers, and an IPv6 address in brackets.
 */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '')
  if (host.startsWith('[')) return isPublicAddress(host.slice(1, -1))
  if (/^[\d.]+$/.test(host)) return isPublicAddress(host)
  const labels = host.split('.')
  // A name of one label is resolved in the local network.
  if (labels.length < 2 || labels.includes('')) return false
  return !privateNames.some((name) => host.endsWith(`.${name}`))
}

/** Names that are never public (RFC 6761, RFC 6762, RFC 8375, RFC 9476, ICANN's `internal`). */
const privateNames = [
  'alt',
  'corp',
  'home',
  'home.arpa',
  'internal',
  'intranet',
  'invalid',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'onion',
  'private',
  'test',
]

/** A cloud metadata service outside the link-local range. */
const metadataAddress = '168.63.129.16'

/** Global unicast. The library also calls addresses outside of it `unicast` that are not assigned yet. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/** Whether an address is public: IPv4 with dots, or IPv6 without brackets. */
export function isPublicAddress(address: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    return address !== metadataAddress && ipaddr.IPv4.parse(address).range() === 'unicast'
  }
  if (!ipaddr.IPv6.isValid(address)) return false
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.match(globalUnicast) && parsed.range() === 'unicast'
}
