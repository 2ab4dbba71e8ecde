import { expect, it } from 'vitest'
import { forgetRequests } from '../../../src/agents/memory/delete-texts'
import type { MemoryStore } from '../../../src/agents/memory/memory-store'
import type { AccountId, ActivationId, PostId } from '../../../src/shared/ids'
import { inStorage, turn } from './in-storage'

const alice = 'alice-id' as AccountId
const read = (memory: MemoryStore, sessionId: string, reader: AccountId | null = null) => {
  const query = { sessionId, reader, words: '', factsMax: 9, retrieval: 'recent' } as const
  return JSON.stringify(memory.readForPrompt(query))
}
const forget = (memory: MemoryStore, id: number, postId = 'p1') =>
  forgetRequests(memory, [{ activationId: `act-${id}` as ActivationId, postId: postId as PostId }])

it('L39 H13: of a request that changed nothing is in a prompt again, in its thread and in others', async () => {
  await inStorage((memory) => {
    memory.saveActivation(turn(1))
    memory.saveActivation(turn(2))
    memory.saveActivation(turn(3, { sessionId: 'general_p2' }))
    expect(read(memory, 'general_p2')).toContain('mira asked 1')
    expect(forget(memory, 1)).toEqual([])
    expect(read(memory, 'general_p1')).not.toMatch(/(question|answer|asked) 1/)
    expect(read(memory, 'general_p2')).not.toContain('mira asked 1')
    expect(read(memory, 'general_p1')).toContain('question 2')
    expect(read(memory, 'general_p2')).toContain('question 3')
  })
})

it('L39 H13: a summary that can hold it goes with the session of the thread, and no other', async () => {
  await inStorage((memory) => {
    memory.saveActivation(turn(1))
    memory.saveActivation(turn(2, { summary: 'Mira asked for a secret.' }))
    memory.saveActivation(turn(3, { sessionId: 'general_p2', summary: 'Plums.' }))
    forget(memory, 1)
    expect(read(memory, 'general_p1')).not.toContain('secret')
    expect(read(memory, 'general_p2')).toContain('Plums.')
  })
})

it('T2 H13: so does a summary that is private to somebody', async () => {
  await inStorage((memory) => {
    memory.saveActivation(turn(1))
    memory.saveActivation(turn(2, { summary: 'Question 1 was a secret.', privateTo: alice }))
    memory.saveActivation(turn(3))
    forget(memory, 1)
    expect(read(memory, 'general_p1', alice)).not.toContain('secret')
    expect(read(memory, 'general_p1', alice)).toContain('question 3')
  })
})

it('an agent that has stored nothing forgets nothing', async () => {
  await inStorage((memory) => {
    expect(forget(memory, 1)).toEqual([])
  })
})
