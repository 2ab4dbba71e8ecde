import type { RunnerMessage } from '../../shared/runner-protocol'
import type { RunKey, StoredRun } from './runner-rows'

type HeldRun = Extract<RunnerMessage, { type: 'hello' }>['runs'][number]

export interface Reconciliation {
  /** Held by the runner, and nobody waits for them. */
  forget: RunKey[]
  /** Held by the runner; it goes on. */
  goOn: StoredRun[]
  /** Sent to the runner, which does not have them. */
  lost: StoredRun[]
}

/**
 * Compares what a runner holds when it connects with the runs that were sent to it.
 *
 * @param sent runs of the runner that it was given and that have not ended
 */
export function reconcileRuns(
  sent: readonly StoredRun[],
  held: readonly HeldRun[],
): Reconciliation {
  const isSame = (run: StoredRun, key: RunKey) =>
    run.activationId === key.activation_id && run.attempt === key.attempt
  const wasSent = sent.filter(({ sentAt }) => sentAt !== null)
  return {
    forget: held
      .filter((key) => !wasSent.some((run) => isSame(run, key)))
      .map(({ activation_id, attempt }) => ({ activation_id, attempt })),
    goOn: wasSent.filter((run) => held.some((key) => isSame(run, key))),
    lost: wasSent.filter((run) => !held.some((key) => isSame(run, key))),
  }
}
