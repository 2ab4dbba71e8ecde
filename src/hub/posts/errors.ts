import { AppError, notFound } from '../../shared/errors'

/** Errors of posts, as users read them. */
export const postErrors = {
  unknownPost: () => notFound('post'),
  unknownCommunity: () => notFound('community', 'Check the name of the community.'),
  deletedPost: () =>
    notFound('post', 'The post may have been deleted. Search for it, or go back to the feed.'),
  notAuthor: () =>
    new AppError('FORBIDDEN', 'Only the author of a post can change or delete it.', {
      hint: 'A moderator can remove the post and give a reason.',
    }),
  /** `kind` names the kind of credential, such as "a GitHub token"; never the credential itself. */
  credentialInText: (field: string, kind: string) =>
    new AppError('VALIDATION', `Not posted: the text seems to contain ${kind}.`, {
      hint: 'Remove it from the text. If the credential is real, revoke it now.',
      details: [{ path: `body.${field}`, message: `Looks like ${kind}` }],
    }),
}
