import type { AuditEntry, GrantPolicy } from '../../hub/contract/hub'
import type {
  ServerInstructions,
  ToolApi,
  ToolCall,
  ToolCaller,
  ToolDescription,
  ToolResult,
} from '../../mcp-servers/contract/tools'
import type { Clock } from '../../shared/ids'
import type { LoopEventOf } from '../loop/event'
import { type Lane, runsAsThen } from './lane'
import { describeDeed } from './lane-calls'
import type { LaneStore, NotedCall } from './lane-store'
import { countModelCalls, listCalls, type RecordedCall } from './recorded-run'

interface LaneToolsDeps {
  lane: Lane
  store: LaneStore
  /** Is only asked as of the time of the recorded run. */
  gateway: ToolApi
  clock: Clock
}

/** Allows all tools that there are. */
const everything = { requested: null, allowed: ['*'], denied: [] }

/**
 * The tools of a lane. A call is answered from the record; or else by the hub as it was, if it only reads; or else, if it
 * writes, as if it had worked. Nothing is changed, and nothing outside of the hub is asked.
 */
export class LaneTools implements ToolApi {
  readonly #deps: LaneToolsDeps

  constructor(deps: LaneToolsDeps) {
    this.#deps = deps
  }

  refresh(policy: GrantPolicy): Promise<void> | undefined {
    return this.#deps.gateway.refresh(policy)
  }

  /**
   * Returns the tools of the lane: with the run's own definition those that it was offered then and that still exist,
   * with a draft those that the draft has under today's policy.
   */
  list(caller: ToolCaller, policy: GrantPolicy): ToolDescription[] {
    const { lane, gateway } = this.#deps
    const { order, run } = lane.opened
    const then = runsAsThen(order) ? run.listTools(countModelCalls(lane.events)) : null
    if (!then) return gateway.list(caller, policy)
    const known = new Map(this.#listKnown(caller, policy).map((tool) => [tool.name, tool]))
    return then.flatMap((name) => known.get(name) ?? [])
  }

  /** Returns all tools that there are, for whoever they are. */
  #listKnown(
    { toolRestrictions: _, ...anybody }: ToolCaller,
    policy: GrantPolicy,
  ): ToolDescription[] {
    const { gateway } = this.#deps
    return [
      ...gateway.list(anybody, { ...policy, ...everything }),
      ...gateway.list(anybody, policy),
    ]
  }

  listInstructions(tools: string[]): ServerInstructions[] {
    return this.#deps.gateway.listInstructions(tools)
  }

  /** Nothing that a lane does has an effect, so every call can be repeated after a crash. */
  describe(tool: string) {
    const found = this.#deps.gateway.describe(tool)
    return found && { ...found, isIdempotent: true }
  }

  readonly isGranted: ToolApi['isGranted'] = (policy, grant) =>
    this.#deps.gateway.isGranted(policy, grant)

  readonly findRefusal: ToolApi['findRefusal'] = (caller, policy, call) =>
    this.#deps.gateway.findRefusal(caller, policy, call)

  /** How much the files took up is not recorded. */
  measureFiles(): null {
    return null
  }

  async endRun(): Promise<void> {}

  async call(
    caller: ToolCaller,
    call: ToolCall,
    signal: AbortSignal,
    progress?: (text: string) => void,
  ): Promise<ToolResult> {
    const { lane, store } = this.#deps
    if (!(await lane.open())) return this.#toResult(call, 'Error: the replay has ended.', true)
    const { result, ...note } =
      this.#refuse(caller, call) ??
      this.#answerFromRecord(call) ??
      (await this.#answerAnew(caller, call, signal, progress))
    store.noteCall(call.callId, note)
    return result
  }

  /** Refuses a call that the draft may not make, also when the record knows its answer: by its grants and its tool restrictions. */
  #refuse(caller: ToolCaller, call: ToolCall): Answer | null {
    const { lane } = this.#deps
    const refusal = runsAsThen(lane.opened.order)
      ? null
      : this.findRefusal(caller, lane.policy, call)
    return refusal === null
      ? null
      : { ...plain, source: 'hub', result: this.#toResult(call, refusal, true) }
  }

  /** Answers a call of which something is recorded: with the approval that it required, then with its result. */
  #answerFromRecord(call: ToolCall): Answer | null {
    const found = this.#deps.lane.findRecorded(call.callId, call.arguments)
    if (!found) return null
    const { call: recorded, isRepeated } = found
    const note = { ...plain, source: 'record', isRepeated } as const
    const parked = this.#findNextApproval(call, recorded)
    if (parked) {
      const approval = { ...parked.approval, ...toId(call) }
      const waiting = this.#toResult(call, '', false)
      const audit = { ...waiting.audit, ...parked.audit, ...toId(call) }
      return { ...note, result: { ...waiting, approval, audit } }
    }
    return recorded.result && { ...note, result: toRecordedResult(call, recorded.result) }
  }

  /** Returns the recorded approval that the call has not waited for yet. */
  #findNextApproval({ callId }: ToolCall, { approvals }: RecordedCall) {
    const parked = this.#deps.lane.events.filter(
      (event) => event.type === 'tool_parked' && event.callId === callId,
    )
    return approvals[parked.length]?.parked ?? null
  }

  /**
   * Answers a call of which nothing is recorded. The gateway checks it as any other, reads the hub as it was, and makes
   * no call that would do more.
   */
  async #answerAnew(
    caller: ToolCaller,
    call: ToolCall,
    ...link: [AbortSignal, ((text: string) => void)?]
  ): Promise<Answer> {
    const { lane, gateway, store } = this.#deps
    const asked = {
      ...caller,
      accountId: lane.opened.order.agent.id,
      activationId: store.read('laneId'),
      at: lane.readsAt,
    }
    const result = await gateway.call(asked, call, ...link)
    if (result.notAsOf === 'would_write') return this.#pretend(call)
    if (result.notAsOf) {
      const text =
        'Error: not recorded. This call was not made in the run that is replayed, so its answer is not known. Go on without it.'
      return { ...plain, source: 'none', result: { ...result, text, isError: true } }
    }
    const current = [...(result.asOf?.current ?? [])]
    return {
      ...plain,
      source: 'hub',
      current,
      result: { ...result, text: result.isError ? result.text : this.#addDeeds(result.text) },
    }
  }

  /** Answers a call that writes as if it had worked. */
  #pretend(call: ToolCall): Answer {
    const deed = describeDeed(call.tool, call.arguments)
    const result = this.#toResult(call, `Done: ${deed}.`, false)
    return { ...plain, source: 'lane', wouldHave: `Would have ${deed}.`, result }
  }

  /** Adds what this lane would have written, which the hub does not know. */
  #addDeeds(text: string): string {
    const { lane, store } = this.#deps
    const noted = store.readCalls()
    const deeds = listCalls(lane.events).flatMap(({ call }) =>
      noted.get(call.callId)?.source === 'lane' ? [describeDeed(call.name, call.arguments)] : [],
    )
    if (deeds.length === 0) return text
    const list = deeds.map((deed) => `- ${deed}`).join('\n')
    return `${text}\n\nIn this run you have already done the following, which is not shown above:\n${list}`
  }

  #toResult(call: ToolCall, text: string, isError: boolean): ToolResult {
    const audit: AuditEntry = {
      callId: call.callId,
      tool: call.tool,
      grant: '',
      argumentsHash: '',
      decision: 'allowed',
      outcome: isError ? 'error' : 'ok',
      durationMs: 0,
      resultBytes: text.length,
      at: this.#deps.clock.now(),
    }
    return { ...toId(call), text, isError, approval: null, durationMs: 0, audit }
  }
}

/** An answer, and what is noted of it. */
type Answer = NotedCall & { result: ToolResult }

const plain = { isRepeated: false, current: [], wouldHave: null }

const toId = ({ callId }: ToolCall) => ({ callId })

/** Returns a recorded result, marks included. */
function toRecordedResult(
  call: ToolCall,
  { text, isError, durationMs, audit, resultBytes, ...marks }: LoopEventOf<'tool_returned'>,
): ToolResult {
  const { isUntrusted, isPrivate, isOwnAccount, isExcerpt, reads } = marks
  const at = audit?.at ?? marks.at
  const entry = { tool: call.tool, grant: '', argumentsHash: '', decision: 'denied' as const }
  const outcome = { outcome: null, durationMs, resultBytes, at }
  return {
    ...toId(call),
    text,
    isError,
    approval: null,
    durationMs,
    ...(isUntrusted && { isUntrusted }),
    ...(isPrivate && { isPrivate }),
    ...(isOwnAccount && { isOwnAccount }),
    ...(isExcerpt && { isExcerpt }),
    ...(reads && { reads }),
    audit: { ...entry, ...outcome, ...audit, ...toId(call) },
  }
}
