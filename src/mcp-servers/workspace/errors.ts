import { AppError } from '../../shared/errors'

/** Errors of the encoding of an agent's files, as models read them. */
export const encodingErrors = {
  notText: (path: string) =>
    new AppError('UNSUPPORTED_MEDIA', `${path} is not text.`, {
      hint: 'Read it with encoding base64.',
    }),
  notBase64: () => new AppError('VALIDATION', 'The content is not base64.'),
}
