import type { ApprovalRequest } from '../../hub/contract/hub'
import type { ActivationId } from '../../shared/ids'
import type { ProgramCallRecorder } from '../contract/program-calls'
import type { ToolResult } from '../contract/tools'
import type { McpSession } from './mcp-session'

/** The link between a running call and its caller. */
export interface CallLink {
  /** Aborts when the caller cancels or leaves. */
  signal: AbortSignal
  progress: ((text: string) => void) | undefined
}

/** A call of a program on a runner, and what records it. */
export interface RecordedCall {
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
