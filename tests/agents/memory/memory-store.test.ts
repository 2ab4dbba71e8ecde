import { describe, expect, it } from 'vitest'
import type { MemoryStore } from '../../../src/agents/memory/memory-store'
import { memoryLimits } from '../../../src/shared/config'
import { inStorage, turn } from './in-storage'

const question = {
  sessionId: 'general_p1',
  reader: null,
  words: '',
  factsMax: 50,
  retrieval: 'recent',
} as const

const one = (sql: SqlStorage, query: string) => sql.exec(query).one()
const addFact = (memory: MemoryStore, text: string) =>
  memory.write(
    'INSERT INTO facts (text, source, created_at, used_at) VALUES (?, ?, 1, 1)',
    text,
    'mira',
  )

describe('memory between activations', () => {
  it('L39: an agent with nothing to remember has no tables and reads nothing', async () => {
    await inStorage((memory, sql) => {
      const before = one(sql, 'SELECT count(*) AS n FROM sqlite_master').n
      expect(memory.readForPrompt(question)).toEqual({
        summary: '',
        history: [],
        turns: [],
        facts: [],
        tasks: [],
        recentElsewhere: [],
        hasPrivate: false,
        hasUntrusted: false,
      })
      expect(one(sql, 'SELECT count(*) AS n FROM sqlite_master').n).toBe(before)
    })
  })

  it('L39: unused tables are not created: an agent without facts and tasks has neither', async () => {
    await inStorage((memory, sql) => {
      const tables = () =>
        sql
          .exec<{ name: string }>(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
          )
          .toArray()
          .map(({ name }) => name)
          .filter((name) => ['facts', 'sessions', 'tasks', 'turns'].includes(name))
      memory.saveActivation(turn(1))
      expect(tables()).toEqual(['sessions', 'turns'])
      addFact(memory, 'Owls hunt at night.')
      expect(tables()).toEqual(['facts', 'sessions', 'turns'])
      expect(memory.readForPrompt(question).facts).toMatchObject([{ text: 'Owls hunt at night.' }])
    })
  })

  it('L39: facts without any finished activation are read too', async () => {
    await inStorage((memory) => {
      addFact(memory, 'Owls hunt at night.')
      const { facts, history: turns } = memory.readForPrompt(question)
      expect(facts).toMatchObject([{ text: 'Owls hunt at night.' }])
      expect(turns).toEqual([])
    })
  })

  it('L39: turns come back in their order, in their session; elsewhere as one line', async () => {
    await inStorage((memory) => {
      memory.saveActivation(turn(1))
      memory.saveActivation(turn(2))
      memory.saveActivation(turn(3, { sessionId: 'general_p2' }))
      const here = memory.readForPrompt(question)
      expect(here.history).toEqual([turn(1).messages, turn(2).messages])
      expect(here.recentElsewhere).toEqual([{ at: 3_000, gist: 'mira asked 3' }])
      const there = memory.readForPrompt({ ...question, sessionId: 'general_p2' })
      expect(there.history).toEqual([turn(3).messages])
      expect(there.recentElsewhere.map(({ at }) => at)).toEqual([1_000, 2_000])
    })
  })

  it('L39: a turn without a gist is not shown in other sessions', async () => {
    await inStorage((memory) => {
      memory.saveActivation(turn(1, { sessionId: 'dm_mira', gist: '' }))
      expect(memory.readForPrompt(question).recentElsewhere).toEqual([])
    })
  })

  it('L36: saving an activation again changes nothing, counters included', async () => {
    await inStorage((memory, sql) => {
      memory.saveActivation(turn(1))
      memory.saveActivation(turn(1))
      memory.saveActivation(turn(2))
      expect(memory.readStatistics().totals).toEqual({
        activations: 2,
        inputTokens: 200,
        cachedTokens: 20,
        outputTokens: 40,
        costMicrousd: 14,
      })
      expect(one(sql, 'SELECT * FROM sessions')).toMatchObject({
        activations: 2,
        input_tokens: 200,
        created_at: 1_000,
        updated_at: 2_000,
      })
      expect(memory.readStatistics().tools).toMatchObject([{ calls: 4, errors: 2, totalMs: 60 }])
    })
  })

  it('L39: a summary replaces the turns before it; counters are kept', async () => {
    await inStorage((memory) => {
      memory.saveActivation(turn(1))
      memory.saveActivation(turn(2, { sessionId: 'general_p2' }))
      memory.saveActivation(turn(3, { summary: 'They agreed on pelicans.' }))
      const { summary, history: turns } = memory.readForPrompt(question)
      expect(summary).toBe('They agreed on pelicans.')
      expect(turns).toEqual([turn(3).messages])
      expect(memory.readStatistics().totals.activations).toBe(3)
      expect(memory.readForPrompt({ ...question, sessionId: 'general_p2' }).history).toHaveLength(1)
    })
  })

  it('L39: a message list above the row limit is dropped, the counters are kept', async () => {
    await inStorage((memory) => {
      const text = 'x'.repeat(1_100_000)
      memory.saveActivation(turn(1, { messages: [{ role: 'user', text }] }))
      expect(memory.readForPrompt(question).history).toEqual([[]])
      expect(memory.readStatistics().totals.activations).toBe(1)
    })
  })

  it('L39: the least recently used sessions are evicted', async () => {
    await inStorage((memory, sql) => {
      memory.saveActivation(turn(1, { sessionId: 'oldest' }))
      sql.exec(
        `WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < ?)
         INSERT INTO sessions (id, created_at, updated_at) SELECT 'general_' || v, 2000, 2000 FROM n`,
        memoryLimits.sessionsMax,
      )
      for (let id = 2; id <= memoryLimits.sessionsPrunedEvery; id++) memory.saveActivation(turn(id))
      expect(one(sql, 'SELECT count(*) AS n FROM sessions').n).toBe(memoryLimits.sessionsMax)
      expect(one(sql, "SELECT count(*) AS n FROM turns WHERE session_id = 'oldest'").n).toBe(0)
    })
  })
})

describe('facts in a prompt', () => {
  it('D6: `retrieval: recent` gives the newest, `max_facts` of them, newest last', async () => {
    await inStorage((memory) => {
      for (const text of ['one', 'two', 'three']) addFact(memory, text)
      const { facts } = memory.readForPrompt({ ...question, factsMax: 2 })
      expect(facts.map(({ text }) => text)).toEqual(['two', 'three'])
      expect(memory.readForPrompt({ ...question, factsMax: 0 }).facts).toEqual([])
    })
  })

  it('D6: `retrieval: keyword` gives those that share search terms with the task', async () => {
    await inStorage((memory) => {
      addFact(memory, 'Mira counts pelicans every spring.')
      addFact(memory, 'The build runs on two machines.')
      addFact(memory, 'Pelicans nest on the northern lagoon.')
      const { facts } = memory.readForPrompt({
        ...question,
        words: 'where on the lagoon does a pelican nest?',
        retrieval: 'keyword',
      })
      expect(facts.map(({ text }) => text)).toEqual([
        'Mira counts pelicans every spring.',
        'Pelicans nest on the northern lagoon.',
      ])
      const none = memory.readForPrompt({ ...question, words: 'who?', retrieval: 'keyword' })
      expect(none.facts).toEqual([])
    })
  })

  it('L39: a fact that was shown counts as used when the activation has ended', async () => {
    await inStorage((memory, sql) => {
      addFact(memory, 'one')
      memory.readForPrompt(question)
      memory.saveActivation(turn(9))
      expect(one(sql, 'SELECT used_at FROM facts').used_at).toBe(9_000)
    })
  })
})
