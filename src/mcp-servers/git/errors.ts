import { AppError } from '../../shared/errors'

/** Errors of git over HTTP, as git prints them. */
export const gitErrors = {
  onlyOverGit: () =>
    new AppError('VALIDATION', 'Repositories are used with git, at /git of this hub.'),
  refused: (service: string, status: number, excerpt: string) => {
    const hint =
      status === 401 || status === 403
        ? `The credential of the service ${service} may lack access. An admin can check it on /credentials.`
        : status === 404
          ? 'Check the path. The credential may lack access to the repository.'
          : 'Try again later.'
    const quote = excerpt === '' ? '' : ` It answered: ${excerpt}`
    return new AppError('UNAVAILABLE', `The service ${service} answered ${status}.`, {
      hint: `${hint}${quote}`,
    })
  },
  notGit: (service: string) =>
    new AppError('UNAVAILABLE', `The service ${service} did not answer with git's protocol.`, {
      hint: 'Check its base URL on /services.',
    }),
  noStream: () => new AppError('UNAVAILABLE', 'Repositories need a credential of the hub.'),
}
