import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FactStore } from '../../../src/agents/memory/fact-store'
import { MemoryStore } from '../../../src/agents/memory/memory-store'
import { Journal } from '../../../src/agents/storage/journal'
import { readTables, replaceTables } from '../../../src/agents/storage/transfer'
import type { AccountId } from '../../../src/shared/ids'
import { turn } from '../memory/in-storage'

const agentId = 'agent-1' as AccountId
let objects = 0

/** Runs in the storage of an object in which a run, a fact and a task are. */
const inObject = (work: (storage: DurableObjectStorage) => void): Promise<void> =>
  runInDurableObject(env.AGENTS.getByName(`transfer-${objects++}`), (_object, { storage }) => {
    const journal = new Journal(storage.sql)
    journal.load()
    journal.saveOwner({ agentId })
    const memory = new MemoryStore(storage.sql)
    memory.saveActivation(turn(1))
    const facts = new FactStore(memory)
    facts.save({ text: 'Herons \0 wade 🪶', source: '', privateTo: null, isUntrusted: false }, 1)
    facts.addTask({ text: 'Count', key: 'a', privateTo: null, isUntrusted: false }, 1)
    const gone = { text: 'Owls do not wade', source: '', privateTo: null, isUntrusted: false }
    facts.delete({ id: facts.save(gone, 1)?.id ?? 0, reader: null }, 2)
    work(storage)
  })

interface Table {
  name: string
  columns: string[]
  rows: (string | number | null)[][]
}
const parse = (content: string): Table[] => JSON.parse(content).tables
/** Everything that SQLite has of an object, its schema too. */
const readAll = ({ sql }: DurableObjectStorage) =>
  JSON.stringify([
    sql
      .exec("SELECT name, sql FROM sqlite_master WHERE substr(name, 1, 4) <> '_cf_' ORDER BY 1")
      .toArray(),
    readTables(sql),
  ])

test('H19: the rows of an object are the same in another one, and have no SQL with them', async () => {
  let content = ''
  await inObject(({ sql }) => {
    content = readTables(sql)
  })
  expect(content).not.toContain('CREATE')
  expect(content).toContain('Owls do not wade')
  await inObject((storage) => {
    const before = readAll(storage)
    expect(replaceTables(storage, agentId, content, true)).toBeNull()
    expect(readAll(storage)).toBe(before)
    storage.sql.exec('CREATE TABLE of_another_version (a)')
    storage.sql.exec("INSERT INTO facts (text, source, created_at, used_at) VALUES ('x', '', 1, 1)")
    expect(replaceTables(storage, agentId, content, false)).toBeNull()
    expect(readTables(storage.sql)).toBe(content)
    expect(readAll(storage)).toBe(before)
  })
})

const change = (name: string, edit: (table: Table) => void) => (tables: Table[]) => {
  for (const table of tables) if (table.name === name) edit(table)
  return { tables }
}

describe('a content that is refused changes nothing', () => {
  test.each<[string, (tables: Table[]) => unknown]>([
    [
      'a statement for a table',
      (tables) => ({ tables: tables.map((each) => ({ ...each, sql: 'CREATE TABLE x (a)' })) }),
    ],
    ['statements for indexes', (tables) => ({ tables, indexes: ['DROP TABLE facts'] })],
    [
      'a table that no version has',
      (tables) => ({ tables: [...tables, { name: 'evil', columns: ['a'], rows: [] }] }),
    ],
    [
      'a table of the platform',
      (tables) => ({ tables: [...tables, { name: '_cf_KV', columns: ['key'], rows: [] }] }),
    ],
    [
      'the schema as a table',
      (tables) => ({ tables: [...tables, { name: 'sqlite_master', columns: ['sql'], rows: [] }] }),
    ],
    [
      'a name of every object',
      (tables) => ({ tables: [...tables, { name: 'constructor', columns: ['a'], rows: [] }] }),
    ],
    [
      'a column that is not there',
      change('facts', (table) => {
        table.columns[1] = 'text) VALUES (1); --'
      }),
    ],
    [
      'one column too few',
      change('facts', (table) => {
        table.columns.pop()
        for (const row of table.rows) row.pop()
      }),
    ],
    [
      'a column twice',
      change('facts', (table) => {
        table.columns[1] = 'source'
      }),
    ],
    ['a table twice', (tables) => ({ tables: [...tables, ...tables] })],
    [
      'a short row',
      change('facts', (table) => {
        table.rows[0]?.pop()
      }),
    ],
    [
      'nothing where a value must be',
      change('facts', (table) => {
        table.rows[0]?.fill(null)
      }),
    ],
    [
      'a key twice',
      change('sessions', (table) => {
        table.rows.push(table.rows[0] ?? [])
      }),
    ],
    [
      'a text as the number of a row',
      change('turns', (table) => {
        table.rows[0]?.splice(0, 1, 'x')
      }),
    ],
    [
      'half a character',
      change('facts', (table) => {
        table.rows[0]?.splice(1, 1, '\uD800')
      }),
    ],
    [
      'the journal of another agent',
      change('journal', (table) => {
        table.rows[0]?.splice(2, 1, 'agent-2')
      }),
    ],
    [
      'rows in another order',
      change('facts', (table) => {
        table.rows.unshift([9, 'b', '', 1, 1, '', 0])
      }),
    ],
    [
      'an object for a value',
      change('facts', (table) => {
        table.rows[0]?.splice(1, 1, {} as never)
      }),
    ],
    ['no tables', () => ({})],
    ['a list', () => []],
    ['null', () => null],
  ])('H19: %s', async (_name, edit) => {
    await inObject((storage) => {
      const before = readAll(storage)
      const content = JSON.stringify(edit(parse(readTables(storage.sql)))).replaceAll(
        ':-0,',
        ':-0.0,',
      )
      for (const isTrial of [true, false]) {
        expect(replaceTables(storage, agentId, content, isTrial), content).toEqual(
          expect.any(String),
        )
        expect(readAll(storage)).toBe(before)
      }
    })
  })

  test('H19: text that is not JSON, and anything that is', async () => {
    const value = fc.oneof(fc.string(), fc.integer(), fc.double(), fc.constant(null))
    const name = fc.oneof(
      fc.constantFrom('journal', 'facts', 'kept', 'sqlite_sequence'),
      fc.string(),
    )
    const table = fc.record({
      name,
      columns: fc.array(
        fc.oneof(fc.constantFrom('id', 'text', 'key', 'value', 'seq', 'name'), fc.string()),
      ),
      rows: fc.array(fc.array(value)),
    })
    const contents = fc.oneof(
      fc.string(),
      fc.json(),
      fc.record({ tables: fc.array(table, { maxLength: 3 }) }).map((each) => JSON.stringify(each)),
    )
    await inObject((storage) => {
      const before = readAll(storage)
      fc.assert(
        fc.property(contents, (content) => {
          const refusal = replaceTables(storage, agentId, content, true)
          expect(refusal === null || refusal.length > 0).toBe(true)
          expect(readAll(storage)).toBe(before)
        }),
        { numRuns: 300 },
      )
    })
  })
})
