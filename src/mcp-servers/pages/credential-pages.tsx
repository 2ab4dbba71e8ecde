import type {
  ConversationApi,
  ModulePage,
  PageParts,
  PageProblem,
  PageRequest,
} from '../../hub/contract/hub'
import { AppError, notFound } from '../../shared/errors'
import { credentialInput, nameInput } from '../credentials/admin-routes'
import { parse } from '../credentials/create-admin-routes'
import { setCredential } from '../credentials/set-credential'
import type { Vault } from '../credentials/vault'
import { type Services, serviceInput } from '../services/services'
import { credentialFields, type TypedCredential } from './credential-form'
import { CredentialsPage } from './credentials-page'
import { formErrors } from './errors'
import { readForm } from './read-form'
import { serviceFields, type TypedService, toServiceBody, toTyped } from './service-form'

interface CredentialPageDeps {
  vault: Vault
  services: Services
  hub: ConversationApi
  parts: PageParts
}

interface Shown {
  problem: PageProblem | null
  status: number
  credential: TypedCredential | null
  service: TypedService | null
  /** The form edits an existing service. */
  isChange: boolean
}

const emptyForms: Shown = {
  problem: null,
  status: 200,
  credential: null,
  service: null,
  isChange: false,
}

/** Creates the page `/credentials` and its forms. */
export function createCredentialPages(deps: CredentialPageDeps): ModulePage[] {
  const form = (path: string, answer: ModulePage['handle']): ModulePage => ({
    method: 'post',
    access: 'admin',
    path,
    handle: answer,
  })
  return [
    {
      method: 'get',
      access: 'admin',
      path: '/credentials',
      handle: (ask) => show(deps, ask, emptyForms),
    },
    form('/credentials', (ask) => addCredential(deps, ask)),
    form('/credentials/services', (ask) => declareService(deps, ask)),
    form('/credentials/services/delete', (ask) => removeService(deps, ask)),
    form('/credentials/rotate', (ask) => rotateCredential(deps, ask)),
    form('/credentials/delete', (ask) => removeCredential(deps, ask)),
  ]
}

async function show(deps: CredentialPageDeps, ask: PageRequest, shown: Shown): Promise<Response> {
  const { vault, services, parts } = deps
  const view = await ask.read({ credentials: vault.select(), services: services.select() })
  const lines = services.describe(view.answers.services)
  const { problem, status, credential } = shown
  const selected = new URL(ask.request.url).searchParams.get('change')
  const changed = lines.find(({ server, name }) => `${server}/${name}` === selected)
  const service = shown.service ?? (changed ? toTyped(changed) : null)
  const isChange = shown.isChange || (shown.service === null && changed !== undefined)
  return view.render({
    title: 'Credentials',
    tab: 'credentials',
    status,
    body: (
      <CredentialsPage
        parts={parts}
        now={view.now}
        credentials={await vault.describe(view.answers.credentials)}
        services={lines}
        servers={services.servers}
        problem={problem}
        typed={{ credential, service, isChange }}
      />
    ),
  })
}

/** Redirects after `work`; an error of the input is shown on the page, above the submitted form. */
async function orProblem(
  deps: CredentialPageDeps,
  ask: PageRequest,
  typed: Partial<Shown>,
  work: () => Promise<string>,
): Promise<Response> {
  try {
    return ask.redirect(await work())
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { status, message, hint } = deps.parts.toProblem(error)
    return show(deps, ask, { ...emptyForms, ...typed, status, problem: { message, hint } })
  }
}

async function addCredential(deps: CredentialPageDeps, ask: PageRequest): Promise<Response> {
  const field = await readForm(ask.request)
  const typed = pick(credentialFields, field)
  return orProblem(deps, ask, { credential: typed }, async () => {
    const name = parse(nameInput, typed.name, 'name')
    const isTaken = (await deps.vault.list()).some((each) => each.name === name)
    if (isTaken) throw formErrors.credentialExists(name)
    const given = {
      value: field('value'),
      server: typed.server,
      service: typed.service,
      agent: typed.agent.trim() || null,
      community: typed.community.trim() || null,
    }
    await setCredential(deps, ask.requireSender(), {
      ...parse(credentialInput, given, 'body'),
      name,
    })
    return `/credentials#credential-${name}`
  })
}

/** Replaces the value of a credential; service, agent and community stay. */
async function rotateCredential(deps: CredentialPageDeps, ask: PageRequest): Promise<Response> {
  const field = await readForm(ask.request)
  return orProblem(deps, ask, {}, async () => {
    const found = (await deps.vault.list()).find(({ name }) => name === field('name'))
    if (!found) throw notFound('credential')
    const { name, server, service, agent, community } = found
    const given = { value: field('value'), server, service, agent, community }
    await setCredential(deps, ask.requireSender(), {
      ...parse(credentialInput, given, 'body'),
      name,
    })
    return `/credentials#credential-${name}`
  })
}

async function removeCredential(deps: CredentialPageDeps, ask: PageRequest): Promise<Response> {
  const field = await readForm(ask.request)
  await deps.vault.remove(field('name'))
  return ask.redirect('/credentials')
}

async function declareService(deps: CredentialPageDeps, ask: PageRequest): Promise<Response> {
  const field = await readForm(ask.request)
  const typed = pick(serviceFields, field)
  const isChange = field('is_change') === 'yes'
  return orProblem(deps, ask, { service: typed, isChange }, async () => {
    const server = parse(nameInput, typed.server, 'server')
    const name = parse(nameInput, typed.name.trim(), 'name')
    const body = parse(serviceInput, toServiceBody(typed), 'body')
    await deps.services.put(server, name, body, ask.requireSender().name)
    return `/credentials#service-${server}-${name}`
  })
}

async function removeService(deps: CredentialPageDeps, ask: PageRequest): Promise<Response> {
  const field = await readForm(ask.request)
  await deps.services.remove(field('server'), field('name'))
  return ask.redirect('/credentials#services')
}

const pick = <Name extends string>(
  names: readonly Name[],
  field: (name: string) => string,
): Record<Name, string> =>
  Object.fromEntries(names.map((name) => [name, field(name)])) as Record<Name, string>
