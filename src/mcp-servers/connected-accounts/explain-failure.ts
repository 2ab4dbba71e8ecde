import { OAuthError } from '@modelcontextprotocol/sdk/server/auth/errors.js'
import { AppError } from '../../shared/errors'
import { connectErrors } from './errors'

/** The error codes of OAuth that say that a grant is worthless. */
const finalCodes = ['invalid_grant', 'invalid_client', 'unauthorized_client']

/** Whether a server refused tokens for good, so that the account has to be connected again. */
export const isFinal = (error: unknown): boolean =>
  error instanceof OAuthError && finalCodes.includes(error.errorCode)

/**
 * Converts a failure of an authorization server to an error for people. It keeps the server's code and
 * not its words, which can quote a code or a token.
 */
export function explainFailure(service: string, error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof OAuthError && error.errorCode !== 'server_error') {
    return connectErrors.refused(service, error.errorCode)
  }
  return connectErrors.failed(service)
}
