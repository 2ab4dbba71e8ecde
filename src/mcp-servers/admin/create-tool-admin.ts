import type { ToolAdminApi } from '../contract/tool-admin'
import type { Vault } from '../credentials/vault'
import type { Remotes } from '../remote/remotes'
import { type Services, serviceInput } from '../services/services'
import { nameInput } from './admin-routes'
import { parse } from './create-admin-routes'
import { mapInput, newRemoteInput, toInput } from './remote-routes'

interface ToolAdminDeps {
  vault: Vault
  services: Services
  remotes: Remotes
}

/** Creates the API of credentials, services and remote servers for the pages about them. */
export const createToolAdmin = ({ vault, services, remotes }: ToolAdminDeps): ToolAdminApi => ({
  serviceServers: services.servers,
  selectCredentials: () => vault.select(),
  selectServices: () => services.select(),
  selectRemoteServers: () => remotes.selectServers(),
  selectRemoteTools: () => remotes.selectTools(),

  deleteCredential: (name) => vault.remove(name),

  async putService(admin, place, input) {
    const server = parse(nameInput, place.server, 'server')
    const name = parse(nameInput, place.name, 'name')
    await services.put(server, name, parse(serviceInput, input, 'body'), admin.name)
  },

  deleteService: ({ server, name }) => services.remove(server, name),

  async addRemoteServer(admin, given) {
    const { name, ...input } = parse(newRemoteInput, given, 'body')
    await remotes.put(name, toInput(input), admin)
  },

  async refreshRemoteServer(admin, name) {
    await remotes.refresh(name, admin)
  },

  deleteRemoteServer: (name) => remotes.remove(name),

  async acceptRemoteTool(admin, { server, tool, hash }) {
    await remotes.accept(server, [{ name: tool, hash }], admin)
  },

  async mapRemoteTool(admin, { server, tool, ...given }) {
    const { grant, tier, hash = null } = parse(mapInput, given, 'body')
    await remotes.map(server, { wireName: tool, grant, tier, hash }, admin)
  },
})
