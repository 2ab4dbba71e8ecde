import type { AccountId, ActivationId, Clock } from '../../shared/ids'
import type { Log } from '../../shared/log'
import type { RunReceiver } from '../contract/coding-agents'
import type { RunKey } from './runner-rows'

/** The attempt that is about to be sent to a runner. */
export interface RunToAuthorize {
  activationId: ActivationId
  attempt: number
  agentId: AccountId
  /** Milliseconds since the epoch, like the token's expiry. */
  endsAt: number
  /** The key of the runner. */
  keyId: string
  /** The repository, as its order names it, and the branches that it may push to; null: none. */
  workspace: { repository: string; push: string[] } | null
}

export type RunAuthorization =
  /** The token opens what the run needs until it ends. */
  | { kind: 'issued'; token: string }
  /** The activation does not run any more, or this is not its current attempt. */
  | { kind: 'run_ended' }
  /** The runner's key is not valid any more. */
  | { kind: 'key_ended' }

/** The hub's record of which attempt of an activation is the current one: tokens of others open nothing. */
export interface RunAttempts {
  /** Makes an attempt the current one, unless a later one is. Returns false when the activation does not run. */
  begin(run: RunKey): Promise<boolean>
  /** Ends what the attempt's token opens. Idempotent. */
  end(run: RunKey): Promise<void>
  /** @throws AppError when no token can be issued for it */
  authorize(run: RunToAuthorize): Promise<RunAuthorization>
}

/** Dependencies of the runners' object, provided by the composition root. */
export interface RunnersDeps {
  attempts: RunAttempts
  /** Returns the object of an agent. */
  receiver(agentId: AccountId): RunReceiver
  clock: Clock
  log: Log
}
