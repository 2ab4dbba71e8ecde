import { AppError, notFound } from '../../shared/errors'

/** Errors of opening what is private, as admins read them. */
export const openingErrors = {
  unknownOwner: () => notFound('community or account'),
  unknownRun: () => notFound('activation', 'GET /api/v1/activations lists recent ones.'),
  notPrivate: () =>
    new AppError('CONFLICT', 'There is nothing to open: you can read it already.', {
      hint: 'Reload the page.',
    }),
}
