import * as z from 'zod'
import type { RunnerRun, RunnerSummary } from '../../agents/contract/agents'
import { programTypes } from '../../shared/runner-protocol'
import { presentTime, timeAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'
import type { RunnerKeyRow } from './queries'

export const runFields = {
  activation_id: z.string(),
  attempt: z.int(),
  agent: z.string().describe('Name of the agent.'),
  program: z.enum(programTypes),
  runs_on: z.array(z.string()).describe('Labels that its runner must have.'),
}

export const runnerAnswer = z
  .object({
    id: z.string(),
    name: z.string(),
    key_id: z.string(),
    version: z.string(),
    labels: z.array(z.string()),
    slots: z.int(),
    has_sandbox: z.boolean(),
    programs: z.array(z.object({ type: z.enum(programTypes), version: z.string() })),
    is_connected: z.boolean(),
    is_draining: z.boolean(),
    connected_at: timeAnswer,
    last_seen_at: timeAnswer,
    runs: z.array(z.object({ ...runFields, started_at: timeAnswer })),
  })
  .meta({ id: 'Runner' })

export const presentRun = presenterOf(z.object(runFields)).from<RunnerRun>({})

export const presentRunner = presenterOf(runnerAnswer).from<RunnerSummary>({
  runs: ({ runs }) =>
    runs.map((run) => ({ ...presentRun(run), started_at: presentTime(run.since) })),
})

export const presentKey = (key: RunnerKeyRow, runners: readonly RunnerSummary[]) => ({
  id: key.id,
  label: key.label,
  created_by: key.createdBy,
  created_at: presentTime(key.createdAt),
  last_used_at: presentTime(key.lastUsedAt),
  connected: runners.filter(({ keyId, isConnected }) => keyId === key.id && isConnected).length,
})
