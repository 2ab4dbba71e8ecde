import { toHost } from '../fetch/check-url'
import type { ServiceRow } from './queries'
import type { ServiceDeclaration } from './service-kind'

/** Converts a declaration to a row, so that built-in and declared services have the same form. */
export function toRow(server: string, name: string, declared: ServiceDeclaration): ServiceRow {
  const { baseUrl, hosts = [], headers = {}, credential = null, format = 'json' } = declared
  const own = toHost(new URL(baseUrl))
  return {
    server,
    name,
    baseUrl,
    credential,
    format,
    hosts: [...new Set([...(own === '' ? [] : [own]), ...hosts])],
    headers,
    allowHttp: declared.allowHttp ?? false,
    allowPrivate: declared.allowPrivate ?? false,
    updatedAt: 0,
    updatedBy: '',
  }
}
