import ipaddr from 'ipaddr.js'

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6
type Network = [address: IpAddress, prefixBits: number]

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
export const toAddressSubject = (address: IpAddress): string =>
  address.kind() === 'ipv4' ? address.toString() : formatNetwork(address as ipaddr.IPv6, 64)

/**
 * Returns the text of an IPv6 address's first 48 bits; null for IPv4. One site can have all the networks
 * of a /48, so that counting by /64 alone would not limit it.
 */
export const toWideSubject = (address: IpAddress): string | null =>
  address.kind() === 'ipv4' ? null : formatNetwork(address as ipaddr.IPv6, 48)

/** @param prefixBits a multiple of 16 */
const formatNetwork = ({ parts }: ipaddr.IPv6, prefixBits: number): string => {
  const prefix = parts.slice(0, prefixBits / 16).map((part) => part.toString(16))
  return `${prefix.join(':')}::/${prefixBits}`
}

/** Whether all origins of a hub are on this machine, so that nobody else reaches it. */
export const areLoopbackOrigins = (origins: readonly string[] = []): boolean =>
  origins.every((origin) => isLoopbackHost(new URL(origin).hostname))

/** Whether a host name, as a parsed URL writes it, is this machine itself. */
export const isLoopbackHost = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
