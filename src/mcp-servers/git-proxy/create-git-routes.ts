import type { GrantApi, RequestCounts } from '../../hub/contract/hub'
import { bodyLimits, gitProxy } from '../../shared/config'
import type { AccountId, Clock } from '../../shared/ids'
import type { ProgramCallRecorder } from '../contract/program-calls'
import type { ToolCall, ToolCaller, ToolResult } from '../contract/tools'
import type { Connection } from '../credentials/connection'
import { excerpt } from '../fetch/explain-answer'
import { readText } from '../fetch/guarded-fetch'
import { joinPath } from '../fetch/join-path'
import type { Gateway } from '../gateway/pipeline'
import type { ActivationTokens } from '../outside/activation-token'
import { authenticateCaller } from '../outside/authenticate-caller'
import { beginRecorded } from '../outside/record-call'
import {
  createGitServer,
  type GitWork,
  gitErrors,
  type PushedRef,
  toLoginHeader,
  toRepositoryName,
} from '../servers/git'
import type { ToolServer } from '../tool/define-tool'
import {
  drainPush,
  hidePushOptions,
  type PushHead,
  readPush,
  refuseFetch,
  refusePush,
  refuseWithText,
} from './push'

interface GitDeps {
  hub: GrantApi
  tokens: ActivationTokens
  clock: Clock
  /** Creates a gateway for the tools of one request. */
  openGateway(servers: ToolServer[]): Pick<Gateway, 'call'>
  /** Keeps the Worker alive until work finishes that outlives its request. */
  defer(work: Promise<unknown>): void
  /** Returns what records the pushes of a program on a runner. */
  findRecorder(agentId: AccountId): ProgramCallRecorder
}

const texts = {
  unknownPath:
    'Not found. A repository is at /git/<service>/<owner>/<name>, for git only: clone, fetch and push.',
  noCaller:
    'This request has no valid key: it is missing, wrong, revoked, or its run has ended. Send it as "Authorization: Bearer <key>".',
  wrongType: "Send the content type of git's protocol.",
  encoded: 'A compressed push is refused: its list of refs cannot be read.',
  tooLarge: `a push can have at most ${bodyLimits.uploadBytesMax / 1024 / 1024} MiB: push fewer commits at a time`,
}

/** Creates the handler of `/git/<service>/<owner>/<name>`: fetching and pushing with the hub's credentials. */
export function createGitRoutes(
  deps: GitDeps,
): (request: Request, counts: RequestCounts) => Promise<Response> {
  return async (request, counts) => {
    const asked = readGitRequest(request)
    if (!asked) return refuseWithText(404, texts.unknownPath)
    const found = await authenticateCaller(deps, request, deps.clock.now(), 'git')
    if (!found) return refuseWithText(403, texts.noCaller)
    counts.recordCaller(found.accountId)
    const type = request.headers.get('content-type')
    const isPost = request.method === 'POST'
    if (isPost && type !== `application/x-${asked.path.split('/').at(-1)}-request`) {
      return refuseWithText(415, texts.wrongType)
    }
    const isOwnWorkspace = found.workspace?.repository === toPath(asked)
    const caller = isOwnWorkspace ? withoutOpenLists(found) : found
    const turn = { deps, request, asked, caller, isOwnWorkspace }
    return asked.kind === 'push' ? answerPush(turn, counts) : answerRead(turn, asked.kind)
  }
}

interface Turn {
  deps: GitDeps
  request: Request
  asked: GitRequest
  caller: ToolCaller
  isOwnWorkspace: boolean
}

const toPath = ({ service, repository }: GitRequest): string => `${service}/${repository}`

/** A definition that names a repository uses git, whatever tools it lists; what it denies stays denied. */
const withoutOpenLists = (caller: ToolCaller): ToolCaller =>
  caller.toolRestrictions
    ? { ...caller, toolRestrictions: { ...caller.toolRestrictions, allow: [], servers: [] } }
    : caller

async function answerRead(turn: Turn, kind: 'fetch_refs' | 'fetch_objects' | 'begin_push') {
  const { request, asked } = turn
  const { service, repository } = asked
  const exchange = createExchange(asked, request, request.body)
  const base = { service, repository }
  const reads = kind === 'fetch_refs' ? 'refs' : 'objects'
  const call =
    kind === 'begin_push'
      ? toCall(turn, 'begin_push', base)
      : toCall(turn, 'fetch', { ...base, reads })
  const { response, refusal } = await run(turn, exchange, call)
  if (response) return response
  return kind === 'fetch_objects' ? refuseFetch(refusal) : refuseWithText(403, refusal)
}

async function answerPush(turn: Turn, counts: RequestCounts): Promise<Response> {
  const { request, asked, caller, isOwnWorkspace } = turn
  if (request.headers.has('content-encoding')) return refuseWithText(415, texts.encoded)
  const push = await readPush(request.body)
  const refuse = async (message: string) => {
    await drainPush(push, bodyLimits.uploadBytesMax)
    return refusePush(push, message)
  }
  if (push.problem !== null) return refuse(push.problem)
  // Before a long push git sends an empty one, to find out whether it may.
  if (push.commands.length === 0) return new Response(null, { headers: emptyResult })
  const limit = await counts.count('write')
  if (limit) return refuse(limit.message)
  const judge = (refs: Parameters<GitWork['judgeRefs']>[0]) =>
    judgeRefs(listPatterns(caller, isOwnWorkspace), refs)
  const refs = push.commands.map((each) => ({ ...each, may_be_forced: !/^0+$/.test(each.old) }))
  const args = { service: asked.service, repository: asked.repository, refs }
  const call = toCall(turn, 'push', args)
  // On record before a byte of it goes out: without an end it is a write in doubt.
  const recording = { caller, findRecorder: turn.deps.findRecorder }
  const begun = await beginRecorded(recording, { ...call, isWrite: true, isPush: true })
  if (begun.kind !== 'run') return refuse(toRefusal(begun.text))
  const limited = streamPush(push, bodyLimits.uploadBytesMax)
  const exchange = createExchange(asked, request, limited.body)
  const { response, refusal } = await run(turn, exchange, call, { judge, end: begun.end })
  if (limited.isTooLong()) {
    // The service may have answered to the part that it got.
    await response?.body?.cancel()
    return refuse(texts.tooLarge)
  }
  return response ?? refuse(judge(refs) ?? refusal)
}

const emptyResult = { 'content-type': 'application/x-git-receive-pack-result' }

/** Returns the branches that a caller may push to; none for a run in another repository than its own. */
function listPatterns({ activationId, workspace }: ToolCaller, isOwn: boolean): readonly string[] {
  if (activationId === null) return [gitProxy.pushDefault]
  return isOwn ? (workspace?.push ?? []) : []
}

const toCall = ({ deps }: Turn, tool: 'fetch' | 'begin_push' | 'push', args: object): ToolCall => ({
  callId: deps.clock.newId(),
  tool: `git_${tool}`,
  arguments: JSON.stringify(args),
})

const toRefusal = (text: string): string => text.replace(/^Error: /, '')

/** A push beyond what it passes on. */
interface PushWork {
  judge: GitWork['judgeRefs']
  /** Records its result. */
  end(result: ToolResult): Promise<unknown>
}

const noPush: PushWork = { judge: () => null, end: async () => undefined }

/** Passes a request on through the gateway. Returns the answer, or why there is none. */
async function run(
  { deps, caller, isOwnWorkspace }: Turn,
  { answer, send }: Exchange,
  call: ToolCall,
  { judge, end }: PushWork = noPush,
): Promise<{ response: Response; refusal: null } | { response: null; refusal: string }> {
  const gateway = deps.openGateway([createGitServer({ send, isOwnWorkspace, judgeRefs: judge })])
  const work = gateway.call(caller, call, new AbortController().signal)
  deps.defer(work.then(end))
  const first: Response | ToolResult = await Promise.race([answer, work])
  return first instanceof Response
    ? { response: first, refusal: null }
    : { response: null, refusal: toRefusal(first.text) }
}

/** Returns the body of a push, what was read of it included. It breaks at the limit. */
function streamPush({ body }: PushHead, bytesMax: number) {
  const begin = body.bytes()
  let bytes = 0
  let isTooLong = false
  const pass = (controller: ReadableStreamDefaultController<Uint8Array>, part: Uint8Array) => {
    bytes += part.length
    isTooLong = bytes > bytesMax
    if (isTooLong) controller.error(new Error('The push is too long.'))
    else controller.enqueue(part)
  }
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => pass(controller, begin),
    async pull(controller) {
      const part = await body.read()
      if (part === null) controller.close()
      else pass(controller, part)
    },
  })
  return { body: stream, isTooLong: () => isTooLong }
}

const branches = 'refs/heads/'

/** What `git check-ref-format` refuses, and everything outside of printable ASCII. */
const unusable = /[^\x21-\x7e]|[~^:?*[\\]|\.\.|@\{|\/\/|(^|\/)\.|\.lock(\/|$)|[/.]$/

const isZero = (id: string): boolean => /^0+$/.test(id)

/** Whether a pattern such as `rookery/*` matches a branch; the `*` at its end matches any characters. */
const matchesBranch = (pattern: string, branch: string): boolean =>
  pattern.endsWith('*')
    ? branch.startsWith(pattern.slice(0, -1)) && branch.length >= pattern.length
    : branch === pattern

/** Whether branches of these patterns may be changed by a push to this ref. */
const isOpen = (patterns: readonly string[], ref: string): boolean =>
  ref.startsWith(branches) &&
  ref.length <= gitProxy.refCharsMax &&
  !unusable.test(ref) &&
  patterns.some((pattern) => matchesBranch(pattern, ref.slice(branches.length)))

/** Returns why refs must not be pushed where these patterns of branches are allowed; null: they may be. */
function judgeRefs(
  patterns: readonly string[],
  refs: readonly Pick<PushedRef, 'ref' | 'new'>[],
): string | null {
  if (patterns.length === 0) return 'this run may push to the repository of its workspace only'
  const refused = refs.filter(({ ref }) => !isOpen(patterns, ref))
  const deleted = refs.filter((each) => isZero(each.new) && !refused.includes(each))
  const only = `only ${patterns.map((pattern) => branches + pattern).join(', ')} may be pushed`
  if (refused.length > 0) return `${only}; refused: ${list(refused)}`
  return deleted.length > 0 ? `branches must not be deleted; refused: ${list(deleted)}` : null
}

const list = (refs: readonly { ref: string }[]): string =>
  refs
    .slice(0, 10)
    .map(({ ref }) => ref.replace(/[^\x21-\x7e]/g, '?').slice(0, gitProxy.refCharsMax))
    .join(' ')

interface Exchange {
  /** The answer of the service, whose body arrives while it is read. */
  answer: Promise<Response>
  /** Sends the request. Ends when the answer has been passed on completely. */
  send(connection: Connection): Promise<{ bytes: number }>
}

const types: Record<GitRequest['kind'], string> = {
  fetch_refs: 'application/x-git-upload-pack-advertisement',
  fetch_objects: 'application/x-git-upload-pack-result',
  begin_push: 'application/x-git-receive-pack-advertisement',
  push: 'application/x-git-receive-pack-result',
}

/** Creates the passing on of one request to the service of its repository, and of the answer. */
function createExchange(
  asked: GitRequest,
  request: Request,
  body: ReadableStream<Uint8Array> | null,
): Exchange {
  const begun = Promise.withResolvers<Response>()
  return {
    answer: begun.promise,
    async send(connection) {
      const { service, stream, baseUrl, credential } = connection
      if (!stream) throw gitErrors.noStream()
      const received = await stream({
        method: request.method,
        url: joinPath(baseUrl, asked.path, asked.query),
        headers: {
          ...selectHeaders(request),
          ...connection.headers,
          ...toLoginHeader(credential),
        },
        body,
      })
      if (!received.ok) {
        const { text } = await readText(received, gitProxy.errorBytesMax)
        throw gitErrors.refused(service, received.status, excerpt(connection.scrub(text ?? '')))
      }
      // A push that lists no refs is answered without a body and its type.
      const type = received.headers.get('content-type')
      if (type !== types[asked.kind]) {
        await received.body?.cancel()
        throw gitErrors.notGit(service)
      }
      const isPushBegin = asked.kind === 'begin_push'
      const counted = countBytes(isPushBegin ? hidePushOptions(received.body) : received.body)
      const headers = { 'content-type': type }
      begun.resolve(new Response(counted.body, { headers }))
      return { bytes: await counted.bytes }
    },
  }
}

/** Returns the headers of git that the service needs. */
function selectHeaders({ headers }: Request): Record<string, string> {
  const kept = ['accept', 'content-type', 'content-encoding', 'git-protocol']
  const agent = headers.get('user-agent') ?? ''
  return {
    ...Object.fromEntries(
      kept.flatMap((name) => {
        const value = headers.get(name)
        return value === null ? [] : [[name, value]]
      }),
    ),
    // Services answer only to what calls itself git.
    'user-agent': /^git\/[\w.() -]{1,60}$/.test(agent) ? agent : 'git/2',
  }
}

/** Passes on a body as it is read. `bytes` is its length, and fails when it breaks or its reader leaves. */
function countBytes(source: ReadableStream<Uint8Array> | null) {
  const ended = Promise.withResolvers<number>()
  const reader = source?.getReader()
  let length = 0
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const part = await reader?.read()
        if (part?.value === undefined) {
          controller.close()
          ended.resolve(length)
          return
        }
        length += part.value.length
        controller.enqueue(part.value)
      } catch (error) {
        ended.reject(error)
        controller.error(error)
      }
    },
    async cancel(reason) {
      ended.reject(new Error('The caller disconnected.'))
      await reader?.cancel(reason)
    },
  })
  return { body, bytes: ended.promise }
}

/** A request of git's smart HTTP protocol. */
interface GitRequest {
  kind: 'fetch_refs' | 'fetch_objects' | 'begin_push' | 'push'
  service: string
  /** `owner/name` without `.git`: what is checked is what the path names. */
  repository: string
  /** Below the repository's address, with the query. */
  path: string
  query: Record<string, string>
}

const shape =
  /^\/git\/([a-z][a-z0-9-]{0,39})\/([A-Za-z0-9_.-]{1,100})\/([A-Za-z0-9_.-]{1,100})\/(info\/refs|git-upload-pack|git-receive-pack)$/

/** Returns what a request asks for; null when it is none of the three that git sends. */
export function readGitRequest({ method, url }: Request): GitRequest | null {
  const { pathname, search } = new URL(url)
  const [, service, owner, file, path] = shape.exec(pathname) ?? []
  const kind = path === undefined ? null : findKind(method, path, search)
  if (!service || !owner || !file || !path || !kind) return null
  const repository = toRepositoryName(service, owner, file)
  if (repository === null) return null
  return {
    kind,
    service,
    repository,
    path: `/${repository}.git/${path}`,
    query: Object.fromEntries(new URLSearchParams(search)),
  }
}

function findKind(method: string, path: string, search: string): GitRequest['kind'] | null {
  if (method === 'GET' && path === 'info/refs') {
    if (search === '?service=git-upload-pack') return 'fetch_refs'
    if (search === '?service=git-receive-pack') return 'begin_push'
  }
  if (method !== 'POST' || search !== '') return null
  if (path === 'git-upload-pack') return 'fetch_objects'
  return path === 'git-receive-pack' ? 'push' : null
}
