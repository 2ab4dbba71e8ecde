import type { ModelRequestArbiter, RunReceiver } from './agents/contract/coding-agents'
import type { RunnersDeps } from './agents/runners/runners-deps'
import type { RunAttemptApi } from './hub/contract/hub'
import type { ProgramCallRecorder } from './mcp-servers/contract/program-calls'
import { createRunAuthorizer } from './mcp-servers/outside/authorize-run'
import { type AccountId, type ActivationId, systemClock } from './shared/ids'
import type { Log } from './shared/log'

type CodingAgent = RunReceiver & ModelRequestArbiter & ProgramCallRecorder

/** Returns the object of an agent whose program runs on a runner. */
export const getCodingAgent = (env: Env, agentId: AccountId): CodingAgent =>
  env.AGENTS.getByName(agentId)

/** Creates the dependencies of the runners' object. */
export function createRunnersDeps(
  env: Env,
  deps: Pick<Parameters<typeof createRunAuthorizer>[0], 'tokens' | 'readToolRestrictions'> & {
    attempts: RunAttemptApi
    log: Log
  },
): RunnersDeps {
  const { attempts, log } = deps
  const toActivation = (id: string) => id as ActivationId
  return {
    attempts: {
      begin: (run) => attempts.beginAttempt(toActivation(run.activation_id), run.attempt),
      end: (run) => attempts.endAttempt(toActivation(run.activation_id), run.attempt),
      authorize: createRunAuthorizer({ ...deps, hub: attempts, clock: systemClock }),
    },
    receiver: (agentId) => getCodingAgent(env, agentId),
    clock: systemClock,
    log,
  }
}
