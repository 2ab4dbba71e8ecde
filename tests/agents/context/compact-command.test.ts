import { expect, test } from 'vitest'
import { findCompact } from '../../../src/agents/context/task-layer'
import type { LoadedActivation, Requester } from '../../../src/hub/contract/hub'
import type { AccountId, CommentId } from '../../../src/shared/ids'
import { aComment, aLoad, anItem, mira, threadWith } from './sources'

/** A load with a comment of mira, in a thread that mira began. */
const say = (text: string, over: Partial<LoadedActivation> = {}) =>
  findCompact({
    ...aLoad,
    thread: threadWith([aComment('c1', text)], { author: mira }),
    items: [{ ...anItem, commentId: 'c1' as CommentId, content: text }],
    ...over,
  })

const ben: Requester = { id: 'ben-id' as AccountId, name: 'ben', role: 'member' }

test.each([
  ['/compact', true],
  ['@scout /compact', true],
  [' @scout, /Compact ', true],
  ['/compact @scout @archivist', true],
  ['what does /compact do?', false],
  ['@scout /compact and then count', false],
  ['/compactor', false],
])('L19: %s is the command: %s', (text, isCommand) => {
  expect(say(text)).toBe(isCommand ? 'allowed' : null)
})

test('L19: only an admin or the author of the post can compact the session of a thread', () => {
  const [own] = aLoad.requesters
  expect(say('/compact', { requesters: [ben] })).toBe('denied')
  expect(say('/compact', { requesters: [...(own ? [own] : []), ben] })).toBe('denied')
  expect(say('/compact', { requesters: [{ ...ben, role: 'admin' }] })).toBe('allowed')
  expect(say('/compact', { requesters: [] })).toBe('denied')
})

test('L19: in a direct message it is for the one who writes, and schedules have no commands', () => {
  const items = [{ ...anItem, postId: null, content: '/compact' }]
  expect(say('', { task: 'dm', thread: null, items, requesters: [ben] })).toBe('allowed')
  expect(say('', { task: 'scheduled', thread: null, items })).toBeNull()
})
