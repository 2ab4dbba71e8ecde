import { toHost } from '../fetch/check-url'

/**
 * Returns where requests with a service's credential go: protocol, host and port of its base URL, with
 * the query, which can change how a connection is protected. Further hosts never receive a credential.
 */
export function toDestination(baseUrl: string): string {
  const url = new URL(baseUrl)
  const place = url.hostname === '' ? url.pathname : `//${toHost(url)}`
  return `${url.protocol}${place}${url.search}`
}
