import * as z from 'zod'
import { AppError, notFound } from '../../errors'
import type { Clock } from '../../ids'
import { checkUrl, toHost } from '../fetch/check-url'
import { deleteService, type ServiceRow, selectServices, upsertService } from './queries'

/** What stands for the credential in a service's headers. */
export const credentialMark = '{credential}'

const headerName = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'letters, digits and dashes')
const headerValue = z
  .string()
  .max(1_000)
  .regex(/^[\x20-\x7e]*$/, 'must be ASCII in one line')

/** Body of `PUT /api/v1/http-services/:name`. */
export const serviceInput = z.strictObject({
  base_url: z.string().max(2_000),
  /** Further hosts that the service redirects to. */
  hosts: z.array(z.string().max(260)).max(20).default([]),
  /** Name of the credential. */
  credential: z.string().max(100).nullish(),
  headers: z.record(headerName, headerValue).default({}),
  format: z.enum(['json', 'any']).default('json'),
  allow_http: z.boolean().default(false),
  allow_private: z.boolean().default(false),
})

interface ServiceDeps {
  d1: D1Database
  clock: Clock
  isPrivateAllowed: boolean
}

export type Services = ReturnType<typeof createServices>

/** The HTTP services that agents may use, declared by admins. */
export function createServices({ d1, clock, isPrivateAllowed }: ServiceDeps) {
  return {
    async list() {
      const { results } = await selectServices(d1).all<ServiceRow>()
      return results.map(describe)
    },
    async put(name: string, input: z.output<typeof serviceInput>, by: string): Promise<void> {
      const baseUrl = checkService(input, isPrivateAllowed)
      await upsertService(d1, {
        ...{
          name,
          baseUrl: baseUrl.href,
          format: input.format,
          credential: input.credential ?? null,
        },
        hosts: JSON.stringify([...new Set([toHost(baseUrl), ...input.hosts])]),
        headers: JSON.stringify(input.headers),
        ...{ allowHttp: Number(input.allow_http), allowPrivate: Number(input.allow_private) },
        ...{ updatedAt: clock.now(), updatedBy: by },
      }).run()
    },
    async remove(name: string): Promise<void> {
      const { meta } = await deleteService(d1, name).run()
      if (meta.changes === 0) throw notFound('service')
    },
  }
}

/** Everything is checked again for each request; here an admin learns of it. */
function checkService(input: z.output<typeof serviceInput>, isPrivateAllowed: boolean): URL {
  if (!URL.canParse(input.base_url)) throw wrong('base_url', 'must be a whole address')
  const url = new URL(input.base_url)
  if (input.allow_private && !isPrivateAllowed) {
    throw wrong('allow_private', 'needs the setting ROOKERY_ALLOW_PRIVATE_SERVICES=true')
  }
  const reach = { allowHttp: input.allow_http, allowPrivate: input.allow_private }
  const problem = checkUrl(url, { ...reach, hosts: [toHost(url)] })
  if (problem !== null) throw wrong('base_url', problem)
  if (url.search !== '' || url.hash !== '') throw wrong('base_url', 'must end with its path')
  checkHosts(input.hosts, reach)
  const hasMark = Object.values(input.headers).some((value) => value.includes(credentialMark))
  if (hasMark !== (typeof input.credential === 'string')) {
    throw wrong(
      'headers',
      `one of them holds ${credentialMark} when, and only when, there is a credential, e.g. "Authorization": "Bearer ${credentialMark}"`,
    )
  }
  return url
}

function checkHosts(hosts: string[], reach: { allowHttp: boolean; allowPrivate: boolean }): void {
  for (const host of hosts) {
    const address = `https://${host}/`
    const url = URL.canParse(address) ? new URL(address) : null
    if (url === null || toHost(url) !== host)
      throw wrong('hosts', `${host} is no host or host:port`)
    const problem = checkUrl(url, { ...reach, hosts: [host] })
    if (problem !== null) throw wrong('hosts', problem)
  }
}

const wrong = (field: string, message: string): AppError =>
  new AppError('VALIDATION', 'The service is not valid.', {
    details: [{ path: `body.${field}`, message }],
  })

const describe = (row: ServiceRow) => ({
  name: row.name,
  base_url: row.baseUrl,
  hosts: JSON.parse(row.hosts),
  headers: JSON.parse(row.headers),
  credential: row.credential,
  format: row.format,
  allow_http: row.allowHttp === 1,
  allow_private: row.allowPrivate === 1,
  updated_at: new Date(row.updatedAt).toISOString(),
  updated_by: row.updatedBy,
})
