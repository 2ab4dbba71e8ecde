import { outside } from '../../shared/config'
import { AppError, type ErrorCode, type ErrorDetail, notFound } from '../../shared/errors'
import type { CredentialFormError, CredentialFormErrors } from '../contract/credential-forms'

const resealHint =
  'An admin adds the key that encrypted the credential to ROOKERY_VAULT_OLD_KEYS, or adds the credential again.'

/** An error of the value of a credential. */
const value = (code: CredentialFormErrors['value']) => ({ field: 'value', code }) as const

/** Errors of credentials and of the admin API around them, as users read them. */
export const credentialErrors = {
  noVaultKey: () =>
    new FieldError(
      value('NO_VAULT_KEY'),
      'UNAVAILABLE',
      'This hub has no vault key, so it cannot store credentials.',
      {
        hint: 'Create a key with `openssl rand -base64 32`, set it as the secret ROOKERY_VAULT_KEY, and keep a copy.',
      },
    ),
  unknownVaultKey: (keyId: string) =>
    new AppError('UNAVAILABLE', `The vault has no key ${keyId}.`, { hint: resealHint }),
  notDecryptable: (cause: unknown) =>
    new AppError(
      'UNAVAILABLE',
      'A credential cannot be decrypted: it was changed in the database.',
      { hint: resealHint, cause },
    ),
  /** @param from where the credential was set for */
  sealedElsewhere: (name: string, from: string, to: string) =>
    new AppError(
      'UNAVAILABLE',
      `The credential ${name} was set for ${from}, but its service now uses ${to}.`,
      { hint: 'An admin can delete the credential and add it again at /credentials.' },
    ),
  /** @param from where the credential was set for */
  destinationChanged: (name: string, from: string, to: string) =>
    new AppError(
      'VALIDATION',
      `The credential ${name} was set for ${from}. To send it to ${to}, its value has to be entered again.`,
      {
        hint: 'Delete the credential, change the service, then add the credential again.',
        details: [
          {
            path: 'body.base_url',
            message: `Delete the credential ${name}, change the base URL, then add the credential again`,
          },
        ],
      },
    ),
  /** The policy asks for a requester's account, which only remote MCP servers have. */
  noOwnAccounts: (service: string) =>
    new AppError('UNAVAILABLE', `Nobody can connect an account at ${service}.`, {
      hint: 'Accounts of requesters are for remote MCP servers. An admin can change the line of the policy that says "as requester".',
    }),
  undeclaredService: () => notFound('service', 'An admin can add the service at /credentials.'),
  noCredential: (service: string, credential: string | null) => {
    const missing = credential === null ? '' : ` ${credential}`
    return new AppError(
      'UNAVAILABLE',
      `The service ${service} has no credential${missing} on this hub.`,
      { hint: 'An admin can add a credential at /credentials.' },
    )
  },
  variablePrefix: (prefix: string) =>
    new FieldError(
      value('VARIABLE_PREFIX'),
      'VALIDATION',
      `The secret's name must start with ${prefix}.`,
      { hint: 'Other secrets of the Worker are for the hub itself.' },
    ),
  noVariable: (name: string) =>
    new FieldError(value('NO_VARIABLE'), 'UNAVAILABLE', `The Worker has no secret ${name}.`, {
      hint: `Set it with \`npx wrangler secret put ${name}\`, or in the environment of \`npm start\`.`,
    }),
  serverWithoutCredentials: (server: string, servers: string[]) =>
    new FieldError(
      { field: 'server', code: 'NO_CREDENTIALS' },
      'VALIDATION',
      `The server ${server} uses no credentials.`,
      { hint: `Servers with credentials: ${servers.join(', ')}.` },
    ),
  invalid: (problem: string) => new FieldError(value('FORMAT'), 'VALIDATION', problem),
  tooShort: (charsMin: number) =>
    new FieldError(
      value('TOO_SHORT'),
      'VALIDATION',
      `A credential has at least ${charsMin} characters.`,
      {
        hint: 'A shorter credential cannot be distinguished from other text, so it cannot be redacted from results.',
      },
    ),
  notAscii: () =>
    new FieldError(
      value('NOT_ASCII'),
      'VALIDATION',
      `A credential is at most ${outside.credentialCharsMax} characters of ASCII.`,
    ),
  nameTaken: () =>
    new FieldError({ field: 'name', code: 'TAKEN' }, 'CONFLICT', 'The credential already exists.'),
  /** The credential, agent or community that a field names does not exist. */
  fieldNotFound: (field: 'name' | 'agent' | 'community', { message, hint }: AppError) =>
    new FieldError({ field, code: 'NOT_FOUND' }, 'NOT_FOUND', message, { ...(hint && { hint }) }),
  /** An error of the value that replaces that of an existing credential. */
  newValue: (code: CredentialFormErrors['new_value'], cause: unknown) =>
    new FieldError({ field: 'new_value', code }, 'VALIDATION', 'The new value is not valid.', {
      cause,
    }),
  unknownPath: () => notFound('path'),
  bodyTooLarge: () => new AppError('TOO_LARGE', 'The request is too large.'),
  notJson: () => new AppError('VALIDATION', 'The body is not valid JSON.'),
  invalidRequest: (details: ErrorDetail[]) =>
    new AppError('VALIDATION', 'The request is not valid.', { details }),
  internal: () => new AppError('INTERNAL', 'An internal error occurred.', { hint: 'Try again.' }),
}

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
