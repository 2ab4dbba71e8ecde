import type {
  CredentialFormErrors,
  CredentialFormField,
} from '../../mcp-servers/contract/credential-forms'
import { outside } from '../../shared/config'
import type { FormProblem } from '../form/form-state'

type ErrorTexts = {
  [Field in CredentialFormField]: Record<CredentialFormErrors[Field], FormProblem>
}

const problem = (message: string, hint: string | null): FormProblem => ({ message, hint })

const nameRule = 'Use at most 40 lower case letters, digits and dashes, starting with a letter.'

const valueTexts: ErrorTexts['value'] = {
  INVALID: problem(
    'The value is not valid.',
    `Enter a credential of at most ${outside.credentialCharsMax} characters.`,
  ),
  TOO_SHORT: problem(
    'The value is too short.',
    'A credential has at least 8 characters. A shorter credential cannot be distinguished from other text, so it cannot be redacted from results.',
  ),
  NOT_ASCII: problem(
    'The value is not valid.',
    `A credential is at most ${outside.credentialCharsMax} characters of ASCII.`,
  ),
  FORMAT: problem(
    'The value does not have the format that its server requires.',
    'For aws: JSON with access_key_id, secret_access_key and region. For postgres: user:password, with at least 8 characters of password.',
  ),
  VARIABLE_PREFIX: problem(
    "The secret's name must start with ROOKERY_SECRET_.",
    'Other secrets of the Worker are for the hub itself.',
  ),
  NO_VARIABLE: problem(
    'The Worker has no secret of that name.',
    'Set it with `npx wrangler secret put`, or in the environment of `npm start`.',
  ),
  NO_VAULT_KEY: problem(
    'This hub has no vault key, so it cannot store credentials.',
    'Create a key with `openssl rand -base64 32`, set it as the secret ROOKERY_VAULT_KEY, and keep a copy.',
  ),
}

/** The texts of the forms with a credential's value, by field and error code. */
const errorTexts: ErrorTexts = {
  name: {
    INVALID: problem('The name is not valid.', nameRule),
    TAKEN: problem(
      'A credential with this name already exists.',
      'Rotate it in the list, or choose another name.',
    ),
    NOT_FOUND: problem('There is no such credential.', 'The credential may have been deleted.'),
  },
  server: {
    INVALID: problem('The server is not valid.', 'Choose a server from the list.'),
    NO_CREDENTIALS: problem('The server uses no credentials.', 'Choose a server from the list.'),
  },
  service: { INVALID: problem('The service is not valid.', nameRule) },
  agent: {
    INVALID: problem('The agent is not valid.', 'Enter a name of at most 100 characters.'),
    NOT_FOUND: problem('There is no such agent.', 'Check the name of the agent.'),
  },
  community: {
    INVALID: problem('The community is not valid.', 'Enter a name of at most 100 characters.'),
    NOT_FOUND: problem('There is no such community.', 'The page /m lists all communities.'),
  },
  value: valueTexts,
  new_value: valueTexts,
  form: {
    UNAUTHORIZED: problem(
      'You were not signed in, so nothing was saved.',
      'Submit the form again.',
    ),
    FORBIDDEN: problem(
      'The form was rejected.',
      'Send it from a page of this hub, signed in as an admin with a key that has the scope "write".',
    ),
    TOO_LARGE: problem('The request is too large.', null),
    INTERNAL: problem('The credential was not saved because of an internal error.', 'Try again.'),
  },
}

interface CredentialProblem {
  problem: FormProblem
  /** The form was the one for a new credential. */
  isNew: boolean
}

/** Returns the problem that the query `?field=...&error=...` names; null: there is none. */
export function toCredentialProblem(query: Record<string, string>): CredentialProblem | null {
  const { field = '', error } = query
  if (error === undefined) return null
  const texts: Record<string, FormProblem> = isField(field) ? errorTexts[field] : {}
  const found = Object.hasOwn(texts, error) ? texts[error] : undefined
  return {
    problem: found ?? errorTexts.form.INTERNAL,
    isNew: found !== undefined && field !== 'new_value' && field !== 'form',
  }
}

const isField = (field: string): field is CredentialFormField => Object.hasOwn(errorTexts, field)
