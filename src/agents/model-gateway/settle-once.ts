import { modelGateway } from '../../shared/config'
import type { ActivationId } from '../../shared/ids'
import type { ModelRequestArbiter, ModelRequestResult } from '../contract/coding-agents'
import type { Clock } from '../models/response-timer'

/** The result of a request without an answer. */
export const noAnswer: ModelRequestResult = {
  status: null,
  finish: 'error',
  usage: null,
  mayBeCharged: false,
  problem: null,
}

/** Reports how a request ended: once, whichever of its ends comes first. */
export interface Settlement {
  settle(result: ModelRequestResult): void
  /** Resolves when the result is stored, or when nobody can store it. */
  done: Promise<void>
}

/**
 * Creates the settlement of an admitted request. An object that does not answer is asked again; when it stays silent,
 * the worst case that it has journaled stands.
 */
export function createSettlement(
  arbiter: ModelRequestArbiter,
  activationId: ActivationId,
  request: number,
  clock: Clock,
): Settlement {
  let finish: () => void = () => undefined
  const done = new Promise<void>((resolve) => {
    finish = resolve
  })
  let isSettled = false
  const wait = (ms: number) => new Promise<void>((resolve) => clock.setTimer(ms, resolve))
  const report = async (result: ModelRequestResult) => {
    for (const ms of [...modelGateway.settleAgainMs, null]) {
      try {
        return await arbiter.settleRequest(activationId, request, result)
      } catch {
        if (ms !== null) await wait(ms)
      }
    }
  }
  return {
    settle(result) {
      if (isSettled) return
      isSettled = true
      void report(result).then(finish, finish)
    },
    done,
  }
}
