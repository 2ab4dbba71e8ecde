import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import type { RunOrder, RunReport } from '../../src/shared/runner-protocol.ts'
import { at, type End, type Launch, type Profile } from '../profiles/profile.ts'
import { connectAcp } from './acp.ts'
import type { Ending } from './limits.ts'
import { NoToolsError } from './prove-tools.ts'
import type { Relay } from './relay.ts'
import { Turn } from './turn.ts'

/** What a program claims about its turn, judged by its own signs and by what passed through the relay. */
export interface Claim extends Ending {
  isSuccess: boolean
}

/** A turn of a program, as its run sees it. */
export interface Drive {
  done: Promise<Claim>
  /** Asks the program to stop. */
  cancel(): Promise<void>
  /** What it has said so far. */
  answer(): string
  sessionId(): string | null
}

export interface DriveFacts {
  order: RunOrder
  profile: Profile
  launch: Launch
  child: ChildProcessWithoutNullStreams
  relay: Relay
  cwd: string
  /** An earlier session that this place has. */
  earlier: string | null
  version: string
  /** Keeps the session for later, and returns its name for the hub. */
  keepSession(sessionId: string): string
  report(report: RunReport): void
  /** Called with the characters of all updates so far. */
  onUpdate(chars: number): void
}

/** For a program that lists the hub's tools only after its session is open. */
const toolsWaitMs = 120_000

/** Runs one turn over the Agent Client Protocol. */
export function driveAcp(facts: DriveFacts): Drive {
  const { order, profile, launch, relay, report } = facts
  const turn = new Turn(report)
  let sessionId: string | null = null
  let hasFailureUpdate = false
  const program = connectAcp(facts.child, {
    onUpdate(update) {
      hasFailureUpdate ||= profile.isFailureUpdate?.(update) === true
      turn.read(update)
      facts.onUpdate(turn.chars)
    },
    mayDo: (call) => turn.isHubTool(call) || isAllowedBuiltin(order, call),
  })
  const run = async (): Promise<Claim> => {
    const opened = await program.open({
      cwd: facts.cwd,
      relay,
      meta: launch.sessionMeta,
      earlier: facts.earlier,
    })
    sessionId = opened.id
    if (profile.listsToolsLate) await waitForTools(relay)
    report({
      kind: 'started',
      version: facts.version,
      session_id: facts.keepSession(opened.id),
      is_resumed: opened.isLoaded,
    })
    const result = await program.prompt(opened.id, launch.prompt)
    relay.endTurn()
    turn.flush()
    return judge(facts, { result, hasFailureUpdate, answer: turn.answer })
  }
  return {
    done: run().finally(() => turn.flush()),
    cancel: async () => {
      if (sessionId !== null) await program.cancel(sessionId)
    },
    answer: () => turn.answer,
    sessionId: () => sessionId,
  }
}

function judge({ profile, relay }: DriveFacts, turn: Parameters<Profile['isSuccess']>[0]): Claim {
  const reason = String(turn.result.stopReason)
  if (reason !== 'end_turn') {
    const end = ends[reason] ?? 'error'
    return {
      end,
      detail: end === 'error' ? `The program ended with ${reason}.` : null,
      isSuccess: false,
    }
  }
  if (profile.hasTools && !relay.facts.hasListedTools) {
    return {
      end: 'no_tools',
      detail: "The program did not list the hub's tools.",
      isSuccess: false,
    }
  }
  const isSuccess = relay.facts.modelAnswers > 0 && profile.isSuccess(turn)
  return { end: 'end_turn', detail: null, isSuccess }
}

/** A turn that is cancelled without the runner's request is an error. */
const ends: Record<string, End> = {
  max_tokens: 'max_tokens',
  max_turn_requests: 'max_turn_requests',
  refusal: 'refusal',
}

/** Commands are allowed with `shell`, and files with both; the sandbox bounds what they reach. */
function isAllowedBuiltin({ builtin }: RunOrder, call: Record<string, unknown>): boolean {
  const kind = String(call.kind ?? 'other')
  if (builtin === 'none') return false
  return (
    ['read', 'edit', 'delete', 'move', 'search'].includes(kind) ||
    (builtin === 'shell' && kind === 'execute')
  )
}

async function waitForTools(relay: Relay): Promise<void> {
  const until = Date.now() + toolsWaitMs
  while (!relay.facts.hasListedTools) {
    if (Date.now() > until) throw new NoToolsError("The program did not list the hub's tools")
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Reads an end from what a turn threw. */
export function toEnding(error: unknown, profile: Profile): Ending {
  if (error instanceof NoToolsError) return { end: 'no_tools', detail: `${error.message}.` }
  const message = String(at(error, 'message') ?? error)
  const data = at(error, 'data')
  const text = data === undefined ? message : `${message} ${JSON.stringify(data)}`
  return { end: profile.toEnd?.(text) ?? 'error', detail: text.slice(0, 1_000) }
}
