import { AppError } from '../../shared/errors'

/** Errors of the forms for credentials and services, as admins read them. */
export const formErrors = {
  credentialExists: (name: string) =>
    new AppError('CONFLICT', `A credential named ${name} already exists.`, {
      hint: 'Rotate it in the list, or choose another name.',
    }),
  tooLarge: () => new AppError('TOO_LARGE', 'The request is too large.'),
}
