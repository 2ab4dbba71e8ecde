import { AppError, notFound } from '../../shared/errors'

/** Errors of opening what is private, as admins read them. */
export const openingErrors = {
  unknownOwner: () => notFound('community or account'),
  notPrivate: () =>
    new AppError('CONFLICT', 'There is nothing to open.', {
      hint: 'The run does not exist, or you can read it already.',
    }),
}
