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

/** Runs hooks in sequence, each on the result of the previous one. Never rejects. */
export async function runHooks<Value, Answer>(
  deps: HookRunDeps,
  hooks: readonly Hook[],
  walk: HookRun<Value, Answer>,
  start: Value,
): Promise<HookResult<Value>> {
  const timings: HookTiming[] = []
  let value = start
  for (const hook of hooks) {
    if (walk.isDenied?.(value)) break
    const called = { hook, value, startedAt: deps.now() }
    const settled = await callHook(deps.timeoutMs, () => walk.call(hook, called.value))
    value = applySettled(deps, walk, timings, called, settled)
  }
  return { value, timings }
}

/** Runs all hooks concurrently and ignores their answers. Never rejects. */
export async function notifyHooks(
  deps: HookRunDeps,
  hooks: readonly Hook[],
  point: HookPoint,
  notify: (hook: Hook) => Awaitable<void>,
): Promise<HookTiming[]> {
  const walk: HookRun<null, void> = { point, call: notify, applyAnswer: () => null }
  const runs = await Promise.all(hooks.map((hook) => runHooks(deps, [hook], walk, null)))
  return runs.flatMap(({ timings }) => timings)
}

/** Calls one hook, and waits for its answer for at most `timeoutMs`. */
async function callHook<Answer>(
  timeoutMs: number,
  call: () => Awaitable<Answer>,
): Promise<Settled<Answer>> {
  const timeout = Promise.withResolvers<Settled<Answer>>()
  const cause = `timed out after ${timeoutMs} ms`
  const timer = setTimeout(
    () => timeout.resolve({ ok: false, outcome: 'timed_out', cause }),
    timeoutMs,
  )
  const first = await Promise.race([settle(call), timeout.promise])
  clearTimeout(timer)
  return first
}

async function settle<Answer>(call: () => Awaitable<Answer>): Promise<Settled<Answer>> {
  try {
    return { ok: true, answer: await call() }
  } catch (cause) {
    return { ok: false, outcome: 'failed', cause }
  }
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
