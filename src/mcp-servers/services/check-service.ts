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
    if (url === null || toHost(url) !== host)
      throw wrong('hosts', `${host} is no host or host:port`)
    const problem = checkUrl(url, { ...reach, hosts: [host] })
    if (problem !== null) throw wrong('hosts', problem)
  }
}
