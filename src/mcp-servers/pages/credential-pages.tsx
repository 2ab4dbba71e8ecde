import { AppError, notFound } from '../../errors'
import type {
  ConversationDoor,
  PageAsk,
  PageParts,
  PageProblem,
  RoomPage,
} from '../../hub/contract'
import { credentialInput, nameInput } from '../credentials/admin-routes'
import { parse } from '../credentials/create-admin-routes'
import { setCredential } from '../credentials/set-credential'
import type { Vault } from '../credentials/vault'
import { type Services, serviceInput } from '../services/services'
import { credentialFields, type TypedCredential } from './credential-form'
import { CredentialsPage } from './credentials-page'
import { readRoomForm } from './read-room-form'
import { serviceFields, type TypedService, toServiceBody, toTyped } from './service-form'

interface CredentialPageDeps {
  vault: Vault
  services: Services
  hub: ConversationDoor
  parts: PageParts
}

interface Shown {
  problem: PageProblem | null
  status: number
  credential: TypedCredential | null
  service: TypedService | null
  /** The service is there already. */
  isChange: boolean
}

const asItIs: Shown = {
  ...{ problem: null, status: 200, credential: null, service: null, isChange: false },
}

/** `/credentials` and its forms: the way of a person, beside the API of `adminRoutes`. */
export function createCredentialPages(deps: CredentialPageDeps): RoomPage[] {
  const form = (path: string, answer: RoomPage['answer']): RoomPage => ({
    ...{ method: 'post', access: 'admin', path, answer },
  })
  return [
    {
      ...{ method: 'get', access: 'admin', path: '/credentials' },
      answer: (ask) => show(deps, ask, asItIs),
    },
    form('/credentials', (ask) => addCredential(deps, ask)),
    form('/credentials/services', (ask) => declareService(deps, ask)),
    form('/credentials/services/delete', (ask) => removeService(deps, ask)),
    form('/credentials/rotate', (ask) => rotateCredential(deps, ask)),
    form('/credentials/delete', (ask) => removeCredential(deps, ask)),
  ]
}

async function show(deps: CredentialPageDeps, ask: PageAsk, shown: Shown): Promise<Response> {
  const { vault, services, parts } = deps
  const view = await ask.read([vault.select(), services.select()])
  const [credentials, declared] = view.results
  const lines = services.describe(declared?.results ?? [])
  const { problem, status, credential } = shown
  const asked = new URL(ask.request.url).searchParams.get('change')
  const changed = lines.find(({ server, name }) => `${server}/${name}` === asked)
  const service = shown.service ?? (changed ? toTyped(changed) : null)
  const isChange = shown.isChange || (shown.service === null && changed !== undefined)
  return view.show({
    ...{ title: 'Credentials', tab: 'credentials', status },
    body: (
      <CredentialsPage
        parts={parts}
        now={view.now}
        credentials={await vault.describe(credentials?.results ?? [])}
        services={lines}
        servers={services.servers}
        problem={problem}
        typed={{ credential, service, isChange }}
      />
    ),
  })
}

/** What an admin can put right is said on the page; the rest is a page of its own. */
async function orProblem(
  deps: CredentialPageDeps,
  ask: PageAsk,
  typed: Partial<Shown>,
  work: () => Promise<string>,
): Promise<Response> {
  try {
    return ask.goTo(await work())
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { status, message, hint } = deps.parts.toProblem(error)
    return show(deps, ask, { ...asItIs, ...typed, status, problem: { message, hint } })
  }
}

async function addCredential(deps: CredentialPageDeps, ask: PageAsk): Promise<Response> {
  const field = await readRoomForm(ask.request)
  const typed = pick(credentialFields, field)
  return orProblem(deps, ask, { credential: typed }, async () => {
    const name = parse(nameInput, typed.name, 'name')
    const isTaken = (await deps.vault.list()).some((each) => each.name === name)
    if (isTaken) {
      throw new AppError('CONFLICT', `There is a credential ${name} already.`, {
        hint: 'Rotate it in the list, or take another name.',
      })
    }
    const given = {
      ...{ value: field('value'), server: typed.server, service: typed.service },
      ...{ agent: typed.agent.trim() || null, community: typed.community.trim() || null },
    }
    await setCredential(deps, ask.sender(), { ...parse(credentialInput, given, 'body'), name })
    return `/credentials#credential-${name}`
  })
}

/** A new value for the same service, agent and community. */
async function rotateCredential(deps: CredentialPageDeps, ask: PageAsk): Promise<Response> {
  const field = await readRoomForm(ask.request)
  return orProblem(deps, ask, {}, async () => {
    const found = (await deps.vault.list()).find(({ name }) => name === field('name'))
    if (!found) throw notFound('credential')
    const { name, server, service, agent, community } = found
    const given = { value: field('value'), server, service, agent, community }
    await setCredential(deps, ask.sender(), { ...parse(credentialInput, given, 'body'), name })
    return `/credentials#credential-${name}`
  })
}

async function removeCredential(deps: CredentialPageDeps, ask: PageAsk): Promise<Response> {
  const field = await readRoomForm(ask.request)
  await deps.vault.remove(field('name'))
  return ask.goTo('/credentials')
}

async function declareService(deps: CredentialPageDeps, ask: PageAsk): Promise<Response> {
  const field = await readRoomForm(ask.request)
  const typed = pick(serviceFields, field)
  const isChange = field('is_change') === 'yes'
  return orProblem(deps, ask, { service: typed, isChange }, async () => {
    const server = parse(nameInput, typed.server, 'server')
    const name = parse(nameInput, typed.name.trim(), 'name')
    const body = parse(serviceInput, toServiceBody(typed), 'body')
    await deps.services.put(server, name, body, ask.sender().name)
    return `/credentials#service-${server}-${name}`
  })
}

async function removeService(deps: CredentialPageDeps, ask: PageAsk): Promise<Response> {
  const field = await readRoomForm(ask.request)
  await deps.services.remove(field('server'), field('name'))
  return ask.goTo('/credentials#services')
}

const pick = <Name extends string>(
  names: readonly Name[],
  field: (name: string) => string,
): Record<Name, string> =>
  Object.fromEntries(names.map((name) => [name, field(name)])) as Record<Name, string>
