import { areLoopbackOrigins, isLoopbackHost } from '../../shared/ip-address'

/** Origin of a request that the hub accepts. */
interface AcceptedOrigin {
  /** The origin of links. */
  origin: string
  /** Whether browsers reach the hub over TLS. */
  isSecure: boolean
  /**
   * Whether the request was sent to this machine itself: `localhost`, `127.0.0.0/8` or `[::1]`. Not when
   * another origin is configured: then a proxy may send requests of the internet to a loopback address.
   */
  isLoopback: boolean
}

/**
 * Returns the origin that a request was sent to; null for a host that is not the hub's. A page of another
 * site can make its name resolve to the hub (DNS rebinding), so no unknown host is answered. The scheme
 * is not compared: behind a proxy, the hub is reached without TLS.
 */
export function findOrigin(
  url: URL,
  configured: readonly string[] | undefined,
): AcceptedOrigin | null {
  const isHttps = url.protocol === 'https:'
  if (isLoopbackHost(url.hostname)) {
    const isLoopback = areLoopbackOrigins(configured)
    return { origin: configured?.[0] ?? url.origin, isSecure: isHttps, isLoopback }
  }
  const own = configured?.find((origin) => toHost(new URL(origin)) === toHost(url))
  if (own) return { origin: own, isSecure: own.startsWith('https:'), isLoopback: false }
  // Cloudflare routes such a name to one Worker only, and its certificate proves it.
  const isPlatformName = !configured && isHttps && url.hostname.endsWith('.workers.dev')
  return isPlatformName ? { origin: url.origin, isSecure: true, isLoopback: false } : null
}

/** Returns host and port; a proxy may pass on the default port of either scheme. */
const toHost = ({ hostname, port }: URL): string =>
  ['', '80', '443'].includes(port) ? hostname : `${hostname}:${port}`
