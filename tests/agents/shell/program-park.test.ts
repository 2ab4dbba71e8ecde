import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runWhenApproved } from '../../../src/mcp-servers/outside/record-call'
import type { RunReport } from '../../../src/shared/runner-protocol'
import { agentId } from './fake-hub'
import { begin, createWorld, ended, type FakeRun, live, started, write } from './fake-runner'
import { toApproval, toResult } from './fake-tools'
import { approveAll, inObject, type World } from './world'

beforeEach(() => {
  const wait = scheduler.wait.bind(scheduler)
  // waits for what is lost are skipped
  vi.spyOn(scheduler, 'wait').mockImplementation((ms, options) =>
    wait(ms > 30_000 ? ms : Math.min(ms, 2), options),
  )
})
afterEach(() => {
  vi.restoreAllMocks()
})

let calls = 0
const running = (runAttempt: number) => ({ findActivation: async () => ({ runAttempt }) })
const args = '{"title":"Herons"}'

/** What a program heard of its calls, and the calls that `/mcp` ran. */
interface Heard {
  answers: string[]
  ran: string[]
}

/** The program calls a tool that requires approval, as `/mcp` carries it out. */
async function act(run: FakeRun, world: World, heard: Heard): Promise<void> {
  const call = { callId: `act-${calls++}`, tool: 'act', arguments: args }
  const { callId } = call
  const { attempt } = run.order
  const begun = await run.once('begin', (desk) =>
    desk.beginCall(run.id, { ...call, isWrite: true }, attempt),
  )
  if (begun?.result.kind === 'recorded') heard.answers.push(begun.result.text)
  if (begun?.result.kind !== 'run') return
  const answered = async <Result>(answer: Promise<{ result: Result } | null>) => {
    const found = await answer
    if (!found) throw new Error('The object died.')
    return found.result
  }
  const recorder = {
    awaitApproval: (...of: never[]) =>
      answered(run.once('wait', (desk) => desk.awaitApproval(...(of as unknown as WaitArgs)))),
    endWait: (...of: never[]) =>
      answered(run.once('decide', (desk) => desk.endWait(...(of as unknown as EndArgs)))),
  }
  const statusOf = () => world.hub.decided.get(`${run.id}:${callId}`)?.decision ?? 'pending'
  const result = await runWhenApproved(
    { hub: { ...running(attempt), readApprovalStatus: async () => statusOf() } as never },
    { recorder: recorder as never, activationId: run.id, runAttempt: attempt, callId },
    { signal: run.left.signal, progress: undefined },
    async () => {
      if (statusOf() === 'denied') return toResult(call, 'Error: denied', true)
      if (statusOf() !== 'approved')
        return { ...toResult(call, 'waits'), approval: toApproval(call) }
      heard.ran.push(callId)
      return toResult(call, `did ${args}`)
    },
  ).catch(() => null)
  if (!result || 'isParked' in result) return
  heard.answers.push(result.text)
  await run.until('end', (desk) =>
    desk.endCall(run.id, callId, {
      text: result.text,
      isError: result.isError,
      durationMs: 1,
      resultBytes: 4,
      grant: 'hub:write',
      decision: result.approval ? 'needs_approval' : 'allowed',
    }),
  )
}
type Desk = Parameters<Parameters<FakeRun['once']>[1]>[0]
type WaitArgs = Parameters<Desk['awaitApproval']>
type EndArgs = Parameters<Desk['endWait']>

const hear = (): Heard => ({ answers: [], ran: [] })

/** Calls `act`, and after a wait for approval once more, then answers. */
const actor =
  (heard: Heard, answer: Partial<Extract<RunReport, { kind: 'ended' }>> = {}) =>
  async (run: FakeRun, world: World): Promise<void> => {
    await run.report(started({ is_resumed: run.order.session_id !== null }))
    await run.list()
    await run.ask({ finish: 'tool-calls' })
    await act(run, world, heard)
    if (run.isStopped) return
    await run.ask()
    await run.report(ended(answer))
  }

const asking = (heard: Heard, approvalWaitMs: number) => {
  const made = createWorld(actor(heard))
  made.world.approvalWaitMs = approvalWaitMs
  made.world.hub.ask('@scout post about herons')
  return made
}

/** How often the call ran, over `/mcp` or by the run itself after its wait. */
const countRuns = (world: World, { ran }: Heard): number => ran.length + world.ran.size

test('X6: an approval within the time lets the program go on, and nothing is parked', () =>
  inObject(async (state) => {
    const heard = hear()
    const { world, runners } = asking(heard, 60_000)
    const decide = setInterval(() => {
      const call = world.shell
        ?.readActivation()
        .events.find(({ type }) => type === 'program_call_waits')
      if (call?.type !== 'program_call_waits') return
      const run = runners.runs.get(1)
      if (run) world.hub.decide(run.id, call.approval.callId)
      world.shell?.wake(agentId)
    }, 5)
    await live(world, state)
    clearInterval(decide)
    expect(heard).toEqual({ answers: [`did ${args}`], ran: [expect.any(String)] })
    expect(world.hub.parks).toEqual([])
    expect([runners.orders.length, runners.stops.length, world.ran.size]).toEqual([1, 0, 0])
    expect(world.hub.commits).toMatchObject([{ outcome: 'completed', tools: ['act'] }])
  }))

test('X6 X13: after the time the run parks without its program, and goes on with the result of the approved call', () =>
  inObject(async (state) => {
    const heard = hear()
    const { world, runners } = asking(heard, 20)
    await live(world, state, approveAll)
    const [park] = world.hub.parks
    expect(runners.stops).toEqual(['parked'])
    expect(park).toMatchObject({
      areRequested: true,
      approvals: [{ tool: 'act', arguments: args, callId: expect.stringMatching(/^act-/) }],
    })
    // what was spent is settled; nothing stays reserved for a program that is not there
    expect(park?.usage.map(({ costMicrousd }) => costMicrousd)).toEqual([1_500])
    const [first, second] = runners.orders
    expect([second?.attempt, second?.session_id, runners.orders.length]).toEqual([2, 's1', 2])
    expect(first?.prompt).not.toContain('did {')
    expect(second?.prompt).toContain(`did ${args}`)
    // the call that the program repeats gets the recorded result
    expect([heard.answers.at(-1), heard.ran, world.ran.size]).toEqual([`did ${args}`, [], 1])
    expect(world.hub.commits).toHaveLength(1)
    const [commit] = world.hub.commits
    expect(commit).toMatchObject({ outcome: 'completed', activationId: park?.activationId })
    expect(commit?.usage.map(({ costMicrousd }) => costMicrousd)).toEqual([1_500, 1_500, 1_500])
  }))

test('X6: a denial after the time is what the program reads, and what it hears when it repeats the call', () =>
  inObject(async (state) => {
    const heard = hear()
    const { world, runners } = asking(heard, 20)
    await live(world, state, ({ hub }) => {
      for (const { activationId, callId } of hub.listOpen())
        hub.decide(activationId, callId, { decision: 'denied', note: 'Herons again?' })
    })
    const text = 'Error: denied by tomas: Herons again?'
    expect(runners.orders[1]?.prompt).toContain(text)
    expect(heard.answers.at(-1)).toBe(text)
    expect(countRuns(world, heard)).toBe(0)
    expect(world.hub.commits).toMatchObject([{ outcome: 'completed' }])
  }))

test('X6: what a stopped run waits for ends with it, and its program does not come back', () =>
  inObject(async (state) => {
    const heard = hear()
    const { world, runners } = asking(heard, 20)
    await live(world, state, ({ hub }) => {
      for (const row of hub.rows.values()) row.isCancelled = true
    })
    expect(runners.orders).toHaveLength(1)
    expect(countRuns(world, heard)).toBe(0)
    expect(world.hub.commits).toMatchObject([{ outcome: 'cancelled' }])
  }))

test('X6: a program without a session that has written is not ended: it hears that it must repeat the call', () =>
  inObject(async (state) => {
    const heard = hear()
    const { world, runners } = createWorld(async (run, its) => {
      await run.report(started({ session_id: null }))
      await run.list()
      await write(run, [])
      await act(run, its, heard)
      await run.ask()
      await run.report(ended({ session_id: null }))
    })
    world.approvalWaitMs = 20
    world.hub.ask('@scout post about herons')
    await live(world, state)
    expect(heard.answers).toEqual(['waits'])
    expect([world.hub.parks.length, runners.stops.length]).toEqual([0, 0])
    expect(world.hub.commits).toMatchObject([{ outcome: 'completed' }])
  }))

test('X6: a program that leaves its call goes on, and the run does not park for it', () =>
  inObject(async (state) => {
    const heard = hear()
    const { world } = createWorld(async (run, its) => {
      await begin(run)
      setTimeout(() => run.left.abort(), 30)
      await act(run, its, heard)
      await run.ask()
      await run.report(ended())
    })
    world.hub.ask('@scout post about herons')
    await live(world, state)
    expect(heard.answers).toEqual(['waits'])
    expect(world.hub.parks).toEqual([])
    expect(world.hub.commits).toMatchObject([{ outcome: 'completed' }])
  }))

test('X6 X11: while a run parks, the work of its program can be pushed and nothing else called, and it can be cancelled', () =>
  inObject(async (state) => {
    const heard = hear()
    const begun: unknown[] = []
    const { world, runners } = asking(heard, 20)
    const { stop } = runners
    runners.stop = async (attempt, reason) => {
      const run = runners.runs.get(1)
      const call = { callId: 'late-', arguments: '{}', isWrite: true }
      for (const [tool, isPush] of [['act'], ['git_push', true]] as const) {
        const late = { ...call, callId: `late-${tool}`, tool, ...(isPush && { isPush }) }
        begun.push(await run?.once('begin', (desk) => desk.beginCall(run.id, late, 1)))
      }
      if (run && mustCancel) world.shell?.cancel(run.id)
      return stop.call(runners, attempt, reason)
    }
    let mustCancel = false
    await live(world, state, approveAll)
    expect(begun).toMatchObject([{ result: { kind: 'refused' } }, { result: { kind: 'run' } }])
    // a push that nobody ended is no write in doubt: the run went on
    expect([runners.orders.length, world.hub.parks.length]).toEqual([2, 1])
    expect(world.hub.commits).toMatchObject([{ outcome: 'completed' }])

    mustCancel = true
    world.hub.ask('@scout and once more')
    await live(world, state, approveAll)
    expect([world.hub.parks.length, world.ran.size]).toEqual([1, 1])
    expect(world.hub.commits).toMatchObject([{ outcome: 'completed' }, { outcome: 'cancelled' }])
  }))

/** The run that parks, with the agent's machine stopped at a point; returns the point, or null when there is none. */
const dieAt = (killAt: number) =>
  inObject(async (state) => {
    const heard = hear()
    const { world, runners } = asking(heard, 0)
    world.killAt = killAt
    await live(world, state, approveAll)
    const killed = world.points[killAt - 1] ?? null
    const why = `${killAt} ${killed}`
    expect(world.hub.commits, why).toHaveLength(1)
    const [commit] = world.hub.commits
    // a call of which nobody knows whether it began is not made, and one in doubt is not made again
    const isUnmade = killed?.startsWith('begin.') || killed?.startsWith('tool.')
    expect(countRuns(world, heard), why).toBeLessThanOrEqual(1)
    if (!isUnmade) expect(countRuns(world, heard), why).toBe(1)
    expect(commit?.outcome, why).toBe('completed')
    expect(runners.orders.length, why).toBeLessThanOrEqual(3)
    const exact = commit?.usage.filter(({ isEstimated }) => !isEstimated) ?? []
    for (const { costMicrousd } of exact) expect(costMicrousd, why).toBe(1_500)
    return killed
  })

test('X6 X13: wherever the machine of the agent dies around a wait for approval, there is one reply, and the call runs at most once', async () => {
  const met = new Set<string>()
  for (let killAt = 1; killAt < 200; killAt++) {
    const killed = await dieAt(killAt)
    if (killed === null) break
    met.add(killed)
  }
  for (const name of ['wait', 'stop', 'park', 'load', 'tool', 'start', 'commit']) {
    expect([...met]).toContain(`${name}.before`)
    expect([...met]).toContain(`${name}.after`)
  }
})
