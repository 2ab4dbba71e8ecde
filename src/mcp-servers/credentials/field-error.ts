import { AppError, type ErrorCode } from '../../shared/errors'
import type { CredentialFormError } from '../contract/credential-forms'

/** An error of one field of a credential, with the code that its form shows. */
export class FieldError extends AppError {
  readonly at: CredentialFormError

  constructor(
    at: CredentialFormError,
    code: ErrorCode,
    message: string,
    options: ConstructorParameters<typeof AppError>[2] = {},
  ) {
    super(code, message, options)
    this.at = at
  }
}
