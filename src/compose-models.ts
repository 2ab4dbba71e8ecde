import { listModelAddresses } from './agents/models/list-providers'
import { createVault } from './mcp-servers/credentials/vault'
import { createModelAccess } from './mcp-servers/models/model-access'
import { createModelAdmin } from './mcp-servers/models/model-admin'
import { createModelKind } from './mcp-servers/models/model-kind'
import { createModelStore } from './mcp-servers/models/model-store'
import { modelServer } from './mcp-servers/models/queries'
import { createServices } from './mcp-servers/services/services'
import type { Settings } from './shared/settings'

/** Creates the store of model providers that admins set up, and what sends calls with their keys. */
export function createModelKeys(
  settings: Settings,
  deps: Omit<Parameters<typeof createVault>[0], 'kinds'> &
    Omit<Parameters<typeof createModelAccess>[0], 'vault'>,
) {
  const addresses = listModelAddresses(settings)
  const kinds = new Map([[modelServer, createModelKind(addresses)]])
  const vault = createVault({ ...deps, kinds })
  const services = createServices({ ...deps, kinds, bindCredentials: vault.bind })
  const modelAccess = createModelAccess({ ...deps, vault })
  const modelStore = createModelStore(addresses)
  const admin = { ...deps, addresses, vault, services, access: modelAccess, store: modelStore }
  return {
    ...{ modelStore, modelAccess },
    createModelAdmin: (hub: Parameters<typeof createModelAdmin>[1]) => createModelAdmin(admin, hub),
  }
}
