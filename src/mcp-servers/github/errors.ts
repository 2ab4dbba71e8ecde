import { AppError, type ErrorCode, type ErrorDetail } from '../../shared/errors'

/** Errors of the GitHub tools, as models read them. */
export const githubErrors = {
  rateLimited: (status: number, hint: string) =>
    new AppError('UNAVAILABLE', `The rate limit of GitHub is reached (${status}).`, { hint }),
  /** @param words GitHub's own message, with a space before it; empty when there is none */
  refused: (
    { code, text, hint }: { code: ErrorCode; text: string; hint?: string },
    status: number,
    words: string,
    details: ErrorDetail[],
  ) =>
    new AppError(code, `${text} (${status}).${words}`, {
      ...(hint !== undefined && { hint }),
      ...(details.length > 0 && { details }),
    }),
  responseTooLarge: () =>
    new AppError('TOO_LARGE', 'The response of GitHub is too large to read.', {
      hint: 'Request less at a time: a smaller per_page, or a single item by its number.',
    }),
  /** @param field path of the first unexpected field; null: the whole response */
  unknownFormat: (field: string | null, cause: unknown) =>
    new AppError(
      'UNAVAILABLE',
      `GitHub answered in an unknown format${field === null ? '' : ` at ${field}`}.`,
      {
        hint: 'An admin checks the base URL of the service github. The action may still have completed.',
        cause,
      },
    ),
  fileTooLarge: (bytes: number) =>
    new AppError('TOO_LARGE', `The file has ${bytes} bytes, which is too large to read here.`),
}
