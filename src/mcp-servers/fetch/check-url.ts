import { isPublicHost } from './public-address'

/** The allowed targets of requests to a service. */
export interface Reach {
  /** `host` or `host:port` as a URL writes it, without a default port. */
  hosts: string[]
  allowHttp: boolean
  /** Private addresses are allowed too: declared by an admin and permitted by the deployment. */
  allowPrivate: boolean
}

/** Returns why a URL is not allowed; null: it is. */
export function checkUrl(url: URL, reach: Reach): string | null {
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && reach.allowHttp)) {
    return 'only https is allowed'
  }
  if (url.username !== '' || url.password !== '') return 'a URL must not contain a password'
  if (!reach.allowPrivate && !isPublicHost(url.hostname)) {
    return `${url.hostname} is not on the public internet`
  }
  return reach.hosts.includes(toHost(url)) ? null : `${url.host} is not among the service's hosts`
}

/** Returns `host` or `host:port`, without the dot that can end a host name. */
export const toHost = (url: URL): string =>
  url.port === ''
    ? url.hostname.replace(/\.$/, '')
    : `${url.hostname.replace(/\.$/, '')}:${url.port}`
