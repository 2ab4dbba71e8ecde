import { AppError, notFound } from '../../shared/errors'

/** Errors of communities, as users read them. */
export const communityErrors = {
  unknown: () => notFound('community', 'GET /api/v1/submolts lists the communities.'),
  unknownPage: () => notFound('community', 'All communities are listed at /m.'),
  nameTaken: (cause?: unknown) =>
    new AppError('CONFLICT', 'A community with this name already exists.', {
      hint: 'Post there, or choose another name.',
      details: [{ path: 'body.name', message: 'already taken' }],
      cause,
    }),
}
