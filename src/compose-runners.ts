import { waitUntil } from 'cloudflare:workers'
import type { ModelRequestArbiter, RunReceiver } from './agents/contract/coding-agents'
import {
  createModelGateway,
  type ModelGatewayDeps,
} from './agents/model-gateway/create-model-gateway'
import type { RunnersDeps } from './agents/runners/runners-deps'
import type { RunAttemptApi } from './hub/contract/hub'
import type { ProgramCallRecorder } from './mcp-servers/contract/program-calls'
import { findTokenActivation } from './mcp-servers/outside/authenticate-caller'
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

/** Creates the gateway through which coding agents use models. */
export const createModelHandler = (
  env: Env,
  deps: Parameters<typeof findTokenActivation>[0] & {
    models: Pick<ModelGatewayDeps, 'findUpstream'>
  },
) =>
  createModelGateway({
    findRun: async (token) => {
      const found = await findTokenActivation(deps, token, 'models', systemClock.now())
      if (!found) return null
      const { accountId: agentId, activationId, attempt } = found.claim
      return { agentId, activationId, attempt }
    },
    arbiterOf: (agentId) => getCodingAgent(env, agentId),
    findUpstream: deps.models.findUpstream,
    defer: waitUntil,
  })
