import { expect, test } from 'vitest'
import type { LiveEvent, LiveSnapshot } from '../../../src/hub/contract/live-event'
import { RecentEvents } from '../../../src/hub/live/live-object'

const limits = { recentEventsMax: 3, recentMs: 10, workingMsMax: 100 }
const nobody: LiveSnapshot = { comments: 0, working: [] }
const agent = { id: 'g1', name: 'scout' }
const busy = (id: string): LiveSnapshot => ({
  comments: 0,
  working: [{ activation_id: id, agent, since: 0 }],
})
const work = (id: string, doing: string | null): LiveEvent => ({
  type: 'working',
  activation_id: id,
  agent,
  doing,
  since: 0,
})
const comment = (id: string): LiveEvent => ({ type: 'comment', id, post_id: 'p' })

test('a comment is repeated for a moment; later the database knows it', () => {
  const recent = new RecentEvents(limits)
  recent.add('t', comment('c1'), 0)
  expect(recent.since('t', nobody, 10)).toEqual([comment('c1')])
  expect(recent.since('t', nobody, 11)).toEqual([])
  expect(recent.since('other', nobody, 5)).toEqual([])
})

test('what an agent does is repeated while the database says that it works', () => {
  const recent = new RecentEvents(limits)
  recent.add('t', work('a1', 'reading'), 0)
  recent.add('t', work('a1', 'searching'), 1)
  expect(recent.since('t', busy('a1'), 90)).toEqual([work('a1', 'searching')])
  expect(recent.since('t', busy('a2'), 90)).toEqual([])
})

test('an end that was heard after the database was read is repeated, so that no block stays', () => {
  const recent = new RecentEvents(limits)
  recent.add('t', work('a1', 'reading'), 0)
  recent.add('t', work('a1', null), 5)
  expect(recent.since('t', busy('a1'), 6)).toEqual([work('a1', null)])
})

test('the memory is bounded by number and by age, oldest first', () => {
  const recent = new RecentEvents(limits)
  for (const id of ['a1', 'a2', 'a3', 'a4']) recent.add('t', work(id, 'reading'), 0)
  expect(recent.since('t', nobody, 0)).toHaveLength(3)
  expect(recent.since('t', busy('a1'), 50)).toEqual([])
  recent.add('t', comment('c1'), 101)
  expect(recent.since('t', busy('a4'), 101)).toEqual([comment('c1')])
})
