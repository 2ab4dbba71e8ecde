import { expect, it } from 'vitest'
import { FactStore } from '../../../src/agents/storage/fact-store'
import { memoryLimits } from '../../../src/shared/config'
import { inStorage } from './in-storage'

const fact = (text: string, source = '') => ({ text, source })

it('L39: a fact is kept once, however often it is noted', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    const first = facts.save(fact('Mira counts birds.', '@mira'), 1_000)
    expect(facts.save(fact('Mira counts birds.'), 2_000)).toEqual(first)
    const second = facts.save(fact('Herons nest in April.'), 3_000)
    expect(facts.list({ words: null, limit: 10 })).toEqual({
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
    const found = facts.list({ words: 'when do herons nest', limit: 10 })
    expect(found.facts.map(({ text }) => text)).toEqual([
      'Herons nest in April.',
      'Mira counts herons.',
    ])
    expect(found.factCount).toBe(3)
    expect(facts.list({ words: null, limit: 1 }).facts).toHaveLength(1)
  })
})

it('L36: deleting a fact again is idempotent; an unknown fact is reported', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    expect(facts.delete(1)).toBe(false)
    facts.save(fact('one'), 1)
    expect(facts.delete(1)).toBe(true)
    expect(facts.delete(1)).toBe(true)
    expect(facts.delete(2)).toBe(false)
    expect(facts.list({ words: null, limit: 9 }).factCount).toBe(0)
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
    facts.delete(1)
    expect(facts.save(fact('one more'), 1)).not.toBeNull()
  })
})

it('L36: a task is added once per call, completed once, and its number is not reused', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    const task = { text: 'Tell Mira.', key: 'act-1:call-1' }
    expect(facts.addTask(task, 1_000)).toEqual({ id: 1 })
    expect(facts.addTask(task, 2_000)).toEqual({ id: 1 })
    const other = facts.addTask({ ...task, key: null }, 3_000)
    expect(other?.id).toBeGreaterThan(1)
    expect(facts.list({ words: null, limit: 1 }).tasks).toEqual([
      { id: 1, text: 'Tell Mira.', createdAt: 1_000 },
      { ...other, text: 'Tell Mira.', createdAt: 3_000 },
    ])
    expect(facts.completeTask({ id: 1, note: 'told' }, 4_000)).toBe('Tell Mira.')
    expect(facts.completeTask({ id: 1, note: '' }, 5_000)).toBe('Tell Mira.')
    expect(facts.completeTask({ id: 9, note: '' }, 5_000)).toBeNull()
    expect(facts.list({ words: null, limit: 1 }).tasks).toMatchObject([{ ...other }])
    const open = memory.readForPrompt({
      sessionId: 's_1',
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
    const add = (id: number) => facts.addTask({ text: `task ${id}`, key: `key ${id}` }, id)
    for (let id = 0; id < memoryLimits.openTasksMax; id++) expect(add(id)).not.toBeNull()
    expect(add(memoryLimits.openTasksMax)).toBeNull()
    expect(add(memoryLimits.openTasksMax - 1)).toEqual({ id: memoryLimits.openTasksMax })
    facts.completeTask({ id: 1, note: '' }, 1)
    expect(add(memoryLimits.openTasksMax)).not.toBeNull()
  })
})
