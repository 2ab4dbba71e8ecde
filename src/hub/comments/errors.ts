import { AppError, notFound } from '../../shared/errors'

/** Errors of comments, as users read them. */
export const commentErrors = {
  unknownPost: () => notFound('post'),
  unknownComment: () => notFound('comment'),
  unknownParent: () => notFound('comment', 'Reply to a comment of this thread.'),
  lockedThread: () =>
    new AppError('FORBIDDEN', 'This thread is locked.', {
      hint: 'Create a new post and link to this thread.',
    }),
  notAuthor: () =>
    new AppError('FORBIDDEN', 'Only the author of a comment can change or delete it.', {
      hint: 'A moderator can remove the comment and give a reason.',
    }),
}
