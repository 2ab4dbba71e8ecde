import { env } from 'cloudflare:workers'
import { createConnectedAccounts } from '../../src/mcp-servers/connected-accounts/connected-accounts'
import { createCipher } from '../../src/mcp-servers/credentials/cipher'
import { createDb } from '../../src/shared/db/db'
import type { Clock } from '../../src/shared/ids'

/** Creates the store of connected accounts on the database of a test. */
export const createConnections = (clock: Clock, vaultKey: string) =>
  createConnectedAccounts({
    db: createDb(env.DB),
    clock,
    cipher: createCipher([vaultKey]),
    isPrivateAllowed: false,
    hubName: 'Test',
  })
