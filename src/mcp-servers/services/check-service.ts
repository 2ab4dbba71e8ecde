import { AppError } from '../../errors'
import { checkUrl, type Reach, toHost } from '../fetch/check-url'
import { isPublicHost } from '../fetch/public-address'
import type { ServiceKind } from './service-kind'

/** What stands for the credential in a service's headers. */
export const credentialMark = '{credential}'

export const wrong = (field: string, message: string): AppError =>
  new AppError('VALIDATION', 'The service is not valid.', {
    details: [{ path: `body.${field}`, message }],
  })

/** As its server wants it, which may be no http at all. */
export function checkBaseUrl(url: URL, kind: ServiceKind, reach: Reach): void {
  if (url.hostname.includes('*')) throw wrong('base_url', 'must name one host')
  if (kind.checkBaseUrl) {
    const problem = kind.checkBaseUrl(url) ?? checkPlace(url, reach)
    if (problem !== null) throw wrong('base_url', problem)
    return
  }
  const problem = checkUrl(url, reach)
  if (problem !== null) throw wrong('base_url', problem)
  if (url.search !== '' || url.hash !== '') throw wrong('base_url', 'must end with its path')
}

function checkPlace(url: URL, { allowPrivate }: Reach): string | null {
  if (url.username !== '' || url.password !== '') return 'an address must not hold a password'
  const host = toWebHostname(url)
  if (host === '' || allowPrivate || isPublicHost(host)) return null
  return `${host} is not on the public internet`
}

/**
 * Only addresses of the web have their hosts parsed, so that 127.1 is known as what it is; others are
 * read as if they were.
 */
export function toWebHostname({ hostname }: URL): string {
  const address = `https://${hostname}/`
  return URL.canParse(address) ? new URL(address).hostname : hostname
}

export function checkHosts(hosts: string[], reach: Omit<Reach, 'hosts'>): void {
  for (const host of hosts) {
    const address = `https://${host}/`
    const url = URL.canParse(address) ? new URL(address) : null
    if (url === null || toHost(url) !== host || host.includes('*'))
      throw wrong('hosts', `${host} is no host or host:port`)
    const problem = checkUrl(url, { ...reach, hosts: [host] })
    if (problem !== null) throw wrong('hosts', problem)
  }
}

/** What the connection itself says. */
const ownHeaders = /^(host|connection|content-length|transfer-encoding|te|trailer|upgrade)$/i
const secretHeaders =
  /authori[sz]|authent|(^|-)auth(-|$)|cookie|key|token|secret|password|credential|signature/i

/** A secret among them would be shown to whoever reads the declaration, and never be taken out of answers. */
export function checkHeaders(headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (ownHeaders.test(name)) throw wrong('headers', `${name} is set by the hub itself`)
    const isLiteral = value.trim() !== '' && !value.includes(credentialMark)
    if (isLiteral && secretHeaders.test(name)) {
      throw wrong(
        'headers',
        `${name} may hold a secret, so write ${credentialMark} in its place and set it as a credential`,
      )
    }
  }
}
