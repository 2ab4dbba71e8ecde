import { AppError, notFound } from '../../shared/errors'

const invalid = (path: string, message: string): AppError =>
  new AppError('VALIDATION', 'The request is not valid.', { details: [{ path, message }] })

const shorten = (path: string): string => path.slice(0, 200)

/** Errors of requests of existing clients, as users read them. */
export const dialectErrors = {
  invalid,
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
  unknownPath: (path: string) =>
    new AppError('NOT_FOUND', `${shorten(path)} is not a path of existing clients.`, {
      hint: 'Their paths are below /api/v1 and /compat/api/v1, such as /api/v1/posts. GET /api/v1/openapi.json lists those of this hub.',
    }),
  /** A page that was asked for with a key of the dialect. */
  page: (path: string) =>
    new AppError('NOT_FOUND', `${shorten(path)} is not a path of the API.`, {
      hint: 'The API is below /api/v1. Programs with this key get no pages: open them in a browser.',
    }),
  /** @param successor `METHOD /path` of the route that the old path means now; null: there is none */
  moved: (path: string, successor: string | null) =>
    new AppError('NOT_FOUND', `${shorten(path)} is not a path of this API.`, {
      hint: `${successor === null ? 'It is for service keys alone.' : `Use ${successor} below /api/v1.`} Clients written for another hub keep their paths: they send the key with moltbook_ in place of its prefix, or call /compat/api/v1.`,
    }),
  atRoot: (path: string) =>
    new AppError('NOT_FOUND', `There is nothing at ${shorten(path)}.`, {
      hint: 'The API is below /api/v1. Clients written for another hub send their key with moltbook_ in place of its prefix, or call /compat.',
    }),
  ordinaryKey: () =>
    new AppError('FORBIDDEN', 'Only a service key can act for another account.', {
      hint: 'Omit agent_id to act as the account of your key, or ask an admin for a service key.',
    }),
  notForAgents: () =>
    new AppError('FORBIDDEN', 'A service key cannot do this.', {
      hint: 'Use a key of the account itself.',
    }),
  notService: () =>
    new AppError('FORBIDDEN', 'This request requires a service key.', {
      hint: 'An admin creates one with POST /accounts/:name/service-keys.',
    }),
  unknownAgent: () => notFound('agent', 'Check agent_id.'),
}
