import type { ModelConnection } from '../../hub/contract/models'
import type { AccountId, ActivationId } from '../../shared/ids'
import type {
  ModelProtocol,
  ProgramType,
  RunOrder,
  RunReport,
  runStopReasons,
} from '../../shared/runner-protocol'

/** Order without what the runners' object adds: the token and the addresses of the hub. */
export type NewRun = Omit<RunOrder, 'token' | 'endpoints'> & {
  /** The agent whose object receives the reports; not part of the order. */
  agent_id: AccountId
  /** Labels that a runner must have. */
  runs_on: string[]
}

/** The runners' object, as an agent's object uses it. Every call is idempotent for an attempt. */
export interface RunnerApi {
  /**
   * Gives the attempt to a free runner, now or when one connects. `busy`: suitable runners are connected and have
   * no free slot; `nobody`: none that is suitable is connected. Both wait until `limits.ends_at`.
   */
  start(run: NewRun): Promise<{ kind: 'started' | 'busy' | 'nobody' }>
  /** Ends the attempt wherever it is. */
  stop(
    run: Pick<NewRun, 'activation_id' | 'attempt'>,
    reason: (typeof runStopReasons)[number],
  ): Promise<void>
  /** Lets connected runners delete sessions of programs; what others hold is deleted by its age. */
  forgetSessions(sessionIds: string[]): Promise<void>
}

/** An agent's object, as the runners' object uses it. */
export interface RunReceiver {
  /**
   * Stores reports of an attempt, from number `first` on. Returns the highest number that is stored, or null when the
   * attempt is not the current one of a running activation.
   */
  receiveReports(
    activationId: ActivationId,
    attempt: number,
    first: number,
    reports: RunReport[],
  ): Promise<{ stored: number } | null>
  /** The runner of the attempt is gone for good, or refused the order. */
  loseRun(activationId: ActivationId, attempt: number, reason: string): Promise<void>
}

/** A model request of a program, before it is sent to the provider. */
export interface ModelRequestFacts {
  /** Of the run's token; a request of an earlier attempt is refused. Absent: the current one. */
  attempt?: number
  protocol: ModelProtocol
  /** As the program named it. */
  model: string
  /** An upper bound of its prompt in tokens, tools included, for any tokenizer. */
  promptTokensMax: number
  /** Estimate of the same. */
  promptTokens: number
  /** What the program allows the answer; null when it does not say. */
  outputTokens: number | null
}

export type ModelRequestRefusal =
  /** The activation has ended, is another one, or the token is of another attempt. */
  | 'not_running'
  | 'wrong_model'
  | 'max_iterations'
  | 'max_tokens'
  | 'max_duration'
  | 'budget_exhausted'
  | 'paused'
  /** The hub has not seen `tools/list` with this token. */
  | 'no_tools'

/** The definition's `brain`, as far as it says where its model is. */
export interface ModelPlace {
  provider?: string
  model?: string
  apiBase?: string
  /** Name of the variable that holds the key. */
  apiKeyEnv?: string
  timeouts?: { firstByteMs?: number; betweenBytesMs?: number }
}

export type ModelRequestAdmission =
  | {
      ok: true
      /** Counts the requests of the activation, from 1. Its worst case is journaled and reserved. */
      request: number
      /** `provider/model`; the definition's, whatever the program asked for. */
      model: string
      /** The most that the answer may have. */
      outputTokens: number
      place: ModelPlace
      /** The providers that admins set up, with sealed keys. */
      connections: readonly ModelConnection[]
    }
  | { ok: false; reason: ModelRequestRefusal; message: string; retryAt?: number }

/** How a model request ended. */
export interface ModelRequestResult {
  /** Of the provider; null when it was not reached. */
  status: number | null
  finish: 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'cancelled' | 'unknown'
  /** As the provider counted; null when it did not say. */
  usage: {
    inputTokens: number
    cachedTokens: number
    cacheWriteTokens: number
    outputTokens: number
    reasoningTokens: number
  } | null
  /** Without usage: whether the provider may bill the request, which is then charged its worst case. */
  mayBeCharged: boolean
  /** Excerpt of the provider's error for the trace, without secrets. */
  problem: string | null
}

/** The object of the agent, as the model gateway uses it. */
export interface ModelRequestArbiter {
  /** Returns the model of the activation as `provider/model`, and its limits; null: it does not run. */
  readRunModel(
    activationId: ActivationId,
  ): Promise<{ model: string; contextTokens: number; outputTokens: number } | null>
  admitRequest(activationId: ActivationId, facts: ModelRequestFacts): Promise<ModelRequestAdmission>
  /** Charges a request once; a repetition changes nothing. */
  settleRequest(
    activationId: ActivationId,
    request: number,
    result: ModelRequestResult,
  ): Promise<void>
  /** The token was used for `tools/list`. */
  noteToolsListed(activationId: ActivationId, attempt?: number): Promise<void>
}

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
