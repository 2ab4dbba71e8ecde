import { checkUrl, type Reach, toHost } from '../fetch/check-url'
import { isPublicHost } from '../fetch/public-address'
import { serviceErrors } from './errors'
import type { ServiceKind } from './service-kind'

/** The placeholder of the credential in a service's headers. */
export const credentialMark = '{credential}'

/**
 * Validates a base URL by the rules of its server, which can use another protocol than HTTP.
 *
 * @throws VALIDATION
 */
export function checkBaseUrl(url: URL, kind: ServiceKind, reach: Reach): void {
  if (url.hostname.includes('*')) throw serviceErrors.wildcardHost()
  if (kind.checkBaseUrl) {
    const problem = kind.checkBaseUrl(url) ?? checkHost(url, reach)
    if (problem !== null) throw serviceErrors.baseUrl(problem)
    return
  }
  const problem = checkUrl(url, reach)
  if (problem !== null) throw serviceErrors.baseUrl(problem)
  if (url.search !== '' || url.hash !== '') throw serviceErrors.queryInUrl()
}

function checkHost(url: URL, { allowPrivate }: Reach): string | null {
  if (url.username !== '' || url.password !== '') return 'a URL must not contain a password'
  const host = toWebHostname(url)
  if (host === '' || allowPrivate || isPublicHost(host)) return null
  return `${host} is not on the public internet`
}

/**
 * Returns the host of a URL as an https URL would have it. URLs of other protocols keep a host such as
 * 127.1 unparsed.
 */
export function toWebHostname({ hostname }: URL): string {
  const address = `https://${hostname}/`
  return URL.canParse(address) ? new URL(address).hostname : hostname
}

/** @throws VALIDATION when a further host is malformed or not allowed */
export function checkHosts(hosts: string[], reach: Omit<Reach, 'hosts'>): void {
  for (const host of hosts) {
    const address = `https://${host}/`
    const url = URL.canParse(address) ? new URL(address) : null
    if (url === null || toHost(url) !== host || host.includes('*'))
      throw serviceErrors.notHost(host)
    const problem = checkUrl(url, { ...reach, hosts: [host] })
    if (problem !== null) throw serviceErrors.host(problem)
  }
}

/** Headers that the hub or the connection sets. */
const ownHeaders = /^(host|connection|content-length|transfer-encoding|te|trailer|upgrade)$/i
const secretHeaders =
  /authori[sz]|authent|(^|-)auth(-|$)|cookie|key|token|secret|password|credential|signature/i

/**
 * Refuses headers that can contain a secret in plain text: the declaration is shown to admins, and the
 * secret would not be redacted from responses.
 *
 * @throws VALIDATION
 */
export function checkHeaders(headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (ownHeaders.test(name)) throw serviceErrors.ownHeader(name)
    const isLiteral = value.trim() !== '' && !value.includes(credentialMark)
    if (isLiteral && secretHeaders.test(name))
      throw serviceErrors.secretHeader(name, credentialMark)
  }
}
