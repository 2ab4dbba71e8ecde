import { expect, test } from 'vitest'
import { decidePrivacy, type Task } from '../../../src/hub/contract/hub'
import type { AccountId, CommunityId } from '../../../src/shared/ids'

const alice = 'alice-id' as AccountId
const bob = 'bob-id' as AccountId

test.each<[Task, boolean]>([
  ['dm', true],
  ['manual', true],
  ['mention', false],
  ['reply', false],
  ['scheduled', false],
  ['exploration', false],
])('T2: a run of the task %s for one requester saves privately: %s', (task, isPrivate) => {
  expect(decidePrivacy({ task, requesterIds: [alice] })).toEqual({
    reader: alice,
    privateTo: isPrivate ? alice : null,
  })
})

test('T1: private data is read only for one requester', () => {
  const nobody = { reader: null, privateTo: null }
  expect(decidePrivacy({ task: 'mention', requesterIds: [alice, bob] })).toEqual(nobody)
  expect(decidePrivacy({ task: 'dm', requesterIds: [alice, bob] })).toEqual(nobody)
  expect(decidePrivacy({ task: 'exploration', requesterIds: [] })).toEqual(nobody)
  expect(decidePrivacy({ task: 'reply', requesterIds: [alice, alice] }).reader).toBe(alice)
})

test('T21: a run in a community that not everybody reads is private to the community', () => {
  const closed = { id: 'cellar-id' as CommunityId, name: 'cellar' }
  const ofCellar = { reader: closed.id, privateTo: closed.id, community: 'cellar' }
  expect(decidePrivacy({ task: 'mention', requesterIds: [alice], closed })).toEqual(ofCellar)
  expect(decidePrivacy({ task: 'mention', requesterIds: [alice, bob], closed })).toEqual(ofCellar)
  expect(decidePrivacy({ task: 'mention', requesterIds: [alice], closed: null }).reader).toBe(alice)
})
