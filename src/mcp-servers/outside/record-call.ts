import type { ProgramCallRecorder, ProgramCallResult } from '../contract/program-calls'
import type { ToolCall, ToolResult } from '../contract/tools'
import { type CallLink, runWhenApproved } from './await-approval'
import type { McpSession } from './mcp-session'

interface CallEnd {
  text: string
  isError: boolean
  /** Of the gateway; null when the call did not get there. */
  decision: string | null
}

const parkedText = 'Error: this run waits for an approval, and goes on after the decision.'

/** How often the result of a call is recorded when the agent's object cannot be reached. */
const recordTries = 3

/**
 * Runs a call. That of a program on a runner is recorded by its agent before it runs and after it, so that the run
 * shows it, and a program that begins again after a loss makes no write twice.
 */
export async function runRecorded(
  session: McpSession,
  call: ToolCall,
  link: CallLink,
): Promise<CallEnd> {
  const { caller, gateway, findRecorder } = session
  const run = () => gateway.call(caller, call, link.signal, link.progress)
  const { accountId, activationId, runAttempt } = caller
  if (activationId === null || runAttempt === undefined) return toCallEnd(await run())
  const recorder = findRecorder(accountId)
  const isWrite = gateway.canWrite(call.tool)
  const begun = await recorder
    .beginCall(activationId, { ...call, isWrite }, runAttempt)
    .catch(() => ({ kind: 'refused' as const, text: 'Error: the call was not run. Try again.' }))
  if (begun.kind === 'refused') return { text: begun.text, isError: true, decision: null }
  if (begun.kind === 'recorded') return { text: begun.text, isError: begun.isError, decision: null }
  const attempt = { recorder, activationId, runAttempt, callId: call.callId }
  const result = await runWhenApproved(session, attempt, link, run)
  if ('isParked' in result) return { text: parkedText, isError: true, decision: null }
  const end = () => recorder.endCall(activationId, call.callId, toRecord(result))
  await retry(end)
  return toCallEnd(result)
}

/** A result that is never recorded leaves the call in doubt, which the agent takes into account. */
async function retry(work: () => ReturnType<ProgramCallRecorder['endCall']>): Promise<void> {
  for (let tries = 0; tries < recordTries; tries++) {
    try {
      return await work()
    } catch {
      // the object may be starting again
    }
  }
}

const toCallEnd = ({ text, isError, audit }: ToolResult): CallEnd => ({
  text,
  isError,
  decision: audit.decision,
})

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
