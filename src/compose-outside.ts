import { createModelKeys } from './compose-models'
import { createConnectedAccounts } from './mcp-servers/connected-accounts/connected-accounts'
import { createCipher } from './mcp-servers/credentials/cipher'
import { createConnect } from './mcp-servers/credentials/connect'
import { createRecentSecrets } from './mcp-servers/credentials/recent-secrets'
import { createVault } from './mcp-servers/credentials/vault'
import { createResolver } from './mcp-servers/fetch/resolve-over-https'
import { createToolRegistry } from './mcp-servers/gateway/tool-registry'
import { createHookSecrets } from './mcp-servers/hook-secrets/create-hook-secrets'
import { createActivationTokens } from './mcp-servers/outside/activation-token'
import { createPushSender } from './mcp-servers/push/create-push-sender'
import { createCatalogue } from './mcp-servers/remote/catalogue'
import { remoteServices } from './mcp-servers/remote/remote-services'
import { namedServers } from './mcp-servers/servers'
import { toServiceKinds } from './mcp-servers/services/service-kind'
import { createServices } from './mcp-servers/services/services'
import { createDb } from './shared/db/db'
import { systemClock } from './shared/ids'
import type { Settings } from './shared/settings'

/** Creates external services and their credentials, which `src/hub` never receives. */
export function createOutside(env: Env, settings: Settings) {
  const key = settings.ROOKERY_VAULT_KEY
  const keys = key ? [key, ...(settings.ROOKERY_VAULT_OLD_KEYS ?? [])] : []
  const cipher = createCipher(keys)
  const readSecret = (name: string) => readVariable(env, name)
  const base = {
    db: createDb(env.DB),
    clock: systemClock,
    kinds: toServiceKinds([...namedServers, { name: 'remote', services: remoteServices }]),
    isPrivateAllowed: settings.ROOKERY_ALLOW_PRIVATE_SERVICES,
    toolTimeoutMs: readToolTimeout(settings),
  }
  const { toolTimeoutMs } = base
  const catalogue = createCatalogue({ ...base, cipher })
  const known = createRecentSecrets()
  const vault = createVault({ ...base, cipher, readVariable: readSecret })
  const dns = settings.ROOKERY_DNS_OVER_HTTPS
  const resolve = dns === 'off' ? undefined : createResolver(dns)
  const linkage = { cipher, resolve, hubName: settings.ROOKERY_NAME }
  const accounts = createConnectedAccounts({ ...base, ...linkage })
  const readers = { cipher, readVariable: readSecret, known, resolve }
  return {
    db: base.db,
    ...{ isPrivateAllowed: base.isPrivateAllowed, ...linkage },
    vault,
    known,
    ...createModelKeys(settings, { ...base, ...readers }),
    accounts,
    tokens: createActivationTokens(keys),
    catalogue,
    toolTimeoutMs,
    registry: createToolRegistry(namedServers, catalogue),
    services: createServices({ ...base, bindCredentials: vault.bind }),
    push: createPushSender({
      vaultKeys: keys,
      origins: settings.ROOKERY_ORIGIN ?? [],
      resolve,
    }),
    hookSecrets: createHookSecrets(keys),
    connect: createConnect({ ...base, vault, known, resolve, ownAccounts: accounts }),
  }
}

/** Returns the time in milliseconds that the operator gives to tool calls. */
const readToolTimeout = ({
  ROOKERY_TOOL_TIMEOUT_SECONDS: seconds,
}: Settings): number | undefined => (seconds === undefined ? undefined : seconds * 1000)

/** Returns a variable of the environment. */
export function readVariable(env: Env, name: string): string | undefined {
  const value: unknown = Reflect.get(env, name)
  return typeof value === 'string' ? value : undefined
}
