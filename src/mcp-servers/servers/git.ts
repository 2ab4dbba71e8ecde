import * as z from 'zod'
import { gitProxy } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { Connection } from '../credentials/connection'
import { secretCharsMin } from '../credentials/scrub'
import type { ServiceKind } from '../services/check-service'
import { defineTool, type Tool, type ToolServer } from '../tool/define-tool'

/** What the tools of one request of git do, and whose work it is. */
export interface GitWork {
  /** Passes the request on. Returns what is recorded about it. */
  send(connection: Connection): Promise<unknown>
  /** The caller is a run whose definition names this repository as its workspace. */
  isOwnWorkspace: boolean
  /** Why the refs must not be pushed; null: they may be. */
  judgeRefs(refs: readonly PushedRef[]): string | null
}

const objectId = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/)

const pushedRef = z.strictObject({
  ref: z.string().max(gitProxy.refCharsMax),
  /** All zeros when the ref is new. */
  old: objectId,
  /** All zeros when the ref is deleted. */
  new: objectId,
  /** The ref existed. Whether the new commit builds on the old one cannot be seen in a list of refs. */
  may_be_forced: z.boolean(),
})
export type PushedRef = z.output<typeof pushedRef>

const repository = {
  service: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/),
  repository: z.string().regex(/^[A-Za-z0-9_.-]{1,100}\/[A-Za-z0-9_.-]{1,100}$/),
}
type Repository = z.output<z.ZodObject<typeof repository>>

/** Returns the first segments of the grants of a service: those of GitHub's tools are git's too. */
const toPrefix = (service: string): string => (service === 'github' ? 'github' : `git:${service}`)

const readGrant = ({ service }: Repository): string => `${toPrefix(service)}:read`
const writeGrant = ({ service, repository: name }: Repository): string =>
  `${toPrefix(service)}:write:${name}`

const readShapes = { 'github:read': 'read', 'git:*:read': 'read' } as const
const writeShape = 'git:*:write:*'

const service = (input: Repository): string => input.service

/** Declares what git does over HTTP as tools, so that the gateway decides about it and records it. */
const createGitTools = ({ send, isOwnWorkspace, judgeRefs }: GitWork): Tool[] => {
  const run = async ({ outside }: { outside: Connection }) => {
    return send(outside)
  }
  const shared = { service, run, isIdempotent: true, timeoutMs: gitProxy.timeoutMs }
  const fetch = defineTool({
    ...shared,
    name: 'fetch',
    description: 'Read the refs or the objects of a repository, with git over HTTP.',
    input: z.strictObject({ ...repository, reads: z.enum(['refs', 'objects']) }),
    tier: readShapes,
    grant: { shape: 'git:*:read', of: readGrant },
    doing: 'fetching from a repository',
  })
  const beginPush = defineTool({
    ...shared,
    name: 'begin_push',
    description: 'Read the refs of a repository before a push, with git over HTTP.',
    input: z.strictObject(repository),
    tier: { 'github:write:*': 'read', [writeShape]: 'read' },
    grant: { shape: writeShape, of: writeGrant },
    doing: 'starting a push',
  })
  const push = defineTool({
    ...shared,
    name: 'push',
    description: 'Change branches of a repository, with git over HTTP.',
    input: z.strictObject({
      ...repository,
      refs: z
        .array(pushedRef)
        .min(1)
        .max(gitProxy.refsMax)
        .superRefine((refs, context) => {
          const message = judgeRefs(refs)
          if (message !== null) context.addIssue({ code: 'custom', message })
        }),
    }),
    tier: { 'github:write:*': 'write', [writeShape]: 'write' },
    grant: { shape: writeShape, of: writeGrant },
    // The definition that named the repository decided to which of its branches the run pushes.
    staysInTask: (_input, { community }) => isOwnWorkspace && community === null,
    doing: 'pushing to a repository',
  })
  return [fetch, beginPush, push]
}

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

/** Errors of git over HTTP, as git prints them. */
export const gitErrors = {
  onlyOverGit: () =>
    new AppError('VALIDATION', 'Repositories are used with git, at /git of this hub.'),
  refused: (service: string, status: number, excerpt: string) => {
    const hint =
      status === 401 || status === 403
        ? `The credential of the service ${service} may lack access. An admin can check it on /credentials.`
        : status === 404
          ? 'Check the path. The credential may lack access to the repository.'
          : 'Try again later.'
    const quote = excerpt === '' ? '' : ` It answered: ${excerpt}`
    return new AppError('UNAVAILABLE', `The service ${service} answered ${status}.`, {
      hint: `${hint}${quote}`,
    })
  },
  notGit: (service: string) =>
    new AppError('UNAVAILABLE', `The service ${service} did not answer with git's protocol.`, {
      hint: 'Check its base URL on /services.',
    }),
  noStream: () => new AppError('UNAVAILABLE', 'Repositories need a credential of the hub.'),
}

const segment = /^[A-Za-z0-9_.-]{1,100}$/

/**
 * Returns the name of a repository, `owner/name`, as grants are compared, the audit records it and the service is asked
 * for it; null when a segment is none. Case counts, because there are services where `App` and `app` are two
 * repositories. On GitHub they are one, so its names are in lower case.
 */
export function toRepositoryName(service: string, owner: string, file: string): string | null {
  const name = file.replace(/\.git$/i, '')
  const isUsable = (part: string) => segment.test(part) && !/^\.|\.\.|\.$|\.git$/i.test(part)
  if (!isUsable(owner) || !isUsable(name)) return null
  const whole = `${owner}/${name}`
  return service === 'github' ? whole.toLowerCase() : whole
}
