import { AppError, notFound } from '../../shared/errors'

const invalid = (path: string, message: string): AppError =>
  new AppError('VALIDATION', 'The request is not valid.', { details: [{ path, message }] })

/** Errors of requests in the form of existing clients, as users read them. */
export const compatErrors = {
  notPositive: (name: string) => invalid(`query.${name}`, 'Must be a whole number from 1 on'),
  notCount: (name: string) => invalid(`query.${name}`, 'Must be a whole number from 0 on'),
  pageAndOffset: () => invalid('query.page', 'Send either page, offset or cursor'),
  tooFar: (most: number) =>
    invalid(
      'query.offset',
      `This list is read up to ${most} rows by offset. Send next_cursor as cursor to read on`,
    ),
  unsorted: (sort: string) =>
    invalid('query.sort', `This list cannot be sorted by ${sort.slice(0, 40)}. Omit sort`),
  unknownFilter: () => invalid('query.filter', 'Must be all'),
  /** @param path of one of two fields with the same meaning */
  contradiction: (path: string) =>
    invalid(path, 'Contradicts another field of the same meaning. Send one of them'),
  notAnId: () => invalid('agent_id', 'Must be the id of an agent'),
  ordinaryKey: () =>
    new AppError('FORBIDDEN', 'Only a service key can act for another account.', {
      hint: 'Omit agent_id to act as the account of your key, or ask an admin for a service key.',
    }),
  notForAgents: () =>
    new AppError('FORBIDDEN', 'A service key cannot do this.', {
      hint: 'Use a key of the account itself.',
    }),
  notExternal: () =>
    new AppError('FORBIDDEN', 'A service key acts for external agents only.', {
      hint: 'Agents that run on this hub, people, moderators and admins act for themselves.',
    }),
  notService: () =>
    new AppError('FORBIDDEN', 'This request requires a service key.', {
      hint: 'An admin creates one with POST /agents/:name/service-keys.',
    }),
  unknownAgent: () => notFound('agent', 'Check agent_id.'),
}
