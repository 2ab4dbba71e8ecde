import type { ErrorDetail } from '../../shared/errors'
import {
  findHostProblems,
  findUrlProblems,
  type Reach,
  toHost,
  type UrlProblem,
} from '../fetch/check-url'
import { serviceProblems } from './errors'
import type { ServiceKind } from './service-kind'

/** The placeholder of the credential in a service's headers. */
export const credentialMark = '{credential}'

/** What a service's declaration says that can be wrong. */
export interface CheckedService {
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
 * @param isPrivateAllowed whether this deployment permits private addresses
 */
export function findServiceProblems(
  input: CheckedService,
  kind: ServiceKind,
  isPrivateAllowed: boolean,
): ErrorDetail[] {
  const { base_url, hosts, headers, credential } = input
  const reach = { allowHttp: input.allow_http, allowPrivate: input.allow_private }
  const explain = (problem: UrlProblem) => serviceProblems.notAllowed(problem, isPrivateAllowed)
  const url = URL.canParse(base_url) ? new URL(base_url) : null
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
