import { secretCharsMin } from '../credentials/scrub'
import type { ToolServer } from '../tool/define-tool'
import { readAddress, splitCredential, toSecrets } from './read-address'
import { execute } from './tools/execute'
import { query } from './tools/query'

/** SQL on PostgreSQL databases that an admin declared, each a service of this server. */
export const postgresServer: ToolServer = {
  name: 'postgres',
  description: 'SQL on the PostgreSQL databases that an admin of this hub has declared.',
  services: {
    builtIn: () => null,
    secretParts: (credential) => {
      const parts = splitCredential(credential)
      return parts ? toSecrets(parts.password) : []
    },
    checkCredential: (credential) => {
      const { password = '' } = splitCredential(credential) ?? {}
      if (password.length >= secretCharsMin) return null
      return `A credential for postgres is user:password, with at least ${secretCharsMin} characters of password.`
    },
    checkBaseUrl: (url) => {
      const address = readAddress(url)
      return typeof address === 'string' ? address : null
    },
  },
  tools: [query, execute],
}
