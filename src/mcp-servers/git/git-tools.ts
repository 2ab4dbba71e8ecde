import * as z from 'zod'
import { gitProxy } from '../../shared/config'
import type { Connection } from '../credentials/connection'
import { defineTool, type Tool } from '../tool/define-tool'

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
export const createGitTools = ({ send, isOwnWorkspace, judgeRefs }: GitWork): Tool[] => {
  const run = async ({ outside }: { outside: Connection | null }) => {
    if (!outside) throw new Error('The gateway opens the service first.')
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
