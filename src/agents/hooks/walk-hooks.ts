import type { Awaitable, Hook, HookPoint, HookTiming } from './hook'

/** What came of asking one hook. */
type Settled<Answer> =
  | { ok: true; answer: Answer }
  | { ok: false; outcome: 'failed' | 'timed_out'; cause: unknown }

/** How hooks are asked at one point, and what their answers mean. */
export interface Walk<Value, Answer> {
  point: HookPoint
  ask(hook: Hook, value: Value): Awaitable<Answer>
  take(value: Value, answer: Answer, hook: Hook): Value
  /** Absent: a hook that fails changes nothing. */
  takeFailure?(value: Value, hook: Hook): Value
  /** The hooks after are not asked. */
  isDenied?(value: Value): boolean
}

export interface WalkDeps {
  now(): number
  report(timing: HookTiming, cause: unknown): void
  timeoutMs: number
}

/** What the hooks made of something, and how long each took. */
export interface Hooked<Value> {
  value: Value
  timings: HookTiming[]
}

/** Asks hooks one after the other, each about what the ones before it left. */
export function walkHooks<Value, Answer>(
  deps: WalkDeps,
  hooks: readonly Hook[],
  walk: Walk<Value, Answer>,
  start: Value,
): Awaitable<Hooked<Value>> {
  const timings: HookTiming[] = []
  const goOn = (value: Value, from: number): Awaitable<Hooked<Value>> => {
    let current = value
    for (let index = from; index < hooks.length; index++) {
      const hook = hooks[index]
      if (!hook || walk.isDenied?.(current)) break
      const startedAt = deps.now()
      const settled = askHook(deps, () => walk.ask(hook, current))
      if (settled instanceof Promise) {
        return settled.then((later) =>
          goOn(
            conclude(deps, walk, timings, { hook, value: current, startedAt }, later),
            index + 1,
          ),
        )
      }
      current = conclude(deps, walk, timings, { hook, value: current, startedAt }, settled)
    }
    return { value: current, timings }
  }
  return goOn(start, 0)
}

/** Asks all hooks at once; their answers mean nothing. */
export function tellHooks(
  deps: WalkDeps,
  hooks: readonly Hook[],
  point: HookPoint,
  tell: (hook: Hook) => Awaitable<void>,
): Awaitable<HookTiming[]> {
  const walk: Walk<null, void> = { point, ask: tell, take: () => null }
  const told = hooks.map((hook) => walkHooks(deps, [hook], walk, null))
  if (!told.some((each) => each instanceof Promise)) {
    return (told as Hooked<null>[]).flatMap(({ timings }) => timings)
  }
  return Promise.all(told).then((all) => all.flatMap(({ timings }) => timings))
}

/** A hook that answers at once costs no promise and no timer. */
function askHook<Answer>(
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
  const cause = `no answer within ${timeoutMs} ms`
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

interface Asked<Value> {
  hook: Hook
  value: Value
  startedAt: number
}

function conclude<Value, Answer>(
  deps: WalkDeps,
  walk: Walk<Value, Answer>,
  timings: HookTiming[],
  { hook, value, startedAt }: Asked<Value>,
  settled: Settled<Answer>,
): Value {
  const note = (outcome: HookTiming['outcome'], cause?: unknown) => {
    const ms = Math.max(0, deps.now() - startedAt)
    const timing: HookTiming = { hook: hook.name, point: walk.point, ms, outcome }
    timings.push(timing)
    if (outcome === 'failed' || outcome === 'timed_out') deps.report(timing, cause)
  }
  const fail = (outcome: 'failed' | 'timed_out', cause: unknown) => {
    note(outcome, cause)
    return walk.takeFailure ? walk.takeFailure(value, hook) : value
  }
  if (!settled.ok) return fail(settled.outcome, settled.cause)
  try {
    const taken = walk.take(value, settled.answer, hook)
    note(walk.isDenied?.(taken) ? 'denied' : 'ok')
    return taken
  } catch (cause) {
    return fail('failed', cause)
  }
}
