import { expect, test } from 'vitest'
import { aLoad, assemble } from './sources'

const facts = [{ id: 1, text: 'The key is under the mat.', source: '', createdAt: 0 }]
const forGuest = {
  load: {
    ...aLoad,
    requesters: aLoad.requesters.map((each) => ({ ...each, role: 'guest' as const })),
  },
}

test('T1: the prompt for a guest holds nothing of other threads without the grant to read memory', () => {
  expect(assemble({}, { facts }).text).toContain('under the mat')
  const isGranted = (_policy: unknown, grant: string) => grant !== 'memory:read'
  expect(assemble({ ...forGuest, isGranted }, { facts }).text).not.toContain('under the mat')
  expect(assemble({ ...forGuest, isGranted: () => true }, { facts }).text).toContain(
    'under the mat',
  )
})
