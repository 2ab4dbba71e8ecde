import type { Awaitable, Hook, HookPoint, HookTiming } from './hook'

/** The result of one hook. */
type Settled<Answer> =
  | { ok: true; answer: Answer }
  | { ok: false; outcome: 'failed' | 'timed_out'; cause: unknown }

/** How hooks are called at one point, and how their answers are applied. */
export interface Walk<Value, Answer> {
  point: HookPoint
  ask(hook: Hook, value: Value): Awaitable<Answer>
  take(value: Value, answer: Answer, hook: Hook): Value
  /** Applies a failure. By default a failed hook changes nothing. */
  takeFailure?(value: Value, hook: Hook): Value
  /** Whether the remaining hooks are skipped. */
  isDenied?(value: Value): boolean
}

export interface WalkDeps {
  now(): number
  report(timing: HookTiming, cause: unknown): void
  timeoutMs: number
}

/** A value after all hooks, with each hook's timing. */
export interface Hooked<Value> {
  value: Value
  timings: HookTiming[]
}

/** Runs hooks in sequence, each on the result of the previous one. */
export function walkHooks<Value, Answer>(
  deps: WalkDeps,
  hooks: readonly Hook[],
  walk: Walk<Value, Answer>,
  start: Value,
): Awaitable<Hooked<Value>> {
  const timings: HookTiming[] = []
  const continueFrom = (value: Value, from: number): Awaitable<Hooked<Value>> => {
    let current = value
    for (let index = from; index < hooks.length; index++) {
      const hook = hooks[index]
      if (!hook || walk.isDenied?.(current)) break
      const startedAt = deps.now()
      const settled = callHook(deps, () => walk.ask(hook, current))
      if (settled instanceof Promise) {
        return settled.then((later) =>
          continueFrom(
            applySettled(deps, walk, timings, { hook, value: current, startedAt }, later),
            index + 1,
          ),
        )
      }
      current = applySettled(deps, walk, timings, { hook, value: current, startedAt }, settled)
    }
    return { value: current, timings }
  }
  return continueFrom(start, 0)
}

/** Runs all hooks concurrently and ignores their answers. */
export function tellHooks(
  deps: WalkDeps,
  hooks: readonly Hook[],
  point: HookPoint,
  notify: (hook: Hook) => Awaitable<void>,
): Awaitable<HookTiming[]> {
  const walk: Walk<null, void> = { point, ask: notify, take: () => null }
  const runs = hooks.map((hook) => walkHooks(deps, [hook], walk, null))
  if (!runs.some((each) => each instanceof Promise)) {
    return (runs as Hooked<null>[]).flatMap(({ timings }) => timings)
  }
  return Promise.all(runs).then((all) => all.flatMap(({ timings }) => timings))
}

/** Calls one hook. A synchronous answer needs no promise and no timer. */
function callHook<Answer>(
  { timeoutMs }: WalkDeps,
  ask: () => Awaitable<Answer>,
): Awaitable<Settled<Answer>> {
  try {
    const answer = ask()
    if (!(answer instanceof Promise)) return { ok: true, answer }
    return settle(answer, timeoutMs)
  } catch (cause) {
    return { ok: false, outcome: 'failed', cause }
  }
}

async function settle<Answer>(
  promise: Promise<Answer>,
  timeoutMs: number,
): Promise<Settled<Answer>> {
  const timeout = Promise.withResolvers<Settled<Answer>>()
  const cause = `timed out after ${timeoutMs} ms`
  const timer = setTimeout(
    () => timeout.resolve({ ok: false, outcome: 'timed_out', cause }),
    timeoutMs,
  )
  const settled = promise.then(
    (answer): Settled<Answer> => ({ ok: true, answer }),
    (cause: unknown): Settled<Answer> => ({ ok: false, outcome: 'failed', cause }),
  )
  const first = await Promise.race([settled, timeout.promise])
  clearTimeout(timer)
  return first
}

interface CalledHook<Value> {
  hook: Hook
  value: Value
  startedAt: number
}

function applySettled<Value, Answer>(
  deps: WalkDeps,
  walk: Walk<Value, Answer>,
  timings: HookTiming[],
  { hook, value, startedAt }: CalledHook<Value>,
  settled: Settled<Answer>,
): Value {
  const addTiming = (outcome: HookTiming['outcome'], cause?: unknown) => {
    const ms = Math.max(0, deps.now() - startedAt)
    const timing: HookTiming = { hook: hook.name, point: walk.point, ms, outcome }
    timings.push(timing)
    if (outcome === 'failed' || outcome === 'timed_out') deps.report(timing, cause)
  }
  const fail = (outcome: 'failed' | 'timed_out', cause: unknown) => {
    addTiming(outcome, cause)
    return walk.takeFailure ? walk.takeFailure(value, hook) : value
  }
  if (!settled.ok) return fail(settled.outcome, settled.cause)
  try {
    const next = walk.take(value, settled.answer, hook)
    addTiming(walk.isDenied?.(next) ? 'denied' : 'ok')
    return next
  } catch (cause) {
    return fail('failed', cause)
  }
}
