import type { Awaitable, Hook, HookPoint, HookTiming } from './hook'

/** The result of one hook. */
type Settled<Answer> =
  | { ok: true; answer: Answer }
  | { ok: false; outcome: 'failed' | 'timed_out'; cause: unknown }

/** How hooks are called at one point, and how their answers are applied. */
export interface HookRun<Value, Answer> {
  point: HookPoint
  call(hook: Hook, value: Value): Awaitable<Answer>
  applyAnswer(value: Value, answer: Answer, hook: Hook): Value
  /** Applies a failure. By default a failed hook changes nothing. */
  applyFailure?(value: Value, hook: Hook): Value
  /** Whether the remaining hooks are skipped. */
  isDenied?(value: Value): boolean
}

export interface HookRunDeps {
  now(): number
  report(timing: HookTiming, cause: unknown): void
  timeoutMs: number
}

/** A value after all hooks, with each hook's timing. */
export interface HookResult<Value> {
  value: Value
  timings: HookTiming[]
}

/** Runs hooks in sequence, each on the result of the previous one. */
export function runHooks<Value, Answer>(
  deps: HookRunDeps,
  hooks: readonly Hook[],
  walk: HookRun<Value, Answer>,
  start: Value,
): Awaitable<HookResult<Value>> {
  const timings: HookTiming[] = []
  const continueFrom = (value: Value, from: number): Awaitable<HookResult<Value>> => {
    let current = value
    for (let index = from; index < hooks.length; index++) {
      const hook = hooks[index]
      if (!hook || walk.isDenied?.(current)) break
      const startedAt = deps.now()
      const settled = callHook(deps, () => walk.call(hook, current))
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
export function notifyHooks(
  deps: HookRunDeps,
  hooks: readonly Hook[],
  point: HookPoint,
  notify: (hook: Hook) => Awaitable<void>,
): Awaitable<HookTiming[]> {
  const walk: HookRun<null, void> = { point, call: notify, applyAnswer: () => null }
  const runs = hooks.map((hook) => runHooks(deps, [hook], walk, null))
  if (!runs.some((each) => each instanceof Promise)) {
    return (runs as HookResult<null>[]).flatMap(({ timings }) => timings)
  }
  return Promise.all(runs).then((all) => all.flatMap(({ timings }) => timings))
}

/** Calls one hook. A synchronous answer needs no promise and no timer. */
function callHook<Answer>(
  { timeoutMs }: HookRunDeps,
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
  deps: HookRunDeps,
  walk: HookRun<Value, Answer>,
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
    return walk.applyFailure ? walk.applyFailure(value, hook) : value
  }
  if (!settled.ok) return fail(settled.outcome, settled.cause)
  try {
    const next = walk.applyAnswer(value, settled.answer, hook)
    addTiming(walk.isDenied?.(next) ? 'denied' : 'ok')
    return next
  } catch (cause) {
    return fail('failed', cause)
  }
}
