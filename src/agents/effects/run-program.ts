import { codingAgents } from '../../shared/config'
import type { RunOrder } from '../../shared/runner-protocol'
import type { NewRun } from '../contract/coding-agents'
import type { Definition, Workspace } from '../definitions/definition'
import { findProgram } from '../executors/executor'
import { sharedProtocols } from '../executors/programs'
import { findWorking } from '../loop/admit-request'
import type { Effect } from '../loop/effect'
import type { LoopEvent } from '../loop/event'
import type { Message } from '../loop/message'
import type { ProgramState } from '../loop/program-state'
import { findWaitEnd } from '../loop/program-waits'
import { buildTranscript } from '../loop/transcript'
import { protocolsOf } from '../models/model-protocols'
import { fence } from '../text/fence'
import { type EffectContext, notifyWatchers, resolveModel } from './effect-context'
import { readWork, type Work } from './read-work'

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
