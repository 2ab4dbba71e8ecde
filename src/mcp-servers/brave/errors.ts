import { AppError, type ErrorCode } from '../../shared/errors'

/** Errors of the web search tools, as models read them. */
export const braveErrors = {
  unknownFormat: (cause: unknown) =>
    new AppError('UNAVAILABLE', 'Brave answered in an unknown format.', { cause }),
  /** @param reason Brave's own error code; empty when there is none */
  refused: (code: ErrorCode, reason: string, status: number, hint: string) =>
    new AppError(
      code,
      `Brave refused the request:${reason === '' ? '' : ` ${reason}`} (${status}).`,
      hint === '' ? {} : { hint },
    ),
  noSummary: () =>
    new AppError('NOT_FOUND', 'Brave has no summary for this question.', {
      hint: 'Use brave_search instead. Summaries also require a Brave plan that includes them.',
    }),
}
