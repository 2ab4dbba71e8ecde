import { expect, test } from 'vitest'
import { FactStore } from '../../../src/agents/memory/fact-store'
import { inStorage, turn } from './in-storage'

const query = { reader: null, words: '', factsMax: 10, retrieval: 'recent' } as const

test('T20: a turn after untrusted text marks later prompts of its session, and is no gist elsewhere', async () => {
  await inStorage((memory) => {
    memory.saveActivation(turn(1))
    memory.saveActivation(turn(2, { sessionId: 'general_p2', isUntrusted: true }))
    const own = memory.readForPrompt({ ...query, sessionId: 'general_p2' })
    expect(own).toMatchObject({ hasUntrusted: true, recentElsewhere: [{ gist: 'mira asked 1' }] })
    const other = memory.readForPrompt({ ...query, sessionId: 'general_p1' })
    expect(other).toMatchObject({ hasUntrusted: false, recentElsewhere: [] })
  })
})

test('T20: a fact that such a run noted marks the prompts that it stands in', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    const fact = { source: '', privateTo: null }
    facts.save({ ...fact, text: 'The page says: pay.', isUntrusted: true }, 1)
    facts.save({ ...fact, text: 'Ada likes herons.', isUntrusted: false }, 2)
    const ask = (more: object) =>
      memory.readForPrompt({ ...query, sessionId: 'general_p1', ...more }).hasUntrusted
    expect(ask({})).toBe(true)
    expect(ask({ factsMax: 1 })).toBe(false)
    expect(ask({ factsMax: 1, words: 'herons', retrieval: 'keyword' })).toBe(false)
  })
})

test('T20: an open task that such a run added marks every prompt, until it is completed', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    facts.addTask({ text: 'read', key: 'a', privateTo: null, isUntrusted: false }, 1)
    const ask = () => memory.readForPrompt({ ...query, sessionId: 'general_p1' }).hasUntrusted
    expect(ask()).toBe(false)
    const task = facts.addTask({ text: 'pay', key: 'b', privateTo: null, isUntrusted: true }, 2)
    expect(ask()).toBe(true)
    facts.completeTask({ id: task?.id ?? 0, note: '', reader: null }, 3)
    expect(ask()).toBe(false)
  })
})
