import { AppError, type ErrorCode } from '../../shared/errors'

/** Errors of the AWS tools, as models read them. */
export const awsErrors = {
  noCredential: () =>
    new AppError('UNAVAILABLE', 'The service aws has no credential on this hub.', {
      hint: 'An admin can add a credential for the server and service aws at /credentials.',
    }),
  refused: (code: ErrorCode, service: string, awsCode: string, status: number, hint: string) =>
    new AppError(code, `AWS ${service} refused the request: ${awsCode} (${status}).`, { hint }),
  functionFailed: (name: string, failure: string, output: string) =>
    new AppError('UNAVAILABLE', `The function ${name} failed (${failure}).`, {
      hint: `Output: ${output}`,
    }),
  notBucketList: () =>
    new AppError('UNAVAILABLE', 'The response is not a list of objects.', {
      hint: 'An admin checks the base URL of the service aws.',
    }),
  notParameter: (cause: unknown) =>
    new AppError('UNAVAILABLE', 'The response is not a parameter.', { cause }),
}
