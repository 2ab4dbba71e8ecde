import { isPublicHost } from './public-address'

/** Where requests to a service may go. */
export interface Reach {
  /** `host` or `host:port` as a URL writes it, without a default port. */
  hosts: string[]
  allowHttp: boolean
  /** Private addresses too: declared so by an admin and allowed by the deployment. */
  allowPrivate: boolean
}

/** Why a request must not go there; null lets it. */
export function checkUrl(url: URL, reach: Reach): string | null {
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && reach.allowHttp)) {
    return 'only https is allowed'
  }
  if (url.username !== '' || url.password !== '') return 'an address must not hold a password'
  if (!reach.allowPrivate && !isPublicHost(url.hostname)) {
    return `${url.hostname} is not on the public internet`
  }
  return reach.hosts.includes(toHost(url)) ? null : `${url.host} is not among the service's hosts`
}

/** A dot at the end names the same host. */
export const toHost = (url: URL): string =>
  url.port === ''
    ? url.hostname.replace(/\.$/, '')
    : `${url.hostname.replace(/\.$/, '')}:${url.port}`
