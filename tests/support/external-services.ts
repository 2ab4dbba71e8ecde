import { env } from 'cloudflare:workers'
import { createCipher } from '../../src/mcp-servers/credentials/cipher'
import { createConnect } from '../../src/mcp-servers/credentials/connect'
import { createRecentSecrets } from '../../src/mcp-servers/credentials/scrub'
import { createVault } from '../../src/mcp-servers/credentials/vault'
import { servers } from '../../src/mcp-servers/servers'
import { toServiceKinds } from '../../src/mcp-servers/services/check-service'
import { createServices, serviceInput } from '../../src/mcp-servers/services/services'
import { createDb } from '../../src/shared/db/db'
import { noOwnAccounts } from './fake-connect'
import { createFakeClock } from './fake-hub-api'

/** URLs of the servers of `start-outside.ts`. */
export const externalUrls = JSON.parse(
  (env as unknown as { OUTSIDE_URLS: string }).OUTSIDE_URLS,
) as Record<'github' | 'brave' | 'aws' | 's3' | 'mcp' | 'oauth', string>

const kinds = toServiceKinds(servers)
const base = {
  db: createDb(env.DB),
  clock: createFakeClock(),
  kinds,
  isPrivateAllowed: true,
  canReachPrivate: () => true,
}
const vault = createVault({
  ...base,
  cipher: createCipher(['dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=']),
  readVariable: () => undefined,
})
const services = createServices({ ...base, bindCredentials: vault.bind })

interface Declared {
  server: string
  /** Default: the server's name. */
  service?: string
  baseUrl: string
  /** Null for no credential. */
  credential: string | null
}

/** Declares a local service, sets its credential, and connects to it as the Worker does. */
export async function connectService({ server, service = server, baseUrl, credential }: Declared) {
  // A credential is sealed to its destination: one of an earlier address of the service goes first.
  await vault.remove(`${server}-key`).catch(() => undefined)
  const declared = { base_url: baseUrl, allow_http: true, allow_private: true }
  await services.put(server, service, serviceInput.parse(declared), 'ada')
  if (credential !== null) {
    const bound = { name: `${server}-key`, server, service, community: null, agent: null }
    await vault.put({ ...bound, value: credential, by: 'ada' })
  }
  return createConnect({ ...base, vault, known: createRecentSecrets(), ownAccounts: noOwnAccounts })
}
