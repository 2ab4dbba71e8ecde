import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createWorld, ended, type FakeRun, goodTurn, live, started, write } from './fake-runner'
import { inObject } from './world'

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

/** The good turn, with the agent's machine stopped at a point; returns the point, or null when there is none. */
const dieAt = (killAt: number) =>
  inObject(async (state) => {
    const written: string[] = []
    const { world, runners } = createWorld(goodTurn(written))
    world.killAt = killAt
    world.hub.ask('@scout count the herons')
    await live(world, state)
    const killed = world.points[killAt - 1] ?? null
    const why = `${killAt} ${killed}`
    expect(world.hub.commits, why).toHaveLength(1)
    const [commit] = world.hub.commits
    expect(commit?.outcome, why).toBe('completed')
    expect(commit?.reply?.content, why).toContain('Nine herons.')
    // the server of the hub's tools asks once, and does not call what was not recorded
    expect(written, why).toHaveLength(killed?.startsWith('begin.') ? 0 : 1)
    expect(runners.orders, why).toHaveLength(1)
    const isOf = (estimated: boolean) =>
      commit?.usage.filter(({ isEstimated }) => isEstimated === estimated) ?? []
    const exact = isOf(false).map(({ costMicrousd }) => costMicrousd)
    expect(exact, why).toEqual([1_500, 1_500])
    // an admission whose answer was lost is charged its worst case at the end, if it was written down
    const lost = isOf(true)
    expect(lost.length, why).toBe(killed === 'admit.after' ? 1 : 0)
    for (const { inputTokens, outputTokens } of lost) {
      expect({ inputTokens, outputTokens }).toEqual({ inputTokens: 5_000, outputTokens: 200 })
    }
    return killed
  })

test('X1 X13: wherever the machine of the agent dies, there is one reply, every request is charged once, and no write happens twice', async () => {
  const met = new Set<string>()
  for (let killAt = 1; killAt < 200; killAt++) {
    const killed = await dieAt(killAt)
    if (killed === null) break
    met.add(killed)
  }
  const names = [
    'load',
    'start',
    'list',
    'admit',
    'renew',
    'settle',
    'begin',
    'end',
    'report',
    'commit',
  ]
  const points = names.flatMap((name) => [`${name}.before`, `${name}.after`])
  expect([...met].sort()).toEqual(points.sort())
})

/** The runner is lost after so many steps of the turn; the next one does the whole turn. */
const loseAfter =
  (steps: number, written: string[], isResumed: boolean) =>
  async (run: FakeRun): Promise<void> => {
    const { attempt } = run.order
    const turn = [
      () => run.report(started({ is_resumed: run.order.session_id !== null && isResumed })),
      () => run.list(),
      () => run.ask({ finish: 'tool-calls' }),
      () => write(run, written),
      () => run.ask(),
      () => run.report(ended()),
    ]
    for (const [index, step] of turn.entries()) {
      if (attempt === 1 && index === steps) {
        await run.until('lose', (desk) => desk.loseRun(run.id, attempt, 'its machine is gone'))
        return
      }
      await step()
    }
  }

test.each([true, false])(
  'X13: a runner that is lost anywhere is replaced, and a write that was made is not made again (session loaded: %s)',
  async (isResumed) => {
    for (let steps = 0; steps < 6; steps++) {
      await inObject(async (state) => {
        const written: string[] = []
        const { world, runners } = createWorld(loseAfter(steps, written, isResumed))
        world.hub.ask('@scout count the herons')
        await live(world, state)
        expect(world.hub.commits).toHaveLength(1)
        const [commit] = world.hub.commits
        const mustEnd = steps > 3 && !isResumed
        expect(commit?.error?.code, `${steps}`).toBe(mustEnd ? 'INTERRUPTED' : undefined)
        expect(written).toHaveLength(1)
        expect(runners.orders.map(({ attempt }) => attempt)).toEqual([1, 2])
        expect(runners.orders[1]?.session_id).toBe(steps === 0 ? null : 's1')
        // what the lost one says later is of no interest
        expect(await runners.runs.get(1)?.report(ended())).toBe(false)
      })
    }
  },
)

test('X13: a push is made again, since its service compares what it has', () =>
  inObject(async (state) => {
    const kinds: unknown[] = []
    const { world } = createWorld(async (run) => {
      const { attempt } = run.order
      await run.report(started({ is_resumed: attempt > 1 }))
      await run.list()
      for (const isPush of [true, false]) {
        const call = { callId: `${attempt} ${isPush}`, tool: isPush ? 'git_push' : 'act' }
        const whole = { ...call, arguments: '{}', isWrite: true, ...(isPush && { isPush }) }
        const answer = await run.until('begin', (desk) => desk.beginCall(run.id, whole, attempt))
        kinds.push(answer.kind)
        const result = { text: 'ok', isError: false, durationMs: 1, resultBytes: 2, grant: null }
        if (answer.kind === 'run')
          await run.until('end', (desk) =>
            desk.endCall(run.id, call.callId, { ...result, decision: 'allowed' }),
          )
      }
      if (attempt === 1) return run.until('lose', (desk) => desk.loseRun(run.id, 1, 'gone'))
      await run.ask()
      return run.report(ended())
    })
    world.hub.ask('@scout push')
    await live(world, state)
    expect(kinds).toEqual(['run', 'run', 'run', 'recorded'])
    expect(world.hub.commits).toMatchObject([{ outcome: 'completed' }])
  }))
