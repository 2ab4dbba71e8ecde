import ipaddr from 'ipaddr.js'

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6
export type Network = [address: IpAddress, prefixBits: number]

/** Parses an IP address; an IPv4 address in IPv6 becomes IPv4. Returns null for any other text. */
export function parseAddress(text: string): IpAddress | null {
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)
  return isAddress ? ipaddr.process(text) : null
}

/** Parses a network such as `10.0.0.0/8`, or a single address. Returns null for any other text. */
export function parseNetwork(text: string): Network | null {
  const address = parseAddress(text)
  if (address) return [address, address.kind() === 'ipv4' ? 32 : 128]
  return ipaddr.isValidCIDR(text) ? ipaddr.parseCIDR(text) : null
}

export const isInNetwork = (address: IpAddress, network: Network): boolean =>
  address.kind() === network[0].kind() && address.match(network)

/**
 * Returns the text by which requests of an address are counted: of IPv6 the first 64 bits, which one
 * subscriber has to itself.
 */
export function toAddressSubject(address: IpAddress): string {
  if (address.kind() === 'ipv4') return address.toString()
  const parts = (address as ipaddr.IPv6).parts.slice(0, 4)
  return `${parts.map((part) => part.toString(16)).join(':')}::/64`
}
