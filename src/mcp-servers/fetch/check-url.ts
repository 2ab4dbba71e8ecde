import { isPublicHost } from './public-address'

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
