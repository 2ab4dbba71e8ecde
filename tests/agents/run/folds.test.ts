import { expect, test } from 'vitest'
import type { RuntimeEvent, Trace, TraceStep, Waterfall } from '../../../src/agents/contract/agents'
import { toRuntimeEvents } from '../../../src/agents/run/live-events'
import { toOtlp } from '../../../src/agents/run/otlp'
import { foldPlan } from '../../../src/agents/run/plan'
import { toRunLog } from '../../../src/agents/run/run-log'
import { toWaterfall } from '../../../src/agents/run/waterfall'
import type { RecordedRun } from './recording'

const files = import.meta.glob<string>('./golden/*.jsonl', {
  query: '?raw',
  import: 'default',
  eager: true,
})

interface Golden {
  run: RecordedRun
  trace: Omit<Trace, 'events'> & { version: 1 }
  live: RuntimeEvent[]
  otlp: unknown
}

const goldens = Object.entries(files).map(([path, text]): [string, Golden] => {
  const [run, trace, live, otlp] = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  return [path.replace(/.*\/(.*)\.jsonl/, '$1'), { run, trace, live, otlp }]
})

const toLog = ({ run: { events, ending, finishedAt } }: Golden) =>
  toRunLog(events, ending, finishedAt)

/** As the hub and clients receive it. */
const asJson = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value))

test('there are goldens', () => expect(goldens.length).toBeGreaterThan(45))

/** Returns the golden's steps with what differs on purpose. */
function correctSteps({ run, trace }: Golden, now: Waterfall): TraceStep[] {
  const answers = run.events.filter((event) => event.type === 'model_answered')
  return trace.steps.map((step, index) => {
    const { at = 0, startedAt = 0 } = answers[index] ?? {}
    return {
      ...step,
      // measured in the journal, as for the total; the charge had a measurement of its own
      modelMs: Math.max(0, at - startedAt),
      // in the order the tools were asked for, not in the order of their results
      tools: step.tools
        .map((tool) => ({
          ...tool,
          // a call that failed before the gateway had no name
          name: tool.name || (now.steps[index]?.tools.find(isSame(tool))?.name ?? ''),
        }))
        .sort((a, b) => placeOf(run, a.callId) - placeOf(run, b.callId)),
    }
  })
}

const isSame =
  ({ callId }: { callId: string }) =>
  (other: { callId: string }) =>
    other.callId === callId

const placeOf = ({ events }: RecordedRun, callId: string): number => {
  const calls = events.flatMap((event) =>
    event.type === 'model_answered' ? event.answer.calls.map((call) => call.callId) : [],
  )
  return calls.indexOf(callId)
}

test.each(goldens)('waterfall: %s', (_name, golden) => {
  const now = asJson(toWaterfall(toLog(golden)))
  const { plan: _plan, version: _version, time, ...rest } = golden.trace
  const { time: timeNow, ...restNow } = now
  // What the goldens compare with is older than the requesters of a run.
  const facts = golden.run.events.find((event) => event.type === 'loaded')?.facts
  const requesters = facts?.requesters ?? []
  expect(restNow).toEqual({ ...rest, changes: [], requesters, steps: correctSteps(golden, now) })
  expect(timeNow.totalMs).toBe(time.totalMs)
})

test.each(goldens)('time: %s', (name, golden) => {
  const { time, steps } = toWaterfall(toLog(golden))
  const { totalMs, ...parts } = time
  expect(Object.values(parts).reduce((sum, ms) => sum + ms, 0)).toBe(totalMs)
  expect(steps.reduce((sum, { modelMs }) => sum + modelMs, 0)).toBe(time.modelMs)
  if (name.startsWith('property')) return
  for (const [index, { modelMs }] of golden.trace.steps.entries()) {
    expect(steps[index]?.modelMs).toBe(modelMs)
  }
  if (name === 'completed-with-hooks') {
    // hooks of a model call run before it starts and after it ends, those of a tool while it runs:
    // the old trace took their time from whatever came before
    expect(time).toMatchObject({ modelMs: 1_800, hooksMs: 5 + 5 + 10 })
    return
  }
  // a call without an answer is no step, so its time is a part of its own
  const { lostMs = 0, ...rest } = time
  expect({ ...rest, modelMs: rest.modelMs + lostMs }).toEqual(golden.trace.time)
})

/** Returns live events without the plan that the end of the run settles, which is new. */
function withoutSettledPlan(now: RuntimeEvent[], before: RuntimeEvent[]): RuntimeEvent[] {
  if (now.length === before.length) return now
  expect(now.slice(-2).map(({ type }) => type)).toEqual(['plan', 'response'])
  return now.toSpliced(-2, 1).map((event, index) => ({ ...event, seq: index + 1 }))
}

test.each(goldens)('live events: %s', (_name, golden) => {
  const now = asJson(toRuntimeEvents(toLog(golden)))
  expect(now.map(({ seq }) => seq)).toEqual(now.map((_, index) => index + 1))
  expect(withoutSettledPlan(now, golden.live)).toEqual(golden.live)
})

test.each(goldens)('plan: %s', (_name, golden) => {
  const { plan } = golden.trace
  const now = foldPlan(toLog(golden))
  const isSettled = golden.run.ending !== null
  const steps = plan.steps.map((step) => {
    const isOpenOwn = step.callId === null && ['pending', 'running'].includes(step.status)
    // the agent's own steps stayed open when the run ended
    return isSettled && isOpenOwn ? { ...step, status: 'not_done' } : step
  })
  expect(now.steps.map(({ callId, title, status }) => ({ callId, title, status }))).toEqual(steps)
  expect(now.goal).toBe(plan.goal)
  const own = steps.filter(({ callId }) => callId === null)
  const done = own.filter(({ status }) => status === 'completed').length
  // a completed run without steps is done
  const isDone = steps.length === 0 && golden.run.ending?.outcome === 'completed'
  expect(now.progress).toBe(own.length > 0 ? done / own.length : isDone ? 1 : plan.progress)
  for (const { status, reason } of now.steps) {
    if (status === 'failed') expect(reason).toEqual(expect.any(String))
  }
})

/** Returns the spans by their ids, with the requested calls of an answer in one order. */
const sortSpans = (otlp: unknown): unknown => {
  const text = JSON.stringify(otlp, (key, value) => {
    if (key === 'spans') return value.toSorted(byText)
    if (key !== 'stringValue' || !value.startsWith('[{"role":"assistant"')) return value
    const [message] = JSON.parse(value)
    return JSON.stringify([{ ...message, parts: message.parts.toSorted(byText) }])
  })
  return JSON.parse(text)
}

const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

test.each(goldens)('spans: %s', (name, golden) => {
  // the model's time there differs between journal and charge
  if (name.startsWith('property')) return
  // a call that failed before the gateway had no name
  if (name === 'world-a-tool-breaks') return
  const now = toOtlp(toWaterfall(toLog(golden)), { hub: 'Test', hasContent: true })
  expect(sortSpans(now)).toEqual(sortSpans(golden.otlp))
})
