import { describe, expect, test } from 'vitest'
import { keyTag } from '../../../src/hub/contract/live-event'
import { runnerLimits } from '../../../src/shared/config'
import { FakeRunner } from './fake-runner'
import { connect, inWorld } from './in-world'

const { stopMs, retryMs, overrunMs, endedKeptMs } = runnerLimits

describe('dispatch', () => {
  test(
    'X2: a run goes to a free runner with the program, the labels and the sandbox',
    inWorld(async (world) => {
      const plain = await connect(world, 'plain', { slots: 8 })
      const claude = [{ type: 'claude-code' as const, version: '2' }]
      const big = await connect(world, 'big', {
        labels: ['gpu', 'big'],
        has_sandbox: true,
        programs: claude,
      })
      expect(await world.start('a/1', { program: 'claude-code' })).toBe('started')
      expect(await world.start('b/1', { program: 'claude-code', runs_on: ['gpu'] })).toBe('busy')
      expect(await world.start('c/1', { runs_on: ['gpu'] })).toBe('nobody')
      expect(await world.start('d/1', { builtin: 'files' })).toBe('nobody')
      expect(await world.start('e/1', { program: 'goose' })).toBe('nobody')
      expect(await world.start('f/1')).toBe('started')
      expect([big.started, plain.started]).toEqual([['a/1'], ['f/1']])
      const { waiting } = world.shell.list()
      expect(waiting.map(({ activationId, reason }) => [activationId, reason])).toEqual([
        ['b', 'busy'],
        ['c', 'nobody'],
        ['d', 'nobody'],
        ['e', 'nobody'],
      ])
      big.end('a/1')
      await world.settle()
      expect(big.started).toEqual(['a/1', 'b/1'])
      const both = await connect(world, 'both', { labels: ['gpu'], has_sandbox: true, slots: 2 })
      expect(both.started).toEqual(['c/1', 'd/1'])
    }),
  )

  test(
    'X3: an order holds the run, its token and the addresses of the hub, and nothing else',
    inWorld(async (world) => {
      const runner = await connect(world, 'one')
      await world.start('a/1', { runs_on: [] })
      const start = runner.received.find(({ type }) => type === 'start')
      expect(start).toMatchObject({
        order: {
          activation_id: 'a',
          attempt: 1,
          prompt: 'Fix it.',
          token: 'token of a/1',
          endpoints: {
            models: 'http://hub.test/gateway',
            mcp: 'http://hub.test/mcp',
            git: 'http://hub.test/git',
          },
        },
      })
      expect(JSON.stringify(start)).not.toMatch(/agent_id|agent-1|runs_on|key-1/)
    }),
  )

  test(
    'X2: runs are shared between runners, and a draining one takes none',
    inWorld(async (world) => {
      const [one, two] = [
        await connect(world, 'one', { slots: 4 }),
        await connect(world, 'two', { slots: 2 }),
      ]
      for (const id of ['a', 'b', 'c']) expect(await world.start(`${id}/1`)).toBe('started')
      expect([one.started.length, two.started.length]).toEqual([2, 1])
      const ids = Object.fromEntries(world.shell.list().runners.map(({ name, id }) => [name, id]))
      expect(await world.shell.setDraining(ids.one ?? '', true)).toBe(true)
      expect(one.received.at(-1)).toEqual({ type: 'drain', is_draining: true })
      expect(await world.start('d/1')).toBe('started')
      expect(await world.start('e/1')).toBe('busy')
      expect(two.started).toHaveLength(2)
      // It stays so when it comes back, and what it runs goes on.
      await one.cut()
      await one.connect()
      expect(one.messages.slice(-4)).toEqual(['welcome', 'drain', 'acknowledge', 'acknowledge'])
      expect(one.started).toHaveLength(2)
      await world.shell.setDraining(ids.one ?? '', false)
      expect(one.started).toHaveLength(3)
      expect(await world.shell.setDraining('unknown', true)).toBe(false)
    }),
  )

  test(
    'X2: an attempt is sent once, however often it is started, and a later one ends it',
    inWorld(async (world) => {
      const runner = await connect(world, 'one', { slots: 2 })
      const kinds = await Promise.all([world.start('a/1'), world.start('a/1'), world.start('a/1')])
      expect(kinds).toContain('started')
      expect(await world.start('a/1')).toBe('started')
      expect(runner.started).toEqual(['a/1'])
      expect(await world.start('a/2')).toBe('started')
      await world.settle()
      expect(runner.started).toEqual(['a/1', 'a/2'])
      expect(runner.received).toContainEqual({
        type: 'stop',
        activation_id: 'a',
        attempt: 1,
        reason: 'superseded',
      })
      expect(world.stored('a/1')).toEqual([])
      expect([...runner.runs.keys()]).toEqual(['a/2'])
      runner.end('a/2')
      await world.settle()
      expect(await world.start('a/2')).toBe('started')
      expect(await world.start('a/1')).toBe('started')
      expect(runner.started).toHaveLength(2)
    }),
  )

  test(
    'X2: nobody there: a run waits until its deadline, then its agent is notified',
    inWorld(async (world) => {
      expect(await world.start('a/1')).toBe('nobody')
      await world.pass(3_599_000)
      expect(world.lost('a')).toEqual([])
      await world.pass(2_000)
      expect(world.lost('a')).toEqual(['No runner took the run before its deadline.'])
      expect((await connect(world, 'late')).started).toEqual([])
    }),
  )

  test(
    'X2: what a runner refuses goes to another one, or back to its agent',
    inWorld(async (world) => {
      const [one, two] = [new FakeRunner(world, 'one'), new FakeRunner(world, 'two')]
      one.isRefusing = two.isRefusing = true
      await one.connect()
      await world.start('a/1')
      await world.settle()
      await world.pass(1)
      expect(world.lost('a')).toEqual(['The runner refused the run: All slots are in use'])
      await two.connect()
      two.isRefusing = false
      await world.start('b/1')
      await world.settle()
      expect([one.started, two.started]).toEqual([[], ['b/1']])
    }),
  )

  test(
    'X1: while the database does not answer, a run waits; then it goes',
    inWorld(async (world) => {
      const runner = await connect(world, 'one')
      world.isDatabaseDown = true
      await expect(world.start('a/1')).rejects.toThrow('down')
      world.isDatabaseDown = false
      await world.start('b/1', { runs_on: ['x'] })
      world.isDatabaseDown = true
      const labelled = await connect(world, 'two', { labels: ['x'] })
      expect(labelled.started).toEqual([])
      world.isDatabaseDown = false
      await world.pass(retryMs)
      expect(labelled.started).toEqual(['b/1'])
      expect(runner.started).toEqual([])
    }),
  )
})

describe('the end of a run', () => {
  test.each(['its runner has left', 'it was stopped', 'its agent did not answer'] as const)(
    'X2 L36: what was stored by a clock that was ahead, %s, is done within its time after the clock was set back',
    (what) =>
      inWorld(async (world) => {
        const [start, ahead] = [world.now, world.now + 30 * 86_400_000]
        world.now = ahead
        const runner = await connect(world, 'one')
        runner.take = (_socket, message) => void runner.received.push(message)
        await world.start('a/1')
        if (what === 'it was stopped') await world.stop('a/1', 'parked')
        else await runner.cut()
        await world.settle()
        if (what === 'its agent did not answer') {
          world.areAgentsDown = true
          await world.pass(runnerLimits.graceMs + 1)
          world.areAgentsDown = false
        }
        expect(world.lost('a')).toEqual([])
        world.now = start
        world.restart()
        await world.shell.alarm()
        const { stopMs: stopping, graceMs, retryMs: retrying } = runnerLimits
        await world.pass(Math.max(stopping, graceMs, retrying) + 1_000)
        expect(world.lost('a')).toHaveLength(1)
      })(),
  )

  test(
    'X6 X14: a run that parks keeps its token until its end is reported, its key ends, or a time is over',
    inWorld(async (world) => {
      const runner = await connect(world, 'one')
      runner.take = (_socket, message) => void runner.received.push(message)
      const park = async (name: string) => {
        await world.start(name)
        await world.stop(name, 'parked')
        await world.settle()
      }
      await park('a/1')
      expect([world.tokens.get('a'), world.lost('a')]).toEqual([1, []])
      runner.runs.set('a/1', { reports: [], acknowledged: 0 })
      await runner.cut()
      await runner.connect()
      expect(runner.received.at(-2)).toMatchObject({ type: 'stop', reason: 'parked' })
      await world.shell.disconnect([keyTag(runner.keyId)])
      expect(world.tokens.get('a')).toBe(1.5)
      await world.pass(1)
      expect(world.lost('a')).toEqual(['The key of its runner was revoked.'])

      runner.runs.clear()
      await runner.connect()
      await park('b/1')
      await world.pass(runnerLimits.stopMs + 1)
      expect(world.tokens.get('b')).toBe(1.5)
      expect(world.lost('b')).toEqual(['The runner did not report the end of the run.'])
    }),
  )

  test(
    'X9: a stopped run reports the rest; its slot is free then, or after a time',
    inWorld(async (world) => {
      const runner = await connect(world, 'one')
      await world.start('a/1')
      await world.start('b/1')
      runner.report('a/1')
      await world.settle()
      await world.stop('a/1')
      await world.settle()
      expect(world.stored('a/1')).toEqual(['a/1 1', 'ended'])
      expect(runner.started).toEqual(['a/1', 'b/1'])
      await world.start('c/1')
      runner.take = () => undefined
      await world.stop('b/1')
      expect(world.tokens.get('b')).toBe(1.5)
      runner.take = FakeRunner.prototype.take
      await world.pass(stopMs - 1_000)
      expect(runner.started).toHaveLength(2)
      await world.pass(2_000)
      expect(world.lost('b')).toEqual([])
      expect(runner.messages.at(-1)).toBe('start')
      // What waits ends at once, and stays ended.
      await world.start('d/1')
      await world.stop('d/1')
      expect(world.shell.list().waiting).toEqual([])
      await world.stop('unknown/1')
    }),
  )

  test(
    'X9: a run that outlives its deadline is given up',
    inWorld(async (world) => {
      const runner = await connect(world, 'one')
      await world.start('a/1')
      runner.end = () => undefined
      await world.pass(3_600_000 + overrunMs)
      expect(runner.received.at(-1)).toMatchObject({ type: 'stop', reason: 'max_duration' })
      expect(world.lost('a')).toEqual(['The run did not end at its deadline.'])
      await world.pass(2 * endedKeptMs)
      expect(world.alarmAt).toBeNull()
    }),
  )

  test(
    'X1: what an agent does not wait for is acknowledged, and its program stopped',
    inWorld(async (world) => {
      const runner = await connect(world, 'one')
      await world.start('a/1')
      const activation = world.activations.get('a')
      if (activation) activation.attempt = 2
      runner.report('a/1')
      await world.settle()
      expect(runner.messages).toContain('stop')
      expect(runner.runs.size).toBe(0)
      expect(world.shell.list().runners[0]?.runs).toEqual([])
    }),
  )
})
