import { secretCharsMin } from '../credentials/scrub'
import type { ServiceKind } from '../services/service-kind'
import type { ToolServer } from '../tool/define-tool'
import { gitErrors } from './errors'
import { createGitTools, type GitWork } from './git-tools'

const defaultUser = 'x-access-token'

/** Splits `user:token`; a credential without a colon is a token, for which services ignore the user. */
function splitCredential(credential: string): { user: string; token: string } {
  const at = credential.indexOf(':')
  if (at === -1) return { user: defaultUser, token: credential }
  return { user: credential.slice(0, at), token: credential.slice(at + 1) }
}

const encodeLogin = (credential: string): string => {
  const { user, token } = splitCredential(credential)
  return btoa(`${user}:${token}`)
}

/** Returns the header that logs in to a git server; none without a credential, for public repositories. */
export const toLoginHeader = (credential: string | null): Record<string, string> =>
  credential === null ? {} : { authorization: `Basic ${encodeLogin(credential)}` }

const services: ServiceKind = {
  builtIn: (service) =>
    service === 'github' ? { baseUrl: 'https://github.com', format: 'any' } : null,
  secretParts: (credential) => [splitCredential(credential).token, encodeLogin(credential)],
  checkCredential: (credential) => {
    const { token } = splitCredential(credential)
    if (/^[\x21-\x7e]+$/.test(credential) && token.length >= secretCharsMin) return null
    return `A credential for git is a token or user:token, in ASCII, with at least ${secretCharsMin} characters of token.`
  },
}

/** Creates the server for one request of git. */
export const createGitServer = (work: GitWork): ToolServer => ({
  name: 'git',
  description: 'Repositories over git, at /git of this hub.',
  services,
  tools: createGitTools(work),
})

/** The server as policies, services and credentials name it. Its tools are used with git only. */
export const gitServer = createGitServer({
  send: async () => {
    throw gitErrors.onlyOverGit()
  },
  isOwnWorkspace: false,
  judgeRefs: () => null,
})
