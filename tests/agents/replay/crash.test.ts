import { expect, test } from 'vitest'
import { inObject } from '../shell/world'
import { LaneWorld } from './lane-world'
import { call, inTurn, type Play, record, say } from './plays'

const play: Play = {
  script: inTurn({ ...call('look', 'act'), text: 'Let me see.' }, say('In March.')),
}

const setUp = async () => {
  const { record: stored, world, commit } = await record(play)
  return { setup: { record: stored, definition: world.define('first') }, commit }
}

test('P11: wherever the object of a lane stops, its result is stored once and no call is paid twice', async () => {
  const { setup, commit } = await setUp()
  const whole = new LaneWorld(setup)
  await inObject((state) => whole.run(state))
  expect(new Set(whole.points.map((point) => point.split('.')[0]))).toEqual(
    new Set(['open', 'renew', 'model', 'finish']),
  )
  for (let killAt = 1; killAt <= whole.points.length; killAt++) {
    const lane = new LaneWorld(setup)
    lane.killAt = killAt
    const result = await inObject((state) => lane.run(state))
    const at = `${killAt}: ${whole.points[killAt - 1]}`
    expect(lane.results, at).toHaveLength(1)
    expect(`@mira ${result.answer}`, at).toBe(commit.reply?.content)
    expect(result.outcome, at).toBe('completed')
    expect(result.calls, at).toHaveLength(2)
    // a lost call is charged once, at its worst, under a number of its own
    const numbers = result.usage.map((each) => each.call)
    expect(numbers, at).toEqual([...numbers.keys()].map((index) => index + 1))
    const paid = result.usage.filter(({ costMicrousd }) => costMicrousd > 0)
    expect(paid.length, at).toBeLessThanOrEqual(
      lane.points.filter((point) => point === 'model.before').length,
    )
    for (const { usage } of lane.renewals) {
      expect(result.usage.slice(0, usage.length), at).toEqual(usage)
    }
  }
})

test.each(['open', 'finish'] as const)(
  'P11: a lane goes on after the hub failed to %s it',
  async (what) => {
    const { setup, commit } = await setUp()
    const lane = new LaneWorld(setup)
    lane.failures[what] = 2
    const result = await inObject((state) => lane.run(state))
    expect(`@mira ${result.answer}`).toBe(commit.reply?.content)
    expect(lane.results).toHaveLength(1)
  },
)

test('P8: a lane that the hub has cancelled stops before its next call', async () => {
  const { setup } = await setUp()
  const lane = new LaneWorld({
    ...setup,
    script: () => {
      lane.isCancelled = true
      return call('look')
    },
  })
  const result = await inObject((state) => lane.run(state))
  expect(result.outcome).toBe('cancelled')
  expect(lane.asked).toHaveLength(1)
})
