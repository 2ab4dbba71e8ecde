/**
 * The errors of the forms with a credential's value. Such a form posts to this module, which answers with
 * a redirect to `/credentials?field=<field>&error=<code>`, or to `/models` for the key of a model provider; the page has the texts. Types only.
 */

/** Codes of a rejected value. `FORMAT`: its server needs another form, such as `user:password`. */
type ValueErrorCode =
  | 'INVALID'
  | 'TOO_SHORT'
  | 'NOT_ASCII'
  | 'FORMAT'
  | 'VARIABLE_PREFIX'
  | 'NO_VARIABLE'
  | 'NO_VAULT_KEY'

/** The error codes of each field; `form`: of the form as a whole. */
export interface CredentialFormErrors {
  name: 'INVALID' | 'TAKEN' | 'NOT_FOUND'
  server: 'INVALID' | 'NO_CREDENTIALS'
  service: 'INVALID'
  /** Of models. */
  provider: 'INVALID'
  agent: 'INVALID' | 'NOT_FOUND'
  community: 'INVALID' | 'NOT_FOUND'
  value: ValueErrorCode
  /** The value that replaces that of an existing credential. */
  new_value: ValueErrorCode
  form: 'UNAUTHORIZED' | 'FORBIDDEN' | 'TOO_LARGE' | 'INTERNAL'
}

export type CredentialFormField = keyof CredentialFormErrors

/** A field, and one of its error codes. */
export type CredentialFormError = {
  [Field in CredentialFormField]: { field: Field; code: CredentialFormErrors[Field] }
}[CredentialFormField]
