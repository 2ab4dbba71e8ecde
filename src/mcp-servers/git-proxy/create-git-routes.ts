import type { GrantApi, RequestCounts } from '../../hub/contract/hub'
import { bodyLimits, gitProxy } from '../../shared/config'
import type { AccountId, Clock } from '../../shared/ids'
import type { ProgramCallRecorder } from '../contract/program-calls'
import type { ToolCall, ToolCaller, ToolResult } from '../contract/tools'
import type { Gateway } from '../gateway/gateway'
import type { GitWork } from '../git/git-tools'
import { createGitServer } from '../git/server'
import type { ActivationTokens } from '../outside/activation-token'
import { authenticateCaller } from '../outside/authenticate-caller'
import { beginRecorded } from '../outside/record-call'
import type { ToolServer } from '../tool/define-tool'
import { createExchange, type Exchange } from './exchange'
import { refuseFetch, refusePush, refuseWithText } from './git-answers'
import { judgeRefs } from './judge-refs'
import { type GitRequest, readGitRequest } from './read-git-request'
import { drainPush, type PushHead, readPush } from './read-push'

export interface GitDeps {
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
