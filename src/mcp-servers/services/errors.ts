import { AppError, type ErrorDetail, notFound } from '../../shared/errors'
import { capitalize } from '../../shared/format'
import type { UrlProblem } from '../fetch/check-url'

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
