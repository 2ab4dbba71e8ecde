import { describe, expect, test } from 'vitest'
import { accountTag, keyTag } from '../../../src/hub/contract/live-event'
import { runnerLimits } from '../../../src/shared/config'
import { runnerFrameCharsMax } from '../../../src/shared/runner-protocol'
import { adminId, FakeRunner } from './fake-runner'
import { connect, inWorld } from './in-world'

const { graceMs, silenceMs, retryMs, helloMs } = runnerLimits

describe('connections', () => {
  test(
    'X2: reports go on where they were stored, after a cut, a restart and a dead agent',
    inWorld(async (world) => {
      const runner = await connect(world, 'one')
      await world.start('a/1')
      runner.report('a/1')
      await world.settle()
      await runner.cut(false)
      runner.report('a/1')
      world.restart()
      await runner.connect()
      expect(world.stored('a/1')).toEqual(['a/1 1', 'a/1 2'])
      world.areAgentsDown = true
      const { socket } = runner
      runner.report('a/1')
      await world.settle()
      expect(socket?.code).toBe(1013)
      world.areAgentsDown = false
      await runner.connect()
      runner.end('a/1')
      await world.settle()
      expect(world.stored('a/1')).toEqual(['a/1 1', 'a/1 2', 'a/1 3', 'ended'])
      expect(runner.runs.size).toBe(0)
      expect(world.tokens.get('a')).toBe(1.5)
    }),
  )

  test(
    'X2: a runner that comes back in time keeps its runs, else they go to another',
    inWorld(async (world) => {
      world.beginsAgain = true
      const one = await connect(world, 'one')
      await world.start('a/1')
      await one.cut()
      await world.pass(graceMs - 1_000)
      await one.connect()
      await world.pass(10_000)
      expect(world.lost('a')).toEqual([])
      await one.cut()
      const two = await connect(world, 'two')
      await world.pass(graceMs)
      expect(world.lost('a')).toEqual(['Its runner was disconnected and did not come back.'])
      expect(two.started).toEqual(['a/2'])
      // What it still holds of the attempt is forgotten.
      one.report('a/1')
      await one.connect()
      expect(one.received.findLast(({ type }) => type === 'welcome')).toMatchObject({
        forget: [{ activation_id: 'a', attempt: 1 }],
      })
      expect(one.runs.size).toBe(0)
      two.end('a/2')
      await world.settle()
      expect(world.stored('a/2')).toEqual(['ended'])
    }),
  )

  test(
    'X2: a silent runner gets no run, and what it had is lost after the grace',
    inWorld(async (world) => {
      const runner = await connect(world, 'one', { slots: 2 })
      await world.start('a/1')
      const { socket } = runner
      await runner.cut(false)
      await world.pass(silenceMs)
      expect(await world.start('b/1')).toBe('nobody')
      expect(socket).toMatchObject({ isOpen: false, code: 1013 })
      await world.pass(graceMs + 1_000)
      expect(world.lost('a')).toHaveLength(1)
      expect(world.alarmAt).toBeGreaterThan(world.now)
    }),
  )

  test(
    'X2: what a runner lost in a crash is lost at its next hello, its token first',
    inWorld(async (world) => {
      const runner = await connect(world, 'one')
      await world.start('a/1')
      runner.report('a/1')
      await world.settle()
      await runner.crash()
      world.areAgentsDown = true
      await runner.connect()
      await world.pass(1_000)
      expect(world.calls).toEqual(['end a/1'])
      world.areAgentsDown = false
      await world.pass(retryMs)
      expect(world.lost('a')).toEqual(['Its runner does not have it any more.'])
      expect(world.calls).toEqual(['end a/1', 'end a/1', 'lose a/1'])
    }),
  )

  test(
    'X2: an object that died before it sent a run sends it after its restart',
    inWorld(async (world) => {
      const runner = await connect(world, 'one')
      const { promise, resolve } = Promise.withResolvers<void>()
      world.holdTokens = promise
      const starting = world.start('a/1')
      await expect.poll(() => world.shell.list().runners[0]?.runs).toHaveLength(1)
      expect(runner.started).toEqual([])
      world.restart()
      world.holdTokens = Promise.resolve()
      await world.pass(retryMs)
      expect(runner.started).toEqual(['a/1'])
      // What its predecessor still does changes nothing.
      resolve()
      await starting
      expect(runner.started).toEqual(['a/1'])
    }),
  )

  test(
    'X2: a second process with the same key and name replaces the first',
    inWorld(async (world) => {
      const first = await connect(world, 'one')
      const { socket } = first
      const second = await connect(world, 'one')
      expect(socket).toMatchObject({ isOpen: false, code: 4409 })
      expect(world.shell.list().runners).toMatchObject([{ name: 'one', isConnected: true }])
      await world.start('a/1')
      expect([first.started, second.started]).toEqual([[], ['a/1']])
      // What the first one still sends is ignored.
      first.socket = socket
      if (socket) Object.assign(socket, { isOpen: true })
      first.send({ type: 'refuse', activation_id: 'a', attempt: 1, reason: 'No' })
      await world.settle()
      expect(world.shell.list().runners[0]?.runs).toHaveLength(1)
    }),
  )

  test(
    'X3: a revoked key ends its connections at once, and what its runners ran is lost',
    inWorld(async (world) => {
      world.beginsAgain = true
      const one = await connect(world, 'one')
      const away = await connect(world, 'away')
      await world.start('a/1')
      await world.start('b/1')
      await away.cut()
      const other = new FakeRunner(world, 'other', { slots: 4 })
      other.keyId = 'key-2'
      await other.connect()
      const { socket } = one
      await world.shell.disconnect([keyTag('key-1')])
      expect(socket).toMatchObject({ isOpen: false, code: 4403 })
      await world.pass(1_000)
      expect(world.calls.slice(0, 2).sort()).toEqual(['end a/1', 'end b/1'])
      expect(other.started.sort()).toEqual(['a/2', 'b/2'])
      await world.shell.disconnect([accountTag(adminId)])
      expect(other.socket).toBeNull()
    }),
  )

  test(
    'X3: a key that ended unnoticed gets no run',
    inWorld(async (world) => {
      const runner = await connect(world, 'one')
      const { socket } = runner
      world.endedKeys.add('key-1')
      expect(await world.start('a/1')).toBe('nobody')
      expect(socket).toMatchObject({ isOpen: false, code: 4403 })
      expect(runner.started).toEqual([])
    }),
  )

  test(
    'X14: a runner that is gone can be removed; one that is connected cannot',
    inWorld(async (world) => {
      const runner = await connect(world, 'one')
      const id = world.shell.list().runners[0]?.id ?? ''
      await world.start('a/1')
      expect(await world.shell.remove(id)).toBe('connected')
      await runner.cut()
      expect(world.shell.list().runners).toMatchObject([{ isConnected: false, runs: [{}] }])
      expect(await world.shell.remove(id)).toBe('removed')
      expect(await world.shell.remove(id)).toBe('unknown')
      await world.pass(1_000)
      expect(world.lost('a')).toEqual(['Its runner was removed.'])
      await runner.connect()
      expect(world.shell.list().runners).toHaveLength(1)
      expect(runner.runs.size).toBe(0)
    }),
  )
})

describe('frames', () => {
  const start = { activation_id: 'a', attempt: 1 }
  const text = { kind: 'text', text: 'x' }
  const cases: [string, string, RegExp][] = [
    ['no JSON', 'hello', /not JSON/],
    ['a former version', '{"type":"hello","protocol":1}', /speaks version 2 .* Update the runner/],
    ['another message', '{"type":"nothing"}', /Not a message: type/],
    [
      'a report that is none',
      JSON.stringify({ ...start, type: 'report', first: 1, reports: [{ kind: 'x' }] }),
      /reports\.0\.kind/,
    ],
    [
      'an attempt 0',
      JSON.stringify({ type: 'refuse', activation_id: 'a', attempt: 0, reason: '' }),
      /attempt/,
    ],
    [
      'a gap',
      JSON.stringify({ ...start, type: 'report', first: 3, reports: [text] }),
      /Report 1 is missing/,
    ],
    ['a second hello', 'HELLO', /second hello/],
    ['a long frame', 'x'.repeat(runnerFrameCharsMax + 1), /too long/],
  ]
  for (const [what, frame, reason] of cases) {
    test(
      `X2: ${what} closes the connection, and the reason says why`,
      inWorld(async (world) => {
        const runner = await connect(world, 'one')
        await world.start('a/1')
        const { socket } = runner
        runner.send(frame === 'HELLO' ? runner.hello : frame)
        await world.settle()
        expect(socket?.code).toBe(1008)
        expect(socket?.reason).toMatch(reason)
        expect(world.stored('a/1')).toEqual([])
        // The run is not lost by it.
        await runner.connect()
        runner.end('a/1')
        await world.settle()
        expect(world.stored('a/1')).toEqual(['ended'])
      }),
    )
  }

  test(
    'X2: who does not say hello first, or in time, is disconnected',
    inWorld(async (world) => {
      const [early, mute] = [new FakeRunner(world, 'early'), new FakeRunner(world, 'mute')]
      const socket = await early.open()
      early.send({ type: 'refuse', ...start, reason: '' })
      await world.settle()
      expect(socket.reason).toMatch(/must be hello/)
      const other = await mute.open()
      await world.pass(helloMs)
      expect(other).toMatchObject({ isOpen: false, code: 1008 })
      expect(world.alarmAt).toBeNull()
    }),
  )

  test(
    'X2: more reports than fit are sent again later',
    inWorld(async (world) => {
      const runner = await connect(world, 'one')
      await world.start('a/1')
      const { promise, resolve } = Promise.withResolvers<void>()
      world.hold = promise
      const { socket } = runner
      const long = 'x'.repeat(19_000)
      const frame = Array.from({ length: 100 }, () => ({ kind: 'text' as const, text: long }))
      for (let first = 1; first < 1_100; first += 100) {
        runner.send({ type: 'report', ...start, first, reports: frame })
      }
      expect(socket?.code).toBe(1013)
      resolve()
      await world.settle()
      await runner.connect()
      runner.end('a/1')
      await world.settle()
      expect(world.stored('a/1')).toEqual(['ended'])
    }),
  )
})
