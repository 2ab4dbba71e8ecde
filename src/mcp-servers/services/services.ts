import * as z from 'zod'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { mapStatement, type Statement } from '../../shared/db/statement'
import { type ErrorDetail, notFound } from '../../shared/errors'
import type { Clock } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import type { ServiceSummary } from '../contract/tool-admin'
import { type PrivateRule, toHost } from '../fetch/check-url'
import {
  findServiceProblems,
  type ServiceDeclaration,
  type ServiceKind,
  type ServiceKinds,
  serviceErrors,
  toDestination,
} from './check-service'
import {
  deleteService,
  type ServiceRow,
  selectService,
  selectServices,
  upsertService,
} from './queries'

const headerName = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'Must be letters, digits and dashes')
const headerValue = z
  .string()
  .max(1_000)
  .regex(/^[\x20-\x7e]*$/, 'Must be one line of ASCII')

/** Body of `PUT /api/v1/services/:server/:name`. */
export const serviceInput = knownFields({
  base_url: z.string().max(2_000),
  /** Further hosts that the service redirects to. */
  hosts: z.array(z.string().max(260)).max(20).default([]),
  /** Name of the credential; absent: the only one of the service. */
  credential: z.string().max(100).nullish(),
  /** Absent: the built-in ones of the server. */
  headers: z.record(headerName, headerValue).optional(),
  format: z.enum(['json', 'any']).optional(),
  allow_http: z.boolean().default(false),
  allow_private: z.boolean().default(false),
})

type ServiceInput = z.output<typeof serviceInput>

interface ServiceDeps {
  db: Db
  clock: Clock
  kinds: ServiceKinds
  canReachPrivate: PrivateRule
  /**
   * Returns the writes that seal the credentials of a service to its destination.
   *
   * @throws VALIDATION when one was set for another destination
   */
  bindCredentials(binding: {
    server: string
    service: string
    /** Where they were sent so far; null: the service was not declared. */
    former: string | null
    destination: string
  }): Promise<Statement<void>[]>
}

export type Services = ReturnType<typeof createServices>

/** Creates the store of external services, declared by admins or built into their servers. */
export function createServices(deps: ServiceDeps) {
  const { db, clock, kinds, canReachPrivate, bindCredentials } = deps
  return {
    /** Returns declared and built-in services, of one server when `server` is set. */
    async list(server?: string): Promise<ServiceSummary[]> {
      const all = await run(db, this.select())
      return all.filter((each) => server === undefined || each.server === server)
    },
    /** Returns the statement of `list`, to send it in a batch with others. */
    select: (): Statement<ServiceSummary[]> =>
      mapStatement(selectServices(), (rows) =>
        describeAll(
          kinds,
          rows.filter((row) => kinds.has(row.server)),
        ),
      ),
    /** The servers that have services. */
    servers: [...kinds.keys()],
    /** Returns all problems of a declaration; none: `put` stores it. */
    findProblems: (server: string, name: string, input: ServiceInput): ErrorDetail[] =>
      findServiceProblems(
        addHeaders(kinds, server, name, input),
        findKind(kinds, server),
        canReachPrivate,
      ),
    /** Stores a declaration. @throws VALIDATION with all its problems */
    async put(server: string, name: string, input: ServiceInput, by: string): Promise<void> {
      const kind = findKind(kinds, server)
      const known = kind.builtIn(name)
      const problems = this.findProblems(server, name, input)
      if (problems.length > 0) throw serviceErrors.invalid(problems)
      const whole = addHeaders(kinds, server, name, input)
      const row = toRow(server, name, {
        baseUrl: new URL(input.base_url).href,
        hosts: input.hosts,
        headers: whole.headers,
        credential: input.credential ?? null,
        format: input.format ?? known?.format ?? 'json',
        allowHttp: input.allow_http,
        allowPrivate: input.allow_private,
      })
      const former = (await run(db, selectService(server, name)))?.baseUrl ?? known?.baseUrl
      const bound = await bindCredentials({
        server,
        service: name,
        destination: toDestination(row.baseUrl),
        former: former === undefined ? null : toDestination(former),
      })
      await batch(db, {
        service: upsertService({ ...row, updatedAt: clock.now(), updatedBy: by }),
        bound,
      })
    },
    async remove(server: string, name: string): Promise<void> {
      findKind(kinds, server)
      const isDeleted = await run(db, deleteService(server, name))
      if (!isDeleted) throw notFound('service')
    },
  }
}

/** Converts rows to services, and adds the built-in ones that no row overrides. */
function describeAll(kinds: ServiceKinds, rows: ServiceRow[]): ServiceSummary[] {
  const isDeclared = (row: ServiceRow) =>
    rows.some((each) => each.server === row.server && each.name === row.name)
  const known = listKnown(kinds).filter((row) => !isDeclared(row))
  return [
    ...rows.map((row) => describe(row, false)),
    ...known.map((row) => describe(row, true)),
  ].sort((a, b) => compare(a.server, b.server) || compare(a.name, b.name))
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
  throw serviceErrors.unknownServer([...kinds.keys()])
}

/** Adds the built-in headers to a declaration without any. */
const addHeaders = (kinds: ServiceKinds, server: string, name: string, input: ServiceInput) => ({
  ...input,
  headers: input.headers ?? findKind(kinds, server).builtIn(name)?.headers ?? {},
})

const describe = (row: ServiceRow, isBuiltIn: boolean): ServiceSummary => ({
  server: row.server,
  name: row.name,
  base_url: row.baseUrl,
  hosts: row.hosts,
  headers: row.headers,
  credential: row.credential,
  format: row.format,
  allow_http: row.allowHttp,
  allow_private: row.allowPrivate,
  /** Built into its server; an admin can override it. */
  is_built_in: isBuiltIn,
  updated_at: isBuiltIn ? null : new Date(row.updatedAt).toISOString(),
  updated_by: isBuiltIn ? null : row.updatedBy,
})

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
