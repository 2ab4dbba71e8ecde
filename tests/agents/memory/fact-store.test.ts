import { expect, it } from 'vitest'
import { FactStore } from '../../../src/agents/memory/fact-store'
import { memoryLimits } from '../../../src/shared/config'
import type { AccountId } from '../../../src/shared/ids'
import { inStorage } from './in-storage'

const fact = (text: string, source = '') => ({
  text,
  source,
  privateTo: null,
  isUntrusted: false,
})
const all = { words: null, limit: 10, reader: null }

it('L39: a fact is kept once, however often it is noted', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    const first = facts.save(fact('Mira counts birds.', '@mira'), 1_000)
    expect(facts.save(fact('Mira counts birds.'), 2_000)).toEqual(first)
    const second = facts.save(fact('Herons nest in April.'), 3_000)
    expect(facts.list(all)).toEqual({
      facts: [
        { ...second, text: 'Herons nest in April.', source: '', createdAt: 3_000 },
        { ...first, text: 'Mira counts birds.', source: '@mira', createdAt: 1_000 },
      ],
      factCount: 2,
      tasks: [],
    })
  })
})

it('L39: facts are found by words, the best first', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    for (const text of ['Herons nest in April.', 'Mira counts herons.', 'The hub is new.'])
      facts.save(fact(text), 1)
    const found = facts.list({ ...all, words: 'when do herons nest' })
    expect(found.facts.map(({ text }) => text)).toEqual([
      'Herons nest in April.',
      'Mira counts herons.',
    ])
    expect(found.factCount).toBe(3)
    expect(facts.list({ ...all, limit: 1 }).facts).toHaveLength(1)
  })
})

it('L36: deleting a fact again is idempotent; an unknown fact is reported', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    expect(facts.delete({ id: 1, reader: null }, 9_000)).toBe(false)
    facts.save(fact('one'), 1)
    expect(facts.delete({ id: 1, reader: null }, 9_000)).toBe(true)
    expect(facts.delete({ id: 1, reader: null }, 9_000)).toBe(true)
    expect(facts.delete({ id: 2, reader: null }, 9_000)).toBe(false)
    expect(facts.list({ ...all, limit: 9 }).factCount).toBe(0)
    // a number is never given twice
    expect(facts.save(fact('one'), 1)).toEqual({ id: 2 })
  })
})

it('L39: a full memory reports it, and keeps its facts', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    for (let id = 0; id < memoryLimits.factsMax; id++) facts.save(fact(`fact ${id}`), id)
    expect(facts.save(fact('one more'), 1)).toBeNull()
    expect(facts.save(fact('fact 7'), 1)).toEqual({ id: 8 })
    facts.delete({ id: 1, reader: null }, 9_000)
    expect(facts.save(fact('one more'), 1)).not.toBeNull()
  })
})

it('L36: a task is added once per call, completed once, and its number is not reused', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    const task = { text: 'Tell Mira.', key: 'act-1:call-1', privateTo: null, isUntrusted: false }
    expect(facts.addTask(task, 1_000)).toEqual({ id: 1 })
    expect(facts.addTask(task, 2_000)).toEqual({ id: 1 })
    const other = facts.addTask({ ...task, key: null, isUntrusted: false }, 3_000)
    expect(other?.id).toBeGreaterThan(1)
    expect(facts.list({ ...all, limit: 1 }).tasks).toEqual([
      { id: 1, text: 'Tell Mira.', createdAt: 1_000 },
      { ...other, text: 'Tell Mira.', createdAt: 3_000 },
    ])
    expect(facts.completeTask({ id: 1, note: 'told', reader: null }, 4_000)).toMatchObject({
      text: 'Tell Mira.',
    })
    expect(facts.completeTask({ id: 1, note: '', reader: null }, 5_000)).toMatchObject({
      text: 'Tell Mira.',
    })
    expect(facts.completeTask({ id: 9, note: '', reader: null }, 5_000)).toBeNull()
    expect(facts.list({ ...all, limit: 1 }).tasks).toMatchObject([{ ...other }])
    const open = memory.readForPrompt({
      sessionId: 's_1',
      reader: null,
      words: '',
      factsMax: 1,
      retrieval: 'recent',
    })
    expect(open.tasks).toMatchObject([{ ...other }])
  })
})

it('L39: the number of open tasks is limited; a repeated call adds none', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    const add = (id: number) =>
      facts.addTask(
        { text: `task ${id}`, key: `key ${id}`, privateTo: null, isUntrusted: false },
        id,
      )
    for (let id = 0; id < memoryLimits.openTasksMax; id++) expect(add(id)).not.toBeNull()
    expect(add(memoryLimits.openTasksMax)).toBeNull()
    expect(add(memoryLimits.openTasksMax - 1)).toEqual({ id: memoryLimits.openTasksMax })
    facts.completeTask({ id: 1, note: '', reader: null }, 1)
    expect(add(memoryLimits.openTasksMax)).not.toBeNull()
  })
})

const alice = 'alice-id' as AccountId
const bob = 'bob-id' as AccountId
const textsOf = (facts: FactStore, reader: AccountId | null) =>
  facts.list({ ...all, reader }).facts.map(({ text }) => text)

it('T2: a private fact is seen, counted and deleted only for its reader', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    facts.save(fact('public'), 1)
    const id = facts.save({ ...fact('secret'), privateTo: alice }, 2)?.id ?? 0
    expect(textsOf(facts, alice)).toEqual(['secret', 'public'])
    expect(facts.list({ ...all, reader: alice }).facts[0]).toMatchObject({ isPrivate: true })
    for (const reader of [bob, null]) {
      expect(textsOf(facts, reader)).toEqual(['public'])
      expect(facts.list({ ...all, words: 'secret', reader })).toMatchObject({
        facts: [],
        factCount: 1,
      })
      // the same answer as for a fact that was deleted
      expect(facts.delete({ id, reader }, 9_000)).toBe(true)
    }
    expect(textsOf(facts, alice)).toHaveLength(2)
    expect(facts.delete({ id, reader: alice }, 9_000)).toBe(true)
    expect(textsOf(facts, alice)).toEqual(['public'])
  })
})

it('T2: the same text, private and public, is two facts', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    const shared = facts.save(fact('one'), 1)
    const own = facts.save({ ...fact('one'), privateTo: alice }, 2)
    const other = facts.save({ ...fact('one'), privateTo: bob }, 3)
    expect(new Set([shared?.id, own?.id, other?.id]).size).toBe(3)
    expect(facts.save({ ...fact('one'), privateTo: alice }, 4)).toEqual(own)
    expect(textsOf(facts, null)).toEqual(['one'])
    expect(textsOf(facts, alice)).toEqual(['one', 'one'])
  })
})

it('T2: a private task is seen and completed only for its reader', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    const id =
      facts.addTask({ text: 'Ask.', key: 'a', privateTo: alice, isUntrusted: false }, 1)?.id ?? 0
    for (const reader of [bob, null]) {
      expect(facts.list({ ...all, reader }).tasks).toEqual([])
      expect(facts.completeTask({ id, note: 'x', reader }, 2)).toBeNull()
    }
    expect(facts.list({ ...all, reader: alice }).tasks).toMatchObject([{ id, isPrivate: true }])
    expect(facts.completeTask({ id, note: '', reader: alice }, 3)).toMatchObject({ text: 'Ask.' })
    expect(facts.list({ ...all, reader: alice }).tasks).toEqual([])
  })
})

it('T20: a fact from a run that read untrusted text keeps its mark', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    facts.save({ ...fact('one'), isUntrusted: true }, 1)
    facts.save(fact('one'), 2)
    facts.save(fact('two'), 3)
    expect(facts.list(all).facts.map(({ isUntrusted }) => isUntrusted)).toEqual([undefined, true])
  })
})
