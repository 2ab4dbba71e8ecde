import { expect, it } from 'vitest'
import type { SessionMessage } from '../../../src/agents/contract/agents'
import { SessionStore } from '../../../src/agents/memory/session-store'
import { inStorage, turn } from './in-storage'

const question = {
  sessionId: 'general_p1',
  reader: null,
  words: '',
  factsMax: 9,
  retrieval: 'recent',
} as const

it('L40: a snapshot holds the history and the token counters', async () => {
  await inStorage((memory) => {
    const sessions = new SessionStore(memory)
    const lastCall = { promptTokens: 101, completionTokens: 20, contextLimit: 8_192 }
    memory.saveActivation(turn(1, { lastCall }))
    // a run without an answer of a model says nothing about its window
    memory.saveActivation(turn(2, { lastCall: null }))
    expect(sessions.read('general_p1')).toEqual({
      id: 'general_p1',
      summary: '',
      hasShared: true,
      activations: 2,
      inputTokens: 200,
      cachedTokens: 20,
      outputTokens: 40,
      costMicrousd: 14,
      lastCall: { promptTokens: 101, completionTokens: 20, contextLimit: 8_192 },
      createdAt: 1_000,
      updatedAt: 2_000,
      messageCount: 4,
      privateTo: [],
      messages: [...turn(1).messages, ...turn(2).messages],
    })
    expect(sessions.read('general_p2')).toBeNull()
  })
})

it('L40: sessions are listed newest first, with the counters over all of them', async () => {
  await inStorage((memory) => {
    const sessions = new SessionStore(memory)
    expect(sessions.list(10)).toEqual({
      sessions: [],
      totals: { activations: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, costMicrousd: 0 },
      tools: [],
    })
    memory.saveActivation(turn(1))
    memory.saveActivation(turn(2, { sessionId: 'general_p2' }))
    const found = sessions.list(10)
    expect(found.sessions.map(({ id, messageCount }) => [id, messageCount])).toEqual([
      ['general_p2', 2],
      ['general_p1', 2],
    ])
    expect(found.totals).toMatchObject({ activations: 2, costMicrousd: 14 })
    expect(found.tools).toEqual([{ name: 'hub_search', calls: 4, errors: 2, totalMs: 60 }])
    expect(sessions.list(1).sessions).toHaveLength(1)
  })
})

it('L40: a reset session is deleted; the total counters are kept', async () => {
  await inStorage((memory) => {
    const sessions = new SessionStore(memory)
    memory.saveActivation(turn(1))
    expect(sessions.reset('general_p1')).toBe(true)
    expect(sessions.reset('general_p1')).toBe(false)
    expect(memory.readForPrompt(question).history).toEqual([])
    expect(sessions.list(10).totals.activations).toBe(1)
  })
})

it('L19: a summary by the model stands for the turns that it was made of, and for no others', async () => {
  await inStorage((memory) => {
    const sessions = new SessionStore(memory)
    for (let id = 1; id <= 12; id++) memory.saveActivation(turn(id))
    const draft = sessions.draftCompaction('general_p1', 10_000)
    expect(draft?.parts).toMatchObject([
      { owner: '', record: expect.stringContaining('question 1') },
    ])
    const texts = [{ owner: '', text: 'By the model.' }]
    memory.saveActivation(turn(13))
    sessions.compact('general_p1', { revision: draft?.revision ?? 0, texts })
    expect(sessions.read('general_p1')?.summary).toContain('more omitted')
    for (let id = 14; id <= 25; id++) memory.saveActivation(turn(id))
    const { revision } = sessions.draftCompaction('general_p1', 10_000) ?? { revision: 0 }
    expect(sessions.compact('general_p1', { revision, texts })?.replaced).toBeGreaterThan(0)
    expect(sessions.read('general_p1')?.summary).toBe('By the model.')
    expect(sessions.draftCompaction('general_p2', 10_000)).toBeNull()
  })
})

it('L40: a restored session reads as its snapshot, counters included, and counts nothing twice', async () => {
  await inStorage((memory) => {
    const sessions = new SessionStore(memory)
    memory.saveActivation(turn(1, { summary: 'Before.' }))
    const snapshot = sessions.read('general_p1')
    if (!snapshot) throw new Error('no snapshot')
    sessions.reset('general_p1')
    memory.saveActivation(turn(2))
    expect(sessions.restore('general_p1', snapshot, 9_000)).toBe(true)
    expect(sessions.read('general_p1')).toEqual({ ...snapshot, updatedAt: 9_000 })
    expect(memory.readForPrompt(question)).toMatchObject({
      summary: 'Before.',
      history: [turn(1).messages],
    })
    expect(sessions.list(10).totals.activations).toBe(2)
  })
})

it('L19 L40: a manual compaction leaves 60 % of a session, whole groups, and a summary', async () => {
  await inStorage((memory) => {
    const sessions = new SessionStore(memory)
    for (let id = 1; id <= 20; id++) memory.saveActivation(turn(id, { messages: longTurn(id) }))
    const before = sessions.read('general_p1')?.messages ?? []
    const done = sessions.compact('general_p1')
    const after = sessions.read('general_p1')
    expect(done?.replaced).toBeGreaterThan(0)
    expect(done?.messages).toBe(after?.messages.length)
    expect(before.slice(done?.replaced)).toEqual(after?.messages)
    expect(JSON.stringify(after).length).toBeLessThan(JSON.stringify(before).length * 0.75)
    expect(after?.summary).toContain('question 1 ')
    expect(after?.messages[0]?.role).not.toBe('tool')
    expect(after).toMatchObject({ activations: 20, inputTokens: 2_000 })
    expect(sessions.compact('general_p2')).toBeNull()
  })
})

const longTurn = (id: number): SessionMessage[] => [
  { role: 'user', text: `question ${id} ${'and so on '.repeat(60)}` },
  {
    role: 'assistant',
    text: '',
    calls: [{ callId: `c${id}`, name: 'hub_search', arguments: '{}' }],
  },
  {
    role: 'tool',
    results: [{ callId: `c${id}`, name: 'hub_search', text: 'found '.repeat(100), isError: false }],
  },
  { role: 'assistant', text: `answer ${id} ${'because '.repeat(60)}`, calls: [] },
]
