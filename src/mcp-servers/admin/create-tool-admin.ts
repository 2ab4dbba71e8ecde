import type { GrantApi } from '../../hub/contract/hub'
import type { ErrorDetail } from '../../shared/errors'
import type { RemoteServerInput, ToolAdminApi } from '../contract/tool-admin'
import type { Vault } from '../credentials/vault'
import type { Remotes } from '../remote/remotes'
import { remoteErrors } from '../remote/transport'
import { type Services, serviceInput } from '../services/services'
import { recordAction, toServiceSettings } from './admin-route'
import { nameInput } from './admin-routes'
import { parse, toDetails } from './create-admin-routes'
import { instructionsInput, mappingInput, mapTools, newRemoteInput, toInput } from './remote-routes'

interface ToolAdminDeps {
  vault: Vault
  services: Services
  remotes: Remotes
  hub: Pick<GrantApi, 'recordAdminAction'>
}

/** Creates the API of credentials, services and remote servers for the pages about them. */
export const createToolAdmin = ({
  vault,
  services,
  remotes,
  hub,
}: ToolAdminDeps): ToolAdminApi => ({
  serviceServers: services.servers,
  selectCredentials: () => vault.select(),
  selectServices: () => services.select(),
  selectRemoteServers: () => remotes.selectServers(),
  selectRemoteToolCounts: () => remotes.selectCounts(),
  selectRemoteServer: (name) => remotes.selectServer(name),
  selectRemoteTools: (query) => remotes.selectPage(query),
  selectRemoteTool: (server, tool) => remotes.selectTool(server, tool),
  selectRemoteVersion: () => remotes.selectVersion(),

  async deleteCredential(admin, given) {
    const name = parse(nameInput, given, 'name')
    await recordAction(hub, admin, 'credential', 'delete', { name })
    await vault.remove(name)
  },

  async putService(admin, place, input) {
    const server = parse(nameInput, place.server, 'server')
    const name = parse(nameInput, place.name, 'name')
    const service = parse(serviceInput, input, 'body')
    const after = toServiceSettings(service)
    await recordAction(hub, admin, 'service', 'set', { name: `${server}/${name}`, after })
    await services.put(server, name, service, admin.name)
  },

  async deleteService(admin, { server, name }) {
    await recordAction(hub, admin, 'service', 'delete', { name: `${server}/${name}` })
    await services.remove(server, name)
  },

  async addRemoteServer(admin, given) {
    const problems = findRemoteProblems(remotes, given)
    if (problems.length > 0) throw remoteErrors.invalid(problems)
    const { name, ...input } = parse(newRemoteInput, given, 'body')
    const after = toServiceSettings(input)
    await recordAction(hub, admin, 'remote_server', 'set', { name, after })
    await remotes.put(name, toInput(input), admin)
  },

  async refreshRemoteServer(admin, name) {
    await recordAction(hub, admin, 'remote_server', 'refresh', { name })
    await remotes.refresh(name, admin)
  },

  async deleteRemoteServer(admin, name) {
    await recordAction(hub, admin, 'remote_server', 'delete', { name })
    await remotes.remove(name)
  },

  async acceptRemoteTools(admin, server, seen) {
    const after = { tools: seen }
    await recordAction(hub, admin, 'remote_server', 'accept', { name: server, after })
    await remotes.accept(server, seen, admin)
  },

  async setRemoteInstructions(admin, { server, ...given }) {
    const { text } = parse(instructionsInput, given, 'body')
    const after = { instructions: text }
    await recordAction(hub, admin, 'remote_server', 'instructions', { name: server, after })
    await remotes.setInstructions(server, text)
  },

  async mapRemoteTools(admin, { server, chosen, ...given }) {
    const mapping = parse(mappingInput, given, 'body')
    const seen = 'tools' in chosen ? chosen.tools : await remotes.match(server, chosen)
    await mapTools({ hub, remotes }, admin, server, seen, mapping)
  },
})

/** Finds all problems of a server, of its schema and of its rules together, so that a form shows them at once. */
function findRemoteProblems(remotes: Remotes, given: RemoteServerInput): ErrorDetail[] {
  const parsed = newRemoteInput.safeParse(given)
  const malformed = parsed.success ? [] : toDetails(parsed.error, 'body')
  const isMalformed = (field: string) => malformed.some(({ path }) => path.split('.')[1] === field)
  const { name, description: _, oauth_client_id: __, ...fields } = given
  const wellFormed = Object.entries(fields).filter(([field]) => !isMalformed(field))
  const service = serviceInput.safeParse(Object.fromEntries(wellFormed))
  const broken = remotes
    .findProblems(name, service.data ?? null)
    .filter(({ path }) => !isMalformed(path.split('.')[1] ?? ''))
  return [...malformed, ...broken]
}
