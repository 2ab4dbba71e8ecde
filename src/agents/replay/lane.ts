import type { GrantPolicy, JudgeOrder, LaneOrder, ReplayApi } from '../../hub/contract/hub'
import type { Clock } from '../../shared/ids'
import { readDefinition } from '../definitions/read-definition'
import type { DefinitionSource } from '../effects/effect-context'
import type { LoopEvent } from '../loop/event'
import type { LaneStore } from './lane-store'
import { readRecord } from './read-record'
import { listCalls, type RecordedCall, type RecordedRun, toCallKey } from './recorded-run'

/** What a lane runs from, read. */
export interface OpenedLane {
  order: LaneOrder
  run: RecordedRun
  /** The definition of the run, or the draft; or why it cannot be used. */
  definition: Awaited<ReturnType<DefinitionSource['read']>>
}

interface LaneDeps {
  replays: Pick<ReplayApi, 'openLane'>
  definitions: DefinitionSource
  clock: Clock
  store: LaneStore
  /** Returns the events of the lane's run so far. */
  readEvents(): LoopEvent[]
}

/**
 * One lane of a replay: what it was ordered to run, and where its run is in the recorded one. It is read from the hub
 * when it is first needed, and again after a crash.
 */
export class Lane {
  readonly #deps: LaneDeps
  #order: LaneOrder | JudgeOrder | null = null
  #opening: Promise<OpenedLane | null> | null = null
  #opened: OpenedLane | null = null

  constructor(deps: LaneDeps) {
    this.#deps = deps
  }

  /** Returns what the lane is ordered to do; null when it cannot start now, was cancelled or has ended. */
  async readOrder(): Promise<LaneOrder | JudgeOrder | null> {
    const { replays, store, clock } = this.#deps
    const laneId = store.read('laneId')
    this.#order ??= laneId && (await replays.openLane(laneId, clock.now()))
    return this.#order
  }

  /** Returns what the lane runs from; null for `readOrder`. A failure is tried again by the next call. */
  async open(): Promise<OpenedLane | null> {
    this.#opening ??= this.#open()
    try {
      const opened = await this.#opening
      if (!opened) this.#opening = null
      return opened
    } catch (error) {
      this.#opening = null
      throw error
    }
  }

  /** What `open` has returned. */
  get opened(): OpenedLane {
    if (!this.#opened) throw new Error('the lane is not open')
    return this.#opened
  }

  get events(): LoopEvent[] {
    return this.#deps.readEvents()
  }

  async #open(): Promise<OpenedLane | null> {
    const order = await this.readOrder()
    if (!order || order.lane === 'judge') return null
    const read = readRecord(order.observed.record)
    if (!read.ok) throw new Error(`the record of the run cannot be read: ${read.problem}`)
    const definition = await this.#readDefinition(order)
    this.#opened = { order, run: read.run, definition }
    return this.#opened
  }

  async #readDefinition({ agent, draft, observed }: LaneOrder): Promise<OpenedLane['definition']> {
    if (!draft) return this.#deps.definitions.read(agent.name, observed.definition.etag)
    const read = readDefinition(draft)
    if (!read.ok) {
      const [problem] = read.problems
      return { ok: false, message: `The draft is invalid: ${problem?.path} ${problem?.message}` }
    }
    return { ok: true, definition: read.definition }
  }

  /** Returns today's policy, with what the lane's definition requests. */
  get policy(): GrantPolicy {
    const { order, definition } = this.opened
    return { ...order.policy, requested: definition.ok ? definition.definition.grants : [] }
  }

  /** Returns what is recorded of a call of the lane, and whether the record had no more of it; null for nothing. */
  findRecorded(
    callId: string,
    args: string | null = null,
  ): { call: RecordedCall; isRepeated: boolean } | null {
    const calls = listCalls(this.events).map(({ call }) => call)
    const index = calls.findIndex((call) => call.callId === callId)
    const asked = calls[index]
    if (!asked) return null
    const before = calls.slice(0, index)
    const find = (raw: string) => {
      const key = toCallKey(asked.name, raw)
      const sameBefore = before.filter((each) => toCallKey(each.name, each.arguments) === key)
      return this.opened.run.findCall(key, sameBefore.length)
    }
    return find(asked.arguments) ?? (args === null ? null : find(args))
  }

  /** Returns since when the recorded run was at the place where the lane is, and since when the lane is there. */
  #findAnchors(): { recordedAt: number; ownAt: number } {
    const { run } = this.opened
    const { events } = this
    const resumed = events.filter(({ type }) => type === 'resumed')
    const anchor = run.events.filter(({ type }) => type === 'resumed')[resumed.length - 1]
    const loaded = events.find(({ type }) => type === 'loaded')
    const ownAt = (anchor && resumed.at(-1)?.at) ?? loaded?.at ?? this.#deps.clock.now()
    return { recordedAt: anchor?.at ?? run.loadedAt, ownAt }
  }

  /** Returns the time as of which tools answer. What the recorded run did later is not in their answers. */
  get readsAt(): number {
    return this.#findAnchors().recordedAt
  }

  /** Returns the time of the recorded run that a time of the lane stands for. */
  toRunTime(at: number): number {
    const { recordedAt, ownAt } = this.#findAnchors()
    return recordedAt + Math.max(0, at - ownAt)
  }
}

/** Whether the lane runs with the definition of the recorded run, as it was then. */
export const runsAsThen = ({ draft, isAsThen }: LaneOrder): boolean => draft === null && isAsThen
