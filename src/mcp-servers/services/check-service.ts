import { AppError, type ErrorDetail, notFound } from '../../shared/errors'
import { capitalize } from '../../shared/format'
import {
  findHostProblems,
  findUrlProblems,
  type PrivateRule,
  type Reach,
  toHost,
  type UrlProblem,
} from '../fetch/check-url'

/** An external service, declared by an admin or built into its server. */
export interface ServiceDeclaration {
  baseUrl: string
  /** Further allowed hosts, as `host` or `host:port`; that of the base URL is always allowed. */
  hosts?: string[]
  /** `{credential}` is replaced by the credential. */
  headers?: Record<string, string>
  /** Name of the credential that applies when neither agent nor community has its own. */
  credential?: string | null
  format?: 'json' | 'any'
  allowHttp?: boolean
  allowPrivate?: boolean
}

/** The defaults and checks of a server's services. */
export interface ServiceKind {
  /** The server name of its services and credentials; absent: its own name. */
  server?: string
  /** Returns the built-in declaration; null: an admin has to declare it. A row in `services` overrides it. */
  builtIn(service: string): ServiceDeclaration | null
  /** Returns further hosts of a built-in service that depend on the credential, such as those of a region. */
  hostsOf?(credential: string): string[]
  /** Returns the parts of a credential that are redacted as well. */
  secretParts?(credential: string): string[]
  /** Returns the problem with a credential, for an admin; null: it is valid. */
  checkCredential?(credential: string): string | null
  /** Returns the problem with a base URL, for an admin; null: it is valid. Absent: https, or http where allowed. */
  checkBaseUrl?(url: URL): string | null
  /** The credential is sent in a header, so a declaration with a credential must have one for it. */
  isSentInHeader?: boolean
}

/** Service kinds by the server name of their services. */
export type ServiceKinds = ReadonlyMap<string, ServiceKind>

export const toServiceKinds = (
  servers: readonly { name: string; services?: ServiceKind }[],
): Map<string, ServiceKind> =>
  new Map(
    servers.flatMap(({ name, services }) =>
      services ? [[services.server ?? name, services] as const] : [],
    ),
  )

/** The placeholder of the credential in a service's headers. */
export const credentialMark = '{credential}'

/** What a service's declaration says that can be wrong. */
interface CheckedService {
  base_url: string
  hosts: string[]
  headers: Record<string, string>
  credential?: string | null | undefined
  allow_http: boolean
  allow_private: boolean
}

/**
 * Finds all problems of a declaration, so that an admin sees them together and early. Each request is checked again.
 *
 * @param canReachPrivate whether this hub permits a private address
 */
export function findServiceProblems(
  input: CheckedService,
  kind: ServiceKind,
  canReachPrivate: PrivateRule,
): ErrorDetail[] {
  const { base_url, hosts, headers, credential } = input
  const reach = { allowHttp: input.allow_http, allowPrivate: input.allow_private }
  const url = URL.canParse(base_url) ? new URL(base_url) : null
  const isPrivateAllowed = canReachPrivate(url ? toWebHostname(url) : '')
  const explain = (problem: UrlProblem) => serviceProblems.notAllowed(problem, isPrivateAllowed)
  const needsMark =
    kind.isSentInHeader === true &&
    typeof credential === 'string' &&
    !Object.values(headers).some((value) => value.includes(credentialMark))
  const toDetails = (field: string, messages: string[]) =>
    [...new Set(messages)].map((message) => ({ path: `body.${field}`, message }))
  return [
    ...toDetails(
      'base_url',
      url ? findBaseUrlProblems(url, kind, reach, explain) : [serviceProblems.notUrl],
    ),
    ...toDetails(
      'allow_private',
      input.allow_private && !isPrivateAllowed ? [serviceProblems.privateNotAllowed] : [],
    ),
    ...toDetails(
      'hosts',
      hosts.flatMap((host) => findFurtherHostProblems(host, reach, explain)),
    ),
    ...toDetails('headers', [
      ...findHeaderProblems(headers),
      ...(needsMark ? [serviceProblems.noCredentialHeader(credentialMark)] : []),
    ]),
  ]
}

type Explain = (problem: UrlProblem) => string
type Allowed = Omit<Reach, 'hosts'>

/** Checks a base URL by the rules of its server, which can use another protocol than HTTP. */
function findBaseUrlProblems(
  url: URL,
  kind: ServiceKind,
  reach: Allowed,
  explain: Explain,
): string[] {
  if (url.hostname.includes('*')) return [serviceProblems.wildcardHost]
  if (kind.checkBaseUrl) {
    const problem = kind.checkBaseUrl(url)
    return [
      ...(problem === null ? [] : [serviceProblems.baseUrl(problem)]),
      ...findHostProblems(url, toWebHostname(url), reach).map(explain),
    ]
  }
  const hasMore = url.search !== '' || url.hash !== ''
  return [
    ...findUrlProblems(url, { ...reach, hosts: [toHost(url)] }).map(explain),
    ...(hasMore ? [serviceProblems.queryInUrl] : []),
  ]
}

/**
 * Returns the host of a URL as an https URL would have it. URLs of other protocols keep a host such as
 * 127.1 unparsed.
 */
export function toWebHostname({ hostname }: URL): string {
  const address = `https://${hostname}/`
  return URL.canParse(address) ? new URL(address).hostname : hostname
}

function findFurtherHostProblems(host: string, reach: Allowed, explain: Explain): string[] {
  const address = `https://${host}/`
  const url = URL.canParse(address) ? new URL(address) : null
  return url === null || toHost(url) !== host || host.includes('*')
    ? [serviceProblems.notHost(host)]
    : findUrlProblems(url, { ...reach, hosts: [host] }).map(explain)
}

/** Headers that the hub or the connection sets. */
const ownHeaders = /^(host|connection|content-length|transfer-encoding|te|trailer|upgrade)$/i
const secretHeaders =
  /authori[sz]|authent|(^|-)auth(-|$)|cookie|key|token|secret|password|credential|signature/i

/**
 * Finds headers that can contain a secret in plain text: the declaration is shown to admins, and the
 * secret would not be redacted from responses.
 */
const findHeaderProblems = (headers: Record<string, string>): string[] =>
  Object.entries(headers).flatMap(([name, value]) => {
    if (ownHeaders.test(name)) return [serviceProblems.ownHeader(name)]
    const isLiteral = value.trim() !== '' && !value.includes(credentialMark)
    return isLiteral && secretHeaders.test(name)
      ? [serviceProblems.secretHeader(name, credentialMark)]
      : []
  })

const privateVariable = 'ROOKERY_ALLOW_PRIVATE_SERVICES=true'

/** Settings that allow more than https to the public internet, as the pages label them. */
const allowingLabels = { allow_http: 'Allow plain http', allow_private: 'Allow private addresses' }

/** Errors of service declarations. */
export const serviceErrors = {
  unknownServer: (servers: string[]) =>
    notFound('server', `Servers with services: ${servers.join(', ')}.`),
  invalid: (details: ErrorDetail[]) =>
    new AppError('VALIDATION', 'The service is not valid.', { details }),
}

/** Problems of service declarations, as admins read them. */
export const serviceProblems = {
  notUrl: 'Must be a complete URL',
  wildcardHost: 'Must name one host',
  queryInUrl: 'Must not have a query or a fragment',
  privateNotAllowed: `Private addresses are off on this hub. To allow them, start it with ${privateVariable}`,
  baseUrl: (problem: string) => capitalize(problem),
  /** Names what would allow an address: a setting of the service, and one of the hub where that is off. */
  notAllowed: ({ reason, allowedBy }: UrlProblem, isPrivateAllowed: boolean) => {
    if (allowedBy === null) return capitalize(reason)
    const isOff = allowedBy === 'allow_private' && !isPrivateAllowed
    const first = isOff ? `start the hub with ${privateVariable} and ` : ''
    return `${capitalize(reason)}. To allow it, ${first}set ${allowedBy} ("${allowingLabels[allowedBy]}")`
  },
  notHost: (host: string) => `${host} is not a host or host:port`,
  ownHeader: (name: string) => `${name} is set by the hub`,
  secretHeader: (name: string, mark: string) =>
    `${name} can contain a secret. Write ${mark} in its place and set the secret as a credential`,
  noCredentialHeader: (mark: string) =>
    `Must contain ${mark}, because the service has a credential, such as "Authorization": "Bearer ${mark}"`,
}

/**
 * Returns where requests with a service's credential go: protocol, host and port of its base URL, with
 * the query, which can change how a connection is protected. Further hosts never receive a credential.
 */
export function toDestination(baseUrl: string): string {
  const url = new URL(baseUrl)
  const place = url.hostname === '' ? url.pathname : `//${toHost(url)}`
  return `${url.protocol}${place}${url.search}`
}
