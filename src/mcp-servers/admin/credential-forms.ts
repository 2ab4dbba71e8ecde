import type { ConversationApi, GrantApi, ModelTestApi, Sender } from '../../hub/contract/hub'
import { AppError, type ErrorCode, notFound } from '../../shared/errors'
import { hashArguments } from '../../shared/exact-json'
import type {
  CredentialFormError,
  CredentialFormErrors,
  CredentialFormField,
} from '../contract/credential-forms'
import { credentialErrors, FieldError } from '../credentials/errors'
import { setCredential, type Vault } from '../credentials/vault'
import type { ModelAdmin } from '../models/model-admin'
import { credentialInput, modelKeyInput, nameInput } from './admin-routes'
import { parse } from './create-admin-routes'

interface FormDeps {
  vault: Vault
  modelAdmin: Pick<ModelAdmin, 'putKey' | 'listModels'>
  modelTests: ModelTestApi
  hub: ConversationApi & Pick<GrantApi, 'recordAdminAction'>
  /** Reports unexpected errors to the operator. */
  reportFailure: (error: unknown) => void
}

type Field = (name: string) => string
interface FormHandler {
  /** The page that shows the result. */
  page: string
  /** Stores what a form contains and returns the end of the address at which the page shows the result. */
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
      return redirect(shownOn, place)
    } catch (error) {
      const { field, code } = toFormError(error)
      if (code === 'INTERNAL') deps.reportFailure(error)
      return redirect(shownOn, `?field=${field}&error=${code}`)
    }
  }
}

const redirect = (path: string, end: string): Response =>
  new Response(null, { status: 303, headers: { location: path + end } })

/**
 * Sets the key of a model provider, and tests it; one that exists is replaced. The key stays when the test fails. The
 * result has a key of its own for each form and value, so that a form that is sent twice pays once.
 */
async function setModelKey(deps: FormDeps, admin: Sender, field: Field): Promise<string> {
  const { modelAdmin, modelTests } = deps
  const provider = parse(nameInput, field('provider'), 'provider')
  const value = parse(modelKeyInput, field('value'), 'value')
  await modelAdmin.putKey(admin, provider, value)
  await modelAdmin.listModels(admin, provider).catch((error) => {
    // the test says what is wrong; some providers have no list
    if (!(error instanceof AppError)) throw error
  })
  const form = field('idempotency_key') || crypto.randomUUID()
  const key = await hashArguments('', { form, provider, value })
  const isTested = await modelTests.testProvider(admin, provider, key)
  return `?open=${provider}${isTested ? `&tested=${key}` : ''}#${provider}`
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
  return `#credential-${name}`
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
  return `#credential-${name}`
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
const inputFields: InputField[] = [
  ...(['name', 'server', 'service', 'provider', 'agent', 'community', 'value'] as const),
]

/** Returns the field of the first detail of a validation error. */
const findField = ({ details }: AppError): InputField | undefined => {
  const path = details?.[0]?.path.replace(/^body\./, '')
  return inputFields.find((field) => field === path)
}

/**
 * Reads a submitted form.
 *
 * @returns a function from a field's name to its value; '' for a missing field or a file
 */
async function readForm(request: Request): Promise<(name: string) => string> {
  const form = await request.formData().catch(() => new FormData())
  return (name) => {
    const value = form.get(name)
    return typeof value === 'string' ? value.replaceAll('\r\n', '\n') : ''
  }
}
