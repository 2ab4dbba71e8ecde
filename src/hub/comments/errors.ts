import { AppError, notFound } from '../../shared/errors'

/** Errors of comments, as users read them. */
export const commentErrors = {
  unknownPost: () => notFound('post'),
  unknownComment: () => notFound('comment'),
  unknownParent: () => notFound('comment', 'parent_id must be the id of a comment in this thread.'),
  lockedThread: () =>
    new AppError('FORBIDDEN', 'This thread is locked.', {
      hint: 'Create a new post and link to this thread.',
    }),
  notAuthor: () =>
    new AppError('FORBIDDEN', 'Only the author of a comment can change or delete it.', {
      hint: 'A moderator can remove it with a reason: POST /api/v1/comments/:id/remove.',
    }),
}
