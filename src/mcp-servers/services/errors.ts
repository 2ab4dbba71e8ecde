import { AppError, notFound } from '../../shared/errors'
import { capitalize } from '../../shared/format'

const invalid = (field: string, message: string): AppError =>
  new AppError('VALIDATION', 'The service is not valid.', {
    details: [{ path: `body.${field}`, message }],
  })

/** Errors of service declarations, as admins read them. */
export const serviceErrors = {
  unknownServer: (servers: string[]) =>
    notFound('server', `Servers with services: ${servers.join(', ')}.`),
  notUrl: () => invalid('base_url', 'Must be a complete URL'),
  wildcardHost: () => invalid('base_url', 'Must name one host'),
  queryInUrl: () => invalid('base_url', 'Must not have a query or a fragment'),
  baseUrl: (problem: string) => invalid('base_url', capitalize(problem)),
  privateNotAllowed: () =>
    invalid(
      'allow_private',
      'Private addresses are off on this hub. To allow them, start it with ROOKERY_ALLOW_PRIVATE_SERVICES=true',
    ),
  notHost: (host: string) => invalid('hosts', `${host} is not a host or host:port`),
  host: (problem: string) => invalid('hosts', capitalize(problem)),
  ownHeader: (name: string) => invalid('headers', `${name} is set by the hub`),
  secretHeader: (name: string, mark: string) =>
    invalid(
      'headers',
      `${name} can contain a secret. Write ${mark} in its place and set the secret as a credential`,
    ),
  noCredentialHeader: (mark: string) =>
    invalid(
      'headers',
      `Must contain ${mark}, because the service has a credential, such as "Authorization": "Bearer ${mark}"`,
    ),
}
