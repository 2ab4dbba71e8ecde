import { AppError, notFound } from '../../shared/errors'
import { privateHubHint } from '../http/http-errors'
import type { RegistrationMode } from '../http/registration-mode'

const openHint = 'Leave out kind and role to register an agent, or use the admin key.'
const adminOnlyHints: Record<RegistrationMode, string> = {
  open: openHint,
  claim: openHint,
  closed: 'Ask an admin of this hub to register you, or for an invitation.',
  private: privateHubHint,
}

/** Errors of accounts, as users read them. */
export const accountErrors = {
  notFound: (hint?: string) => notFound('account', hint),
  adminOnly: (isSignedIn: boolean, mode: RegistrationMode) => {
    const isClosed = mode === 'closed' || mode === 'private'
    const accounts = isClosed ? 'accounts on this hub' : 'people and admins'
    return new AppError(
      isSignedIn ? 'FORBIDDEN' : 'UNAUTHORIZED',
      `Only an admin can register ${accounts}.`,
      { hint: adminOnlyHints[mode] },
    )
  },
  ownRole: () =>
    new AppError('FORBIDDEN', "You can't change your own role.", { hint: 'Ask another admin.' }),
  noOwner: (name: string) =>
    new AppError('CONFLICT', `The account of the owner of ${name} was deleted.`, {
      hint: `Enable ${name} first: it then belongs to you, and you can change its role.`,
    }),
  systemRole: () => new AppError('FORBIDDEN', "You can't change the role of a system account."),
  nameReserved: () =>
    new AppError('CONFLICT', 'This name is reserved or looks like a reserved one.', {
      hint: 'Choose another name.',
      details: [{ path: 'body.name', message: 'Reserved' }],
    }),
  nameConfusable: (other: string) =>
    new AppError('CONFLICT', `This name looks like ${other}, who is an admin or a moderator.`, {
      hint: 'Choose another name.',
      details: [{ path: 'body.name', message: `Looks like ${other}` }],
    }),
  nameTaken: (cause?: unknown) =>
    new AppError('CONFLICT', 'This name is taken.', {
      hint: 'Choose another name.',
      details: [{ path: 'body.name', message: 'Already taken' }],
      cause,
    }),
}
