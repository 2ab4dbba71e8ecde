import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LoopState } from '../../src/agents/loop/state'
import { initialState } from '../../src/agents/loop/state'
import {
  computeTurnMs,
  judgeInterruption,
  RecoveryLane,
  type ResumeMark,
  toMark,
} from '../../src/agents/recovery'
import { recovery } from '../../src/shared/config'

/** A run of a machine that is simulated: its effects come one after the other. */
interface Plan {
  /** How long each effect takes, in milliseconds. */
  effects: number[]
  /** Which effect takes the process down, each time, and after how long; null: none. */
  bad: { effect: number; afterMs: number } | null
  /** When the run is asked for, counted from the first start. */
  arrivesAt: number
}

/** What is on disk of a run. */
interface Stored {
  done: number
  mark: ResumeMark | null
  end: 'completed' | 'set aside' | null
  hasBegun: boolean
}

const stateOf = (name: string, { done }: Stored): LoopState => ({
  ...initialState,
  phase: 'reasoning',
  activationId: name as LoopState['activationId'],
  pending: [{ id: done + 1, type: 'call_model', mustRenew: false }],
})

/**
 * Runs processes, one after the other, over what is on disk, as the shell of each agent does it, until all runs have
 * ended. An operator stops the process at some times, too.
 */
function simulate(plans: Plan[], operatorStops: number[] = []) {
  const stored = plans.map((): Stored => {
    return { done: 0, mark: null, end: null, hasBegun: false }
  })
  let now = 1_000_000
  const begunAt = now
  const stopsAt = operatorStops.map((at) => at + begunAt)
  let starts = 0
  while (stored.some(({ end }) => end === null)) {
    if (++starts > 60) throw new Error('the hub does not start')
    now = runProcess(plans, stored, { now, begunAt, stopsAt })
  }
  return { stored, starts }
}

type Times = { now: number; begunAt: number; stopsAt: number[] }

/** Runs one process until it is taken down, or until nothing is left to do. Returns the time. */
function runProcess(plans: Plan[], stored: Stored[], { now: start, begunAt, stopsAt }: Times) {
  let now = start
  const lane = new RecoveryLane({ now: () => now, newId: () => '' as never })
  const runs = plans.map((plan, at) => new LiveRun(`${at}`, plan, stored[at] as Stored, lane))
  for (;;) {
    for (const run of runs) {
      const isThere = !run.hasEnded && now >= begunAt + run.plan.arrivesAt
      // the next start takes a moment
      if (isThere && run.advance(now) === 'process taken down') return now + 2_000
    }
    if (runs.every(({ hasEnded }) => hasEnded)) return now
    now += recovery.askMs
    if (stopsAt[0] !== undefined && stopsAt[0] <= now) {
      stopsAt.shift()
      return now + 2_000
    }
  }
}

/** A run in a process, which does what the shell of its agent does. */
class LiveRun {
  readonly #name: string
  readonly plan: Plan
  readonly #disk: Stored
  readonly #lane: RecoveryLane
  /** Interruptions in a row without progress; 0: it was not interrupted. */
  readonly #starts: number
  #mayGo: boolean
  /** When its turn ends without progress; null: it has none. */
  #turnEndsAt: number | null = null
  #effect: { endsAt: number; fatalAt: number; release: () => void } | null = null

  constructor(name: string, plan: Plan, disk: Stored, lane: RecoveryLane) {
    this.#name = name
    this.plan = plan
    this.#disk = disk
    this.#lane = lane
    const wasAtWork = disk.hasBegun && disk.end === null
    const judged = wasAtWork ? judgeInterruption(disk.mark, stateOf(name, disk)) : null
    this.#starts = judged?.starts ?? 0
    this.#mayGo = judged === null
    if (judged?.isSetAside) disk.end = 'set aside'
  }

  get hasEnded(): boolean {
    return this.#disk.end !== null
  }

  advance(now: number): 'process taken down' | undefined {
    if (this.#effect && this.#effect.fatalAt <= now) return 'process taken down'
    if (this.#effect && this.#effect.endsAt <= now) {
      this.#endEffect()
      return
    }
    if (this.#turnEndsAt !== null && this.#turnEndsAt <= now) this.#endTurn(false)
    if (!this.#mayGo) this.#ask(now)
    if (this.#mayGo && !this.#effect && !this.#lane.isHeldBack(this.#name)) this.#begin(now)
  }

  #endEffect(): void {
    this.#effect?.release()
    this.#effect = null
    this.#disk.done++
    this.#endTurn(true)
    if (this.#disk.done === this.plan.effects.length) this.#disk.end = 'completed'
  }

  #ask(now: number): void {
    const turn = this.#lane.ask(this.#name, this.#starts)
    if (turn === null) return
    this.#mayGo = true
    this.#mark(turn === 'alone')
    if (turn === 'alone') this.#turnEndsAt = now + computeTurnMs(this.#starts)
  }

  #endTurn(hasProgress: boolean): void {
    if (this.#turnEndsAt === null) return
    this.#turnEndsAt = null
    if (!hasProgress) this.#mark(false)
    this.#lane.endTurn(this.#name)
  }

  #mark(isAlone: boolean): void {
    this.#disk.mark = toMark(stateOf(this.#name, this.#disk), this.#starts, isAlone)
  }

  #begin(now: number): void {
    const { effects: lasting, bad } = this.plan
    const { done } = this.#disk
    this.#disk.hasBegun = true
    this.#effect = {
      endsAt: now + (lasting[done] ?? 0),
      fatalAt: bad?.effect === done ? now + bad.afterMs : Number.POSITIVE_INFINITY,
      release: this.#lane.begin(this.#name),
    }
  }
}

const effects = fc.array(fc.integer({ min: 50, max: 90_000 }), { minLength: 1, maxLength: 4 })
const healthy = fc.record({
  effects,
  bad: fc.constant(null),
  arrivesAt: fc.integer({ min: 0, max: 60_000 }),
})
const fatal = (afterMsMax: number) =>
  fc
    .record({ effects, arrivesAt: fc.integer({ min: 0, max: 60_000 }) })
    .chain(({ effects: given, arrivesAt }) =>
      fc.record({
        effects: fc.constant(given),
        arrivesAt: fc.constant(arrivesAt),
        bad: fc.record({
          effect: fc.integer({ min: 0, max: given.length - 1 }),
          afterMs: fc.integer({ min: 0, max: afterMsMax }),
        }),
      }),
    )

test('L36: of runs in one process, exactly those that take it down are set aside, and all others are completed', () => {
  fc.assert(
    fc.property(
      fc.array(healthy, { maxLength: 6 }),
      fc.array(fatal(60_000), { minLength: 1, maxLength: 3 }),
      (innocent, guilty) => {
        // an effect that ends before it would take the process down is innocent, too
        const plans = [...innocent, ...guilty]
        const { stored, starts } = simulate(plans)
        const isFatal = ({ bad, effects: given }: Plan) =>
          bad !== null && bad.afterMs <= (given[bad.effect] ?? 0)
        expect(stored.map(({ end }) => end)).toEqual(
          plans.map((plan) => (isFatal(plan) ? 'set aside' : 'completed')),
        )
        // a start for each stop, and few stops for each of them
        expect(starts).toBeLessThanOrEqual(1 + 5 * guilty.filter(isFatal).length)
      },
    ),
    { numRuns: 300 },
  )
})

test('L36: a run that takes the process down soon is set aside at its second stop, whatever runs beside it', () => {
  const quick = fc.record({
    effects: fc.array(fc.integer({ min: 50, max: 1_000 }), { minLength: 1, maxLength: 4 }),
    bad: fc.constant(null),
    arrivesAt: fc.integer({ min: 0, max: 5_000 }),
  })
  const afterMs = fc.integer({ min: 0, max: recovery.turnMs - recovery.askMs })
  fc.assert(
    fc.property(fc.array(quick, { maxLength: 6 }), afterMs, (others, after) => {
      const guilty = { effects: [90_000], bad: { effect: 0, afterMs: after }, arrivesAt: 0 }
      const { stored, starts } = simulate([...others, guilty])
      expect(stored.at(-1)?.end).toBe('set aside')
      expect(stored.slice(0, -1).every(({ end }) => end === 'completed')).toBe(true)
      // the first start, and one after each stop
      expect(starts).toBe(3)
    }),
    { numRuns: 200 },
  )
})

test('L36: an operator who stops the process after each run has had its turn loses no run', () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 60_000 }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(fc.array(healthy, { minLength: 1, maxLength: 4 }), gaps, (plans, extra) => {
      // longer than all turns of a start together
      const gapMs = (plans.length + 1) * recovery.turnMsMax + 90_000
      const stops = extra.map((more, index) => (index + 1) * gapMs + more)
      const { stored } = simulate(plans, stops)
      expect(stored.every(({ end }) => end === 'completed')).toBe(true)
    }),
    { numRuns: 100 },
  )
})

test('L36: one stop by an operator at any time loses no run', () => {
  fc.assert(
    fc.property(
      fc.array(healthy, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 0, max: 200_000 }),
      (plans, at) => {
        const { stored } = simulate(plans, [at])
        expect(stored.every(({ end }) => end === 'completed')).toBe(true)
      },
    ),
    { numRuns: 200 },
  )
})
