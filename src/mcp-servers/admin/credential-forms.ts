import type { ConversationApi, GrantApi, Sender } from '../../hub/contract/hub'
import { AppError, type ErrorCode, notFound } from '../../shared/errors'
import type {
  CredentialFormError,
  CredentialFormErrors,
  CredentialFormField,
} from '../contract/credential-forms'
import { credentialErrors } from '../credentials/errors'
import { FieldError } from '../credentials/field-error'
import { setCredential } from '../credentials/set-credential'
import type { Vault } from '../credentials/vault'
import type { ModelAdmin } from '../models/model-admin'
import { credentialInput, nameInput } from './admin-routes'
import { parse } from './create-admin-routes'
import { modelKeyInput } from './model-routes'
import { readForm } from './read-form'

interface FormDeps {
  vault: Vault
  modelAdmin: Pick<ModelAdmin, 'putKey'>
  hub: ConversationApi & Pick<GrantApi, 'recordAdminAction'>
  /** Reports unexpected errors to the operator. */
  reportFailure: (error: unknown) => void
}

type Field = (name: string) => string
interface FormHandler {
  /** The page that shows the result. */
  page: string
  /** Stores what a form contains and returns where on the page the result is. */
  handle: (deps: FormDeps, admin: Sender, field: Field) => Promise<string>
}

const page = '/credentials'

/** The handlers of the forms with a credential's value, by path. */
const handlers: Record<string, FormHandler> = {
  [page]: { page, handle: addCredential },
  [`${page}/rotate`]: { page, handle: rotateCredential },
  '/models/key': { page: '/models', handle: setModelKey },
}

/** The paths of the forms that contain a credential's value. */
export const credentialFormPaths = Object.keys(handlers)

/**
 * Creates the handler of `credentialFormPaths`. It is separate from the hub and its pages, so that no
 * credential passes through them. Each form is answered with a redirect to the page; after an error with
 * the field and its code, never with submitted text.
 *
 * @returns a function of the request and of its authentication: it returns the admin who sent the form
 *   and throws UNAUTHORIZED or FORBIDDEN
 */
export function createCredentialForms(
  deps: FormDeps,
): (request: Request, authenticate: () => Promise<Sender>) => Promise<Response> {
  return async (request, authenticate) => {
    const handler = handlers[new URL(request.url).pathname]
    const shownOn = handler?.page ?? page
    try {
      const admin = await authenticate()
      if (!handler) throw credentialErrors.unknownPath()
      const place = await handler.handle(deps, admin, await readForm(request))
      return redirect(shownOn, `#${place}`)
    } catch (error) {
      const { field, code } = toFormError(error)
      if (code === 'INTERNAL') deps.reportFailure(error)
      return redirect(shownOn, `?field=${field}&error=${code}`)
    }
  }
}

const redirect = (path: string, end: string): Response =>
  new Response(null, { status: 303, headers: { location: path + end } })

/** Sets the key of a model provider; one that exists is replaced. */
async function setModelKey({ modelAdmin }: FormDeps, admin: Sender, field: Field): Promise<string> {
  const provider = parse(nameInput, field('provider'), 'server')
  await modelAdmin.putKey(admin, provider, parse(modelKeyInput, field('value'), 'value'))
  return provider
}

/** Adds a credential; one of the same name is not replaced. */
async function addCredential(deps: FormDeps, admin: Sender, field: Field): Promise<string> {
  const name = parse(nameInput, field('name'), 'name')
  const isTaken = (await deps.vault.list()).some((each) => each.name === name)
  if (isTaken) throw credentialErrors.nameTaken()
  const given = {
    value: field('value'),
    server: field('server'),
    service: field('service'),
    agent: field('agent').trim() || null,
    community: field('community').trim() || null,
  }
  await setCredential(deps, admin, { ...parse(credentialInput, given, 'body'), name })
  return `credential-${name}`
}

/** Replaces the value of a credential; service, agent and community stay. */
async function rotateCredential(deps: FormDeps, admin: Sender, field: Field): Promise<string> {
  const found = (await deps.vault.list()).find(({ name }) => name === field('name'))
  if (!found) throw credentialErrors.fieldNotFound('name', notFound('credential'))
  const { name, server, service, agent, community } = found
  const given = { value: field('new_value'), server, service, agent, community }
  try {
    await setCredential(deps, admin, { ...parse(credentialInput, given, 'body'), name })
  } catch (error) {
    const at = toFormError(error)
    if (at.field !== 'value') throw error
    throw credentialErrors.newValue(at.code, error)
  }
  return `credential-${name}`
}

const formErrorCodes: Partial<Record<ErrorCode, CredentialFormErrors['form']>> = {
  UNAUTHORIZED: 'UNAUTHORIZED',
  FORBIDDEN: 'FORBIDDEN',
  // Accounts that may not write.
  ACCOUNT_DISABLED: 'FORBIDDEN',
  BANNED: 'FORBIDDEN',
  MUTED: 'FORBIDDEN',
  PENDING_CLAIM: 'FORBIDDEN',
  TOO_LARGE: 'TOO_LARGE',
}

/** Converts an error to the field that it is about and its code. */
function toFormError(error: unknown): CredentialFormError {
  if (error instanceof FieldError) return error.at
  if (!(error instanceof AppError)) return { field: 'form', code: 'INTERNAL' }
  const field = findField(error)
  if (field) return { field, code: 'INVALID' }
  return { field: 'form', code: formErrorCodes[error.code] ?? 'INTERNAL' }
}

type InputField = Exclude<CredentialFormField, 'form' | 'new_value'>
const inputFields: InputField[] = ['name', 'server', 'service', 'agent', 'community', 'value']

/** Returns the field of the first detail of a validation error. */
const findField = ({ details }: AppError): InputField | undefined => {
  const path = details?.[0]?.path.replace(/^body\./, '')
  return inputFields.find((field) => field === path)
}
