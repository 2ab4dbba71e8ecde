import type { ApprovalRequest, GrantApi } from '../../hub/contract/hub'
import { mcp } from '../../shared/config'
import type { AccountId, ActivationId, Clock } from '../../shared/ids'
import type { ProgramCall, ProgramCallRecorder, ProgramCallResult } from '../contract/program-calls'
import type { ToolCall, ToolCaller, ToolResult } from '../contract/tools'
import type { Gateway } from '../gateway/pipeline'
import type { ResourceHub } from './resources'

/** The context of one MCP request. */
export interface McpSession {
  /** The session id that the client sent; null: none. */
  id: string | null
  gateway: Gateway
  hub: GrantApi & ResourceHub
  clock: Clock
  caller: ToolCaller
  /** Name of the hub, for clients that show it. */
  title: string
  /** Of `/mcp/<server>`; null for all servers. */
  serverName: string | null
  /** Keeps the Worker alive for work that outlives its request, such as the audit of an abandoned call. */
  defer(work: Promise<unknown>): void
  /** Returns what records the calls of a program on a runner. */
  findRecorder(agentId: AccountId): ProgramCallRecorder
  /** Notes that a program on a runner has listed its tools. */
  noteToolsListed(agentId: AccountId, activationId: ActivationId, attempt: number): Promise<void>
}

interface CallEnd {
  text: string
  isError: boolean
  /** Of the gateway; null when the call did not get there. */
  decision: string | null
}

/** A call that may run now, or what stands for it. */
type Begun =
  | {
      kind: 'run'
      /** Null: calls of this caller are not recorded. */
      recorded: RecordedCall | null
      /** Records the result. False: it could not be recorded, which leaves the call in doubt. */
      end(result: ToolResult): Promise<boolean>
    }
  | { kind: 'recorded' | 'refused'; text: string; isError: boolean }

type Recording = Pick<McpSession, 'caller' | 'findRecorder'>

const notRun: Begun = {
  kind: 'refused',
  text: 'Error: the call was not run. Try again.',
  isError: true,
}

/**
 * Records that a call of a program on a runner is about to run, so that the run shows it, and a program that begins
 * again after a loss makes no write twice. Calls of others are not recorded.
 */
export async function beginRecorded(
  { caller, findRecorder }: Recording,
  call: ProgramCall,
): Promise<Begun> {
  const { accountId, activationId, runAttempt } = caller
  if (activationId === null || runAttempt === undefined)
    return { kind: 'run', recorded: null, end: async () => true }
  const recorder = findRecorder(accountId)
  const begun = await recorder.beginCall(activationId, call, runAttempt).catch(() => notRun)
  if (begun.kind === 'refused') return { ...begun, isError: true }
  if (begun.kind === 'recorded') return begun
  return {
    kind: 'run',
    recorded: { recorder, activationId, runAttempt, callId: call.callId },
    end: (result) => retry(() => recorder.endCall(activationId, call.callId, toRecord(result))),
  }
}

/** Runs a call, which is recorded before it runs and after it. */
export async function runRecorded(
  session: Recording & Pick<McpSession, 'gateway' | 'hub'>,
  call: ToolCall,
  link: CallLink,
): Promise<CallEnd> {
  const { caller, gateway } = session
  const run = () => gateway.call(caller, call, link.signal, link.progress)
  const isWrite = gateway.canWrite(call.tool)
  const begun = await beginRecorded(session, { ...call, isWrite })
  if (begun.kind !== 'run') return { text: begun.text, isError: begun.isError, decision: null }
  const { recorded } = begun
  const result = recorded ? await runWhenApproved(session, recorded, link, run) : await run()
  if ('isParked' in result) return { text: parkedText, isError: true, decision: null }
  const isRecorded = await begun.end(result)
  // The record says who may read the run: without it the program must not get what others may not see.
  const isReserved = result.isPrivate === true || result.isOwnAccount === true
  const { decision } = result.audit
  if (!isRecorded && isReserved) return { text: notRecorded, isError: true, decision }
  return { text: result.text, isError: result.isError, decision }
}

const parkedText = 'Error: this run waits for an approval, and goes on after the decision.'

const notRecorded =
  'Error: the call ran, and its result is private and could not be recorded. Check what it changed before you try again.'

/** Tries again after a while: the agent's object may be starting. Returns whether it succeeded. */
async function retry(work: () => Promise<void>): Promise<boolean> {
  for (const waitMs of [...mcp.recordAgainMs, null]) {
    try {
      await work()
      return true
    } catch {
      if (waitMs !== null) await scheduler.wait(waitMs)
    }
  }
  return false
}

const toRecord = ({
  text,
  isError,
  durationMs,
  audit,
  ...marks
}: ToolResult): ProgramCallResult => ({
  text,
  isError,
  durationMs,
  resultBytes: audit.resultBytes ?? text.length,
  grant: audit.grant === '' ? null : audit.grant,
  decision: audit.decision,
  ...(marks.isUntrusted && { isUntrusted: true }),
  ...(marks.isPrivate && { isPrivate: true }),
  ...(marks.isOwnAccount && { isOwnAccount: true }),
  ...(marks.isExcerpt && { isExcerpt: true }),
  ...(marks.reads && { reads: marks.reads }),
})

/** The link between a running call and its caller. */
interface CallLink {
  /** Aborts when the caller cancels or leaves. */
  signal: AbortSignal
  progress: ((text: string) => void) | undefined
}

/** A call of a program on a runner, and what records it. */
interface RecordedCall {
  recorder: ProgramCallRecorder
  activationId: ActivationId
  runAttempt: number
  callId: string
}

/** How often the agent's object and the database are asked that cannot be reached. */
const askTries = 5
const askAgainMs = 1_000

/**
 * Runs a call. While it requires approval, the answer stays open, and the call runs when it is approved; its program
 * reads a denial. Returns the refusal as it is when the program must not wait any longer, and `isParked` when the run
 * is ended until the decision: then the call belongs to the run.
 */
export async function runWhenApproved(
  session: Pick<McpSession, 'hub'>,
  call: RecordedCall,
  link: CallLink,
  run: () => Promise<ToolResult>,
): Promise<ToolResult | { isParked: true }> {
  for (;;) {
    const result = await run()
    if (!result.approval) return result
    const end = await waitForDecision(session, call, link, result.approval)
    if (end === 'parked') return { isParked: true }
    if (end === 'over') return result
  }
}

async function waitForDecision(
  { hub }: Pick<McpSession, 'hub'>,
  { recorder, activationId, runAttempt, callId }: RecordedCall,
  { signal, progress }: CallLink,
  approval: ApprovalRequest,
): Promise<'decided' | 'parked' | 'over'> {
  const left = new Promise<'over'>((resolve) => {
    signal.addEventListener('abort', () => resolve('over'), { once: true })
  })
  const look = async (): Promise<'pending' | 'decided' | 'parked' | 'over'> => {
    const next = await recorder.awaitApproval(activationId, callId, approval, runAttempt)
    if (next !== 'look') return next
    const status = await hub.readApprovalStatus(activationId, approval.callId)
    if (status === 'pending') return 'pending'
    // The request was authenticated when it began to wait.
    const running = await hub.findActivation(activationId)
    if (running?.runAttempt !== runAttempt) return 'over'
    const end = await recorder.endWait(activationId, callId, runAttempt)
    return end === 'run' ? 'decided' : end
  }
  let failures = 0
  while (!signal.aborted) {
    // Some programs wait longer when progress is reported.
    progress?.('waiting for approval')
    const answer = look().catch(async () => {
      // the object or the database may be starting again
      await scheduler.wait(askAgainMs)
      return ++failures < askTries ? ('pending' as const) : ('over' as const)
    })
    const next = await Promise.race([answer, left])
    if (next !== 'pending') return next
  }
  return 'over'
}

/**
 * The running calls of this isolate, so that a later request of the same caller can cancel them. A client
 * whose request reaches another isolate cancels its call by closing the connection.
 */
export interface RunningCalls {
  /** Runs `work` with a signal that aborts when `cancel` is called with the same key. */
  run<Result>(key: string, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>
  cancel(key: string): void
}

export function createRunningCalls(): RunningCalls {
  const running = new Map<string, { isCancelled: boolean }>()
  return {
    async run(key, work) {
      const stop = new AbortController()
      const state = { isCancelled: false }
      running.set(key, state)
      // A request cannot settle a promise of another request in Workers, so this one polls the state.
      const polling = setInterval(() => {
        if (state.isCancelled) stop.abort()
      }, mcp.cancelCheckMs)
      try {
        return await work(stop.signal)
      } finally {
        clearInterval(polling)
        if (running.get(key) === state) running.delete(key)
      }
    },
    cancel(key) {
      const state = running.get(key)
      if (state) state.isCancelled = true
    },
  }
}

/** Returns the key of a call. Request ids repeat across sessions, and `1` differs from `"1"`. */
export const toCallKey = (accountId: string, session: string | null, id: unknown): string =>
  JSON.stringify([accountId, session, id])
