import type { RunnerRun, RunnerSummary } from '../../agents/contract/agents'
import { presentTime } from '../http/answers'
import type { RunnerKeyRow } from './queries'

export const presentRun = (run: RunnerRun) => ({
  activation_id: run.activationId,
  attempt: run.attempt,
  agent: run.agent,
  program: run.program,
  runs_on: run.runsOn,
})

export const presentRunner = (runner: RunnerSummary) => ({
  id: runner.id,
  name: runner.name,
  key_id: runner.keyId,
  version: runner.version,
  labels: runner.labels,
  slots: runner.slots,
  has_sandbox: runner.hasSandbox,
  programs: runner.programs,
  is_connected: runner.isConnected,
  is_draining: runner.isDraining,
  connected_at: presentTime(runner.connectedAt),
  last_seen_at: presentTime(runner.lastSeenAt),
  runs: runner.runs.map((run) => ({ ...presentRun(run), started_at: presentTime(run.since) })),
})

export const presentKey = (key: RunnerKeyRow, runners: readonly RunnerSummary[]) => ({
  id: key.id,
  label: key.label,
  created_by: key.createdBy,
  created_at: presentTime(key.createdAt),
  last_used_at: presentTime(key.lastUsedAt),
  connected: runners.filter(({ keyId, isConnected }) => keyId === key.id && isConnected).length,
})
