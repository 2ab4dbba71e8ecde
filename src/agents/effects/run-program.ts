import { codingAgents } from '../../shared/config'
import type { RunOrder } from '../../shared/runner-protocol'
import type { NewRun } from '../contract/coding-agents'
import type { Definition, Workspace } from '../definitions/definition'
import { findProgram, sharedProtocols } from '../definitions/executors'
import type { Charge, LoopEvent } from '../loop/event'
import type { Message } from '../loop/message'
import { findWaitEnd, findWorking } from '../loop/program'
import type { Effect, ProgramState } from '../loop/state'
import { isProgramOver } from '../loop/step-program'
import { buildTranscript } from '../loop/transcript'
import { protocolsOf } from '../models/choose-model'
import { fence } from '../text/fence'
import {
  type EffectContext,
  findLoadedFacts,
  notifyWatchers,
  readWork,
  resolveModel,
  type Work,
} from './effect-context'

/**
 * Gives the attempt to a runner. Asking again is harmless: it shows that the run is not lost. The effect stays
 * pending until the program's reports end the turn.
 */
export async function runProgram(
  context: EffectContext,
  effect: Extract<Effect, { type: 'run_program' }>,
): Promise<LoopEvent | null> {
  const { attempt } = effect
  const read = await readWork(context, effect.id)
  const { clock } = context.deps
  if (!read.ok) return toProblem(context, read.failure.failure.message, attempt)
  const program = findWorking(context.getActivation().state, attempt)
  if (!program) return null
  const waitEnd = findWaitEnd(program)
  if (waitEnd !== null && waitEnd <= clock.now()) {
    return { type: 'approval_overdue', at: clock.now(), attempt }
  }
  const order = composeOrder(context, read.work, program)
  if (order === null) return toProblem(context, 'Its model cannot be used by the program.', attempt)
  const { kind } = await context.deps.runners.start(order)
  if (!program.hasStarted) {
    notifyWatchers(context, kind === 'started' ? 'starting its program' : 'waiting for a runner')
  }
  return { type: 'program_placed', at: clock.now(), attempt, kind }
}

/** Returns the event for an order that cannot be given: the runner counts as lost, so that attempts end. */
const toProblem = ({ deps }: EffectContext, reason: string, attempt: number): LoopEvent => ({
  type: 'program_lost',
  at: deps.clock.now(),
  attempt,
  reason,
})

/** Returns the order; null when the model has changed to one that the program cannot use. */
function composeOrder(context: EffectContext, work: Work, program: ProgramState): NewRun | null {
  const { state, events } = context.getActivation()
  const { facts, definition } = work
  const { model } = resolveModel(context, definition, facts)
  const type = findProgram(definition.executor)
  if (!state.activationId || type === null) return null
  const protocols = sharedProtocols(type, protocolsOf(model.provider))
  if (protocols.length === 0) return null
  return {
    agent_id: context.agentId,
    activation_id: state.activationId,
    attempt: program.attempt,
    agent: facts.agentName,
    program: type,
    ...splitPrompt(buildTranscript(events)),
    model: {
      name: model.id.slice(model.provider.length + 1),
      protocols,
      context_tokens: model.contextTokens,
      output_tokens: Math.min(model.outputTokensMax, definition.limits.outputTokens),
    },
    limits: {
      ends_at: state.endsAt,
      silence_ms: codingAgents.silenceMs,
      model_requests: Math.max(1, state.limits.iterations - program.requests),
      output_chars: codingAgents.outputChars,
    },
    builtin: definition.coding.builtin,
    workspace: toWorkspace(definition, facts.answer?.postId ?? state.activationId),
    session_id: program.sessionId,
    runs_on: definition.coding.runsOn,
  }
}

/** Returns the instructions, and the task with everything else as one text. */
function splitPrompt(messages: Message[]): Pick<RunOrder, 'system_prompt' | 'prompt'> {
  const system = messages.flatMap((each) => (each.role === 'system' ? [each.text] : []))
  const rest = messages.flatMap((each) => {
    if (each.role === 'user') return [each.text]
    return each.role === 'assistant' && each.text !== ''
      ? [fence('your_answer', {}, each.text)]
      : []
  })
  return { system_prompt: system.join('\n\n'), prompt: rest.join('\n\n') }
}

/** Returns the repository with the branch of this conversation, so that a later run of it continues there. */
function toWorkspace({ name, coding }: Definition, conversation: string): RunOrder['workspace'] {
  const { workspace } = coding
  return workspace && { ...workspace, branch: toBranch(workspace, name, conversation) }
}

function toBranch({ push }: Workspace, agent: string, conversation: string): string {
  const [pattern = 'rookery/*'] = push
  const id = conversation.replace(/[^A-Za-z0-9]/g, '').slice(-12)
  return pattern.endsWith('*') ? `${pattern.slice(0, -1)}${agent}-${id.toLowerCase()}` : pattern
}

/**
 * Stops the program where it may still run, and waits until everything about it is known. The loop drops the effect
 * as soon as that is so; at the end of the time, what is still unknown is charged its worst case.
 */
export async function closeProgram(
  context: EffectContext,
  { id: effectId, attempt, stop, until }: Extract<Effect, { type: 'close_program' }>,
  signal: AbortSignal,
): Promise<LoopEvent | null> {
  const { deps } = context
  const { activationId } = context.getActivation().state
  if (!activationId) throw new Error('a program without an activation')
  if (stop !== null) {
    const run = { activation_id: activationId, attempt }
    await deps.runners.stop(run, stop).catch((error: unknown) => {
      // its token ends with the run, so it can do nothing any more
      deps.log.warn('failed to stop a program', { error })
    })
  }
  const isOver = () => {
    const { program } = context.getActivation().state
    return program !== null && isProgramOver(program)
  }
  const wait = until - deps.clock.now()
  if (!signal.aborted && !isOver() && wait > 0) {
    await scheduler.wait(wait, { signal }).catch(() => undefined)
  }
  if (signal.aborted) return null
  return { type: 'program_closed', at: deps.clock.now(), effectId, ...chargeOpen(context) }
}

/** Returns the requests whose usage is unknown, with their worst case. */
export function chargeOpen({ getActivation }: EffectContext) {
  const open = getActivation().state.program?.open ?? []
  return {
    requests: open.map(({ request }) => request),
    charge: open.map(({ worst }) => worst).reduce<Charge | null>(addCharges, null),
  }
}

const addCharges = (sum: Charge | null, each: Charge): Charge =>
  sum === null
    ? each
    : {
        ...sum,
        inputTokens: sum.inputTokens + each.inputTokens,
        outputTokens: sum.outputTokens + each.outputTokens,
        microusd: sum.microusd + each.microusd,
      }

/** Notifies the requesters that the run waits for a runner. Idempotent. */
export async function notifyNobody(
  { deps, agentId, getActivation }: EffectContext,
  effect: Extract<Effect, { type: 'notify_nobody' }>,
): Promise<LoopEvent> {
  const { state, events } = getActivation()
  const facts = findLoadedFacts(events)
  if (!state.activationId || !facts?.program) throw new Error('no program waits for a runner')
  const until = Math.max(1, Math.round((state.endsAt - deps.clock.now()) / 60_000))
  await deps.hub.notifyRequesters({
    agentId,
    activationId: state.activationId,
    now: deps.clock.now(),
    text:
      `@${facts.agentName} waits: no runner is connected that can run ${facts.program.type} for it. ` +
      `It begins as soon as one connects, for ${until} more minutes. An admin can start one: see [runners](/runners).`,
  })
  return { type: 'nobody_notified', at: deps.clock.now(), effectId: effect.id }
}
