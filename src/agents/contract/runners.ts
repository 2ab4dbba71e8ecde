/** Runners, as the hub shows and controls them. Types only. */
import type { AccountId, ActivationId } from '../../shared/ids'
import type { ProgramType } from '../../shared/runner-protocol'

/** A connection of a runner, whose key the hub has checked. */
export interface RunnerConnection {
  keyId: string
  /** The account that made the key. */
  accountId: AccountId
  /** Origin of the hub, as the runner reaches it. */
  origin: string
  /** By which `disconnect` finds the connection. */
  tags: string[]
}

/** A run on a runner, or one that waits for a runner. Times are milliseconds since the Unix epoch. */
export interface RunnerRun {
  activationId: ActivationId
  attempt: number
  /** Name of the agent. */
  agent: string
  program: ProgramType
  /** Labels that its runner must have. */
  runsOn: string[]
  /** Since when it waits, or when it was sent to its runner. */
  since: number
}

export interface RunnerSummary {
  id: string
  name: string
  keyId: string
  version: string
  labels: string[]
  slots: number
  hasSandbox: boolean
  programs: { type: ProgramType; version: string }[]
  isConnected: boolean
  isDraining: boolean
  /** When the present or the last connection began. */
  connectedAt: number
  lastSeenAt: number
  runs: RunnerRun[]
}

export interface RunnerList {
  /** By name. */
  runners: RunnerSummary[]
  /** The longest waiting first. `busy`: suitable runners have no free slot; `nobody`: none is connected. */
  waiting: (RunnerRun & { reason: 'busy' | 'nobody' })[]
}

/** The runners' object, as the hub uses it. */
export interface RunnerControl {
  /** Answers the upgrade request of a runner. */
  connect(connection: RunnerConnection, request: Request): Promise<Response>
  list(): Promise<RunnerList>
  /** A draining runner takes no further runs. Returns false for an unknown runner. */
  setDraining(runnerId: string, isDraining: boolean): Promise<boolean>
  /** Removes a runner that is not connected; what it ran is lost. */
  remove(runnerId: string): Promise<'removed' | 'connected' | 'unknown'>
  /** Ends the connections with any of the tags; what their runners run is lost at once. */
  disconnect(tags: string[]): Promise<void>
  /** Closes all connections with 1001; their runners go on and connect again. */
  announceStop(): Promise<void>
}
