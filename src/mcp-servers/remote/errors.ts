import { remoteServers } from '../../shared/config'
import { AppError, type ErrorDetail } from '../../shared/errors'
import { connectPath, remoteServerPath, remoteToolPath } from '../../shared/paths'

const invalid = (field: string, message: string): AppError =>
  new AppError('VALIDATION', 'The grant is not valid.', {
    details: [{ path: `body.${field}`, message }],
  })

/** Problems of a server's name, as admins read them. */
export const nameProblems = {
  malformed: 'Must be 2 to 20 lower case letters and digits, starting with a letter',
  reserved: 'Must not be the name of a built-in server',
}

/** A server does not know a session any more, by which nothing has run. */
export class SessionEndedError extends AppError {
  constructor(server: string) {
    super('UNAVAILABLE', `The server ${server} ended its session.`)
  }
}

/** Errors of remote MCP servers, as models and admins read them. */
export const remoteErrors = {
  toolFailed: (tool: string, server: string, text: string) =>
    new AppError('VALIDATION', `The tool ${tool} of ${server} failed: ${text}`),
  toolChanged: (server: string, tool: string) =>
    new AppError(
      'CONFLICT',
      `The server ${server} changed ${tool} since an admin accepted it, so it did not run.`,
      { hint: `An admin reviews the change: ${remoteServerPath(server)}.` },
    ),
  responseTooLarge: (server: string) =>
    new AppError('TOO_LARGE', `The response of the server ${server} is too large.`, {
      hint: `The limit is ${remoteServers.answerBytesMax / 1024 / 1024} MiB. Request less at a time.`,
    }),
  /** The server refuses requests, and none was sent with a credential. */
  accountRequired: (server: string) =>
    new AppError('UNAVAILABLE', `The server ${server} requires an account.`, {
      hint: `An admin connects their own account at ${connectPath(server)} and refreshes the server, or sets a credential. Calls of agents use the account of the requester where the policy says "as requester".`,
    }),
  timedOut: (server: string) => new AppError('UNAVAILABLE', `The server ${server} timed out.`),
  noResponse: (server: string) =>
    new AppError('UNAVAILABLE', `The server ${server} ended its answer without a result.`),
  tooManyRequests: (server: string) =>
    new AppError('UNAVAILABLE', `The server ${server} sent too many requests during the call.`, {
      hint: `The limit is ${remoteServers.requestsOfServerMax}. It may not work with a client that grants it nothing.`,
    }),
  refused: (server: string, code: number, message: string) =>
    new AppError('VALIDATION', `The server ${server} refused the request (${code}): ${message}`),
  notMcp: (server: string, cause: unknown) =>
    new AppError('UNAVAILABLE', `The server ${server} does not answer as an MCP server.`, {
      hint: 'An admin checks that its URL is that of an MCP server over Streamable HTTP.',
      cause,
    }),
  invalid: (details: ErrorDetail[]) =>
    new AppError('VALIDATION', 'The remote server is not valid.', { details }),
  tooMany: (count: number) =>
    new AppError('CONFLICT', `This hub has ${count} remote servers, which is the limit.`),
  grantWithoutTier: () =>
    invalid('tier', 'Grant and tier must both be set, or both be null to hide the tool'),
  foreignGrant: (server: string) =>
    invalid('grant', `Must start with ${server}: and contain no *, such as ${server}:read`),
  instructionsOutdated: (server: string) =>
    new AppError('CONFLICT', `The instructions of ${server} changed after you read them.`, {
      hint: 'Refresh the server and review the new instructions.',
    }),
  reviewOutdated: (server: string, tool: string) =>
    new AppError('CONFLICT', `The description of ${server}_${tool} changed after you read it.`, {
      hint: `Review the new description at ${remoteToolPath(server, tool)}.`,
    }),
  nothingChosen: () =>
    new AppError('VALIDATION', 'No tool is chosen.', { hint: 'Choose at least one tool.' }),
  listOutdated: () =>
    new AppError('CONFLICT', 'The tools changed after you read the list.', {
      hint: 'Review the list as it is now, then choose again.',
    }),
}
