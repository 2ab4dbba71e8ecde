import type { Effect } from '../loop/effect'
import type { Charge, LoopEvent } from '../loop/event'
import { isProgramOver } from '../loop/step-program'
import type { EffectContext } from './effect-context'

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
