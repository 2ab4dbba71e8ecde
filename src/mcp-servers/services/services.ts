import * as z from 'zod'
import { notFound } from '../../errors'
import type { Clock } from '../../ids'
import { type Reach, toHost } from '../fetch/check-url'
import { checkBaseUrl, checkHeaders, checkHosts, credentialMark, wrong } from './check-service'
import { deleteService, type ServiceRow, selectServices, upsertService } from './queries'
import type { ServiceKind, ServiceKinds } from './service-kind'
import { toRow } from './to-row'

const headerName = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'letters, digits and dashes')
const headerValue = z
  .string()
  .max(1_000)
  .regex(/^[\x20-\x7e]*$/, 'must be ASCII in one line')

/** Body of `PUT /api/v1/services/:server/:name`. */
export const serviceInput = z.strictObject({
  base_url: z.string().max(2_000),
  /** Further hosts that the service redirects to. */
  hosts: z.array(z.string().max(260)).max(20).default([]),
  /** Name of the credential; none: the only one there is for it. */
  credential: z.string().max(100).nullish(),
  /** Absent: those that the server knows. */
  headers: z.record(headerName, headerValue).optional(),
  format: z.enum(['json', 'any']).optional(),
  allow_http: z.boolean().default(false),
  allow_private: z.boolean().default(false),
})

type ServiceInput = z.output<typeof serviceInput>

interface ServiceDeps {
  d1: D1Database
  clock: Clock
  kinds: ServiceKinds
  isPrivateAllowed: boolean
}

export type Services = ReturnType<typeof createServices>

/** The services outside that agents may use, declared by admins or known to their servers. */
export function createServices({ d1, clock, kinds, isPrivateAllowed }: ServiceDeps) {
  return {
    /** With those that a server knows under its own name; `server` narrows it to one. */
    async list(server?: string) {
      return this.describe((await this.select().all<ServiceRow>()).results, server)
    },
    /** What `describe` reads, for who reads it together with other things. */
    select: () => selectServices(d1),
    /** The servers that have services. */
    servers: [...kinds.keys()],
    describe(rows: unknown[], server?: string) {
      const results = rows as ServiceRow[]
      const isDeclared = (row: ServiceRow) =>
        results.some((each) => each.server === row.server && each.name === row.name)
      const known = listKnown(kinds).filter((row) => !isDeclared(row))
      return [
        ...results.map((row) => describe(row, false)),
        ...known.map((row) => describe(row, true)),
      ]
        .filter((each) => server === undefined || each.server === server)
        .sort((a, b) => compare(a.server, b.server) || compare(a.name, b.name))
    },
    async put(server: string, name: string, input: ServiceInput, by: string): Promise<void> {
      const kind = findKind(kinds, server)
      const known = kind.builtIn(name)
      const whole = { ...input, headers: input.headers ?? known?.headers ?? {} }
      const baseUrl = checkService(whole, kind, isPrivateAllowed)
      await upsertService(d1, {
        ...toRow(server, name, {
          ...{ baseUrl: baseUrl.href, hosts: input.hosts, headers: whole.headers },
          ...{
            credential: input.credential ?? null,
            format: input.format ?? known?.format ?? 'json',
          },
          ...{ allowHttp: input.allow_http, allowPrivate: input.allow_private },
        }),
        ...{ updatedAt: clock.now(), updatedBy: by },
      }).run()
    },
    async remove(server: string, name: string): Promise<void> {
      const { meta } = await deleteService(d1, server, name).run()
      if (meta.changes === 0) throw notFound('service')
    },
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

const listKnown = (kinds: ServiceKinds): ServiceRow[] =>
  [...kinds].flatMap(([server, kind]) => {
    const known = kind.builtIn(server)
    return known ? [toRow(server, server, known)] : []
  })

function findKind(kinds: ServiceKinds, server: string): ServiceKind {
  const kind = kinds.get(server)
  if (kind) return kind
  throw notFound('server', `Those with services are ${[...kinds.keys()].join(', ')}.`)
}

/** Everything is checked again for each request; here an admin learns of it. */
function checkService(
  input: Omit<ServiceInput, 'headers'> & { headers: Record<string, string> },
  kind: ServiceKind,
  isPrivateAllowed: boolean,
): URL {
  if (!URL.canParse(input.base_url)) throw wrong('base_url', 'must be a whole address')
  const url = new URL(input.base_url)
  if (input.allow_private && !isPrivateAllowed) {
    throw wrong('allow_private', 'needs the setting ROOKERY_ALLOW_PRIVATE_SERVICES=true')
  }
  const reach: Omit<Reach, 'hosts'> = {
    ...{ allowHttp: input.allow_http, allowPrivate: input.allow_private },
  }
  checkBaseUrl(url, kind, { ...reach, hosts: [toHost(url)] })
  checkHosts(input.hosts, reach)
  checkHeaders(input.headers)
  const hasMark = Object.values(input.headers).some((value) => value.includes(credentialMark))
  if (kind.isSentInHeader === true && typeof input.credential === 'string' && !hasMark) {
    throw wrong(
      'headers',
      `one of them holds ${credentialMark}, as there is a credential, e.g. "Authorization": "Bearer ${credentialMark}"`,
    )
  }
  return url
}

const describe = (row: ServiceRow, isBuiltIn: boolean) => ({
  server: row.server,
  name: row.name,
  base_url: row.baseUrl,
  hosts: JSON.parse(row.hosts) as string[],
  headers: JSON.parse(row.headers) as Record<string, string>,
  credential: row.credential,
  format: row.format,
  allow_http: row.allowHttp === 1,
  allow_private: row.allowPrivate === 1,
  /** Known to its server; an admin may override it. */
  is_built_in: isBuiltIn,
  updated_at: isBuiltIn ? null : new Date(row.updatedAt).toISOString(),
  updated_by: isBuiltIn ? null : row.updatedBy,
})
