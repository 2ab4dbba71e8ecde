import type { LaneCall, LaneResult, Usage } from '../../hub/contract/hub'
import type { ActivationId } from '../../shared/ids'
import type { LoopEventOf } from '../loop/event'
import type { JudgeAnswer } from './judge-answer'

/** What a lane has noted of a call when it answered it. */
export type NotedCall = Pick<LaneCall, 'source' | 'isRepeated' | 'current' | 'wouldHave'>

/** How a parked run of a lane goes on. */
export type LaneDecision = Pick<
  LoopEventOf<'resumed'>,
  'activationId' | 'admission' | 'decisions' | 'isCancelled'
>

/** How a comparison has ended. */
export interface JudgeEnd extends Pick<LaneResult, 'outcome' | 'error'> {
  answer: JudgeAnswer
}

/** What a comparison stores: enough to go on after a crash at any point. */
export interface JudgeProgress {
  endsAt: number
  /** All calls that have ended, or were lost. */
  usage: Usage[]
  /** The worst case of the call that may be in flight. */
  sent: Usage | null
  failures: number
  retryAt: number | null
  /** Null until it is decided. */
  end: JudgeEnd | null
}

interface LaneFacts {
  laneId: ActivationId
  /** Set while the run of the lane is parked, until it has gone on. */
  parked: LaneDecision
  /** Why the lane does not show what would have happened. */
  problems: string[]
  /** Of a lane that compares answers. */
  judge: JudgeProgress
  /** The hub has its result. */
  isFinished: true
}

/** What the object of a lane stores besides the journal of its run. */
export class LaneStore {
  readonly #sql: SqlStorage

  constructor(sql: SqlStorage) {
    this.#sql = sql
    this.#create()
  }

  #create(): void {
    this.#sql.exec('CREATE TABLE IF NOT EXISTS lane (key TEXT PRIMARY KEY, value TEXT NOT NULL)')
    this.#sql.exec(
      'CREATE TABLE IF NOT EXISTS lane_calls (call_id TEXT PRIMARY KEY, call TEXT NOT NULL)',
    )
  }

  read<Key extends keyof LaneFacts>(key: Key): LaneFacts[Key] | null {
    const [row] = this.#sql
      .exec<{ value: string }>('SELECT value FROM lane WHERE key = ?', key)
      .toArray()
    return row ? JSON.parse(row.value) : null
  }

  save<Key extends keyof LaneFacts>(key: Key, value: LaneFacts[Key]): void {
    this.#sql.exec(
      'INSERT OR REPLACE INTO lane (key, value) VALUES (?, ?)',
      key,
      JSON.stringify(value),
    )
  }

  addProblem(problem: string): void {
    const problems = this.read('problems') ?? []
    if (!problems.includes(problem)) this.save('problems', [...problems, problem])
  }

  /** Notes how a call was answered, before its result is in the journal. Idempotent. */
  noteCall(callId: string, call: NotedCall): void {
    this.#sql.exec(
      'INSERT OR REPLACE INTO lane_calls (call_id, call) VALUES (?, ?)',
      callId,
      JSON.stringify(call),
    )
  }

  readCalls(): Map<string, NotedCall> {
    const rows = this.#sql
      .exec<{ call_id: string; call: string }>('SELECT call_id, call FROM lane_calls')
      .toArray()
    return new Map(rows.map(({ call_id, call }) => [call_id, JSON.parse(call)]))
  }
}
