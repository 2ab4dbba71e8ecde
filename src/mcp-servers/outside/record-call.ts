import { mcp } from '../../shared/config'
import type { ProgramCall, ProgramCallResult } from '../contract/program-calls'
import type { ToolCall, ToolResult } from '../contract/tools'
import { type CallLink, type RecordedCall, runWhenApproved } from './await-approval'
import type { McpSession } from './mcp-session'

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
})
