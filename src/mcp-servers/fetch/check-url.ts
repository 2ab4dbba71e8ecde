import ipaddr from 'ipaddr.js'
import { isLoopbackHost } from '../../shared/ip-address'

/** The allowed targets of requests to a service. */
export interface Reach {
  /** `host` or `host:port` as a URL writes it, without a default port. */
  hosts: string[]
  allowHttp: boolean
  /** Private addresses are allowed too: declared by an admin and permitted by the deployment. */
  allowPrivate: boolean
}

/** Why a URL is not allowed. */
export interface UrlProblem {
  reason: string
  /** The setting of a service that would allow it; null: none would. */
  allowedBy: 'allow_http' | 'allow_private' | null
}

/** Returns everything for which a URL is not allowed. */
export function findUrlProblems(url: URL, reach: Reach): UrlProblem[] {
  const isHttp = url.protocol === 'http:'
  const isSecure = url.protocol === 'https:' || (isHttp && reach.allowHttp)
  return [
    ...(isSecure
      ? []
      : [{ reason: 'only https is allowed', allowedBy: isHttp ? ('allow_http' as const) : null }]),
    ...findHostProblems(url, url.hostname, reach),
    ...(reach.hosts.includes(toHost(url))
      ? []
      : [{ reason: `${url.host} is not among the service's hosts`, allowedBy: null }]),
  ]
}

/**
 * Returns why a host is not allowed in a URL of any protocol.
 *
 * @param hostname as a URL of the web writes it; empty: the URL has none
 */
export function findHostProblems(
  { username, password }: Pick<URL, 'username' | 'password'>,
  hostname: string,
  { allowPrivate }: Pick<Reach, 'allowPrivate'>,
): UrlProblem[] {
  const isReachable = allowPrivate || hostname === '' || isPublicHost(hostname)
  return [
    ...(username === '' && password === ''
      ? []
      : [{ reason: 'a URL must not contain a password', allowedBy: null }]),
    ...(isReachable
      ? []
      : [
          {
            reason: `${hostname} is not on the public internet`,
            allowedBy: 'allow_private' as const,
          },
        ]),
  ]
}

/** Returns why a URL is not allowed; null: it is. */
export const checkUrl = (url: URL, reach: Reach): string | null =>
  findUrlProblems(url, reach)[0]?.reason ?? null

/** Returns `host` or `host:port`, without the dot that can end a host name. */
export const toHost = (url: URL): string =>
  url.port === ''
    ? url.hostname.replace(/\.$/, '')
    : `${url.hostname.replace(/\.$/, '')}:${url.port}`

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

/** Whether this hub can reach a private host, which a parsed URL names, when an admin allows it for a service. */
export type PrivateRule = (hostname: string) => boolean

interface PrivateRuleOptions {
  /** ROOKERY_ALLOW_PRIVATE_SERVICES */
  isPrivateAllowed: boolean
  /** Whether the hub runs on the machine of the people who use it, so that loopback is theirs. */
  isOwnMachine: boolean
}

/**
 * Returns the rule for private hosts. Only the names of loopback itself count: a name of any other kind can lead
 * somewhere else by the time of the request.
 */
export const createPrivateRule =
  ({ isPrivateAllowed, isOwnMachine }: PrivateRuleOptions): PrivateRule =>
  (hostname) =>
    isPrivateAllowed || (isOwnMachine && isLoopbackHost(hostname))
