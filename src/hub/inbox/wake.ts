import { scheduling } from '../../shared/config'
import type { ActionContext } from '../database/action-context'
import type { WakeResult } from './delivery-queries'

/**
 * Arms the sweep and returns its token; null when the scheduler fails. Then its regular sweep finds the
 * items later.
 */
export async function armSweep({ scheduler }: ActionContext): Promise<number | null> {
  try {
    return await scheduler.arm()
  } catch {
    return null
  }
}

/** An agent to wake; what is known of it comes from `selectWakeResults`. */
type Woken = Pick<WakeResult, 'accountId'> &
  Partial<Pick<WakeResult, 'isWorkingThere' | 'isRunning' | 'takenSlots'>>

/**
 * Returns the agents to wake: those that run, and as many others as can get a slot. An object that is woken for
 * nothing costs as much as one that runs, and hundreds of them at once hold up every request.
 */
export function takeSlots<Agent extends Woken>(woken: readonly Agent[], capacity: number): Agent[] {
  let free = capacity - (woken[0]?.takenSlots ?? 0)
  return woken.filter(({ isRunning }) => isRunning || free-- > 0)
}

/**
 * Wakes the agents that can get a slot, then disarms the sweep when all wake-ups have arrived. Those that are left are
 * woken by the runs that end before them, and the sweep stays armed. It starts a little later: a run in
 * the same process takes every turn of its event loop, and the answer of the request needs a few of them.
 *
 * @param newsAt what `disarm` announces; a sweep that stays armed finds it
 */
export async function wakeAgents(
  { agents, scheduler, settings }: ActionContext,
  woken: readonly Woken[],
  token: number | null,
  newsAt: number | null = null,
): Promise<void> {
  const taken = takeSlots(woken, settings.ROOKERY_MAX_CONCURRENT)
  if (taken.length > 0) await new Promise((go) => setTimeout(go, scheduling.wakeDelayMs))
  await Promise.all(
    taken.map(({ accountId, isWorkingThere }) => agents.wake(accountId, isWorkingThere === true)),
  )
  if (token !== null && taken.length === woken.length) await scheduler.disarm(token, newsAt)
}
