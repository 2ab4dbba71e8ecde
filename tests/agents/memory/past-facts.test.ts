import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { deleteTexts } from '../../../src/agents/memory/delete-texts'
import { FactStore, KnowledgeStore, PrivateFacts } from '../../../src/agents/memory/fact-store'
import type { MemoryStore } from '../../../src/agents/memory/memory-store'
import type { FoundFacts, RememberedFact } from '../../../src/mcp-servers/contract/tools'
import { memoryLimits } from '../../../src/shared/config'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { sampleSize } from '../../support/sample'
import { inStorage } from './in-storage'

const alice = 'alice-id' as AccountId
const bob = 'bob-id' as AccountId
const readers = [null, alice, bob]
const owners = [null, null, alice, bob]
const texts = ['Herons nest in April.', 'Mira counts herons.', 'Plums are ripe.', 'The hub is new.']
const sources = ['', '@mira', '/p/1']

const kinds = [
  'save',
  'save',
  'save',
  'save',
  'forget',
  'forget',
  'addTask',
  'completeTask',
  'closeTask',
  'share',
  'share',
  'unshare',
  'deleteOwn',
  'correct',
  'deleteKnown',
  'deleteAccount',
] as const

interface Step {
  what: (typeof kinds)[number]
  /** Chooses the text, the fact, the account. */
  a: number
  b: number
  c: number
}

const histories = fc.array(
  fc.record({ what: fc.constantFrom(...kinds), a: fc.nat(11), b: fc.nat(11), c: fc.nat(11) }),
  { minLength: 10, maxLength: 40 },
)

const pick = <Value>(list: readonly Value[], at: number): Value => list[at % list.length] as Value

const manager = {
  self: bob,
  owners: [bob, alice],
  opened: [],
  seesShared: true,
  isManager: true,
}

/** A fact as it is stored, with who has shared it. */
type Row = { id: number; text: string; owner: string; since: number; sharedBy: string | null }

const readRows = (memory: MemoryStore): Row[] => {
  const shares = memory.query<{ id: number; owner: string }>(
    'SELECT fact_id AS id, owner FROM shares',
  )
  return memory
    .query<Omit<Row, 'sharedBy'>>(
      'SELECT id, text, private_to AS owner, max(created_at, changed_at) AS since FROM facts',
    )
    .map((row) => ({ ...row, sharedBy: shares.find(({ id }) => id === row.id)?.owner ?? null }))
}

/** Each step takes a second; the run whose texts are deleted with Alice's account was in these. */
const aliceRun = {
  id: 'act-1' as ActivationId,
  startedAt: 4_000,
  finishedAt: 6_000,
}

function take(memory: MemoryStore, { what, a, b, c }: Step, now: number): void {
  const facts = new FactStore(memory)
  const own = new PrivateFacts(memory)
  const known = new KnowledgeStore(memory)
  const id = 1 + (a % 6)
  const privateTo = pick(owners, b)
  const isUntrusted = c % 3 === 0
  switch (what) {
    case 'save':
      facts.save({ text: pick(texts, a), source: pick(sources, c), privateTo, isUntrusted }, now)
      return
    case 'forget':
      facts.delete({ id, reader: pick(readers, b) }, now)
      return
    case 'addTask':
      facts.addTask({ text: pick(texts, a), key: null, privateTo, isUntrusted }, now)
      return
    case 'completeTask':
      facts.completeTask({ id, note: '', reader: pick(readers, b) }, now)
      return
    case 'closeTask':
      known.change(manager, { kind: 'close_task', id, note: 'closed' }, now)
      return
    case 'share':
    case 'unshare':
      own.change(pick([alice, bob], b), id, what, now)
      return
    case 'deleteOwn':
      own.change(pick([alice, bob], b), id, 'delete', now)
      return
    case 'correct': {
      const text = `${pick(texts, b)} Corrected.`
      known.change(manager, { kind: 'correct_fact', id, text, source: '', isUntrusted }, now)
      return
    }
    case 'deleteKnown':
      known.change(manager, { kind: 'delete_fact', id }, now)
      return
    default:
      if (b % 4 === 0) {
        const runs = [aliceRun]
        deleteTexts(memory, { accountId: alice, isOwn: false, threads: [], runs })
      }
  }
}

/** What somebody deleted for ever: of a fact, of a text for the same readers, or with an account. */
type Erasure = (fact: RememberedFact, was: Row | undefined) => boolean

const inRun = (at: number) => at >= aliceRun.startedAt && at <= aliceRun.finishedAt

/** Returns what a step deleted for ever. */
function findErasure({ what }: Step, before: Row[], after: Row[]): Erasure | null {
  // One with the same text is a correction as well.
  const changed = before.filter(
    ({ id, since }) =>
      !after.some((row) => row.id === id && (what !== 'correct' || row.since === since)),
  )
  if (['deleteOwn', 'correct', 'deleteKnown', 'unshare'].includes(what)) {
    return ({ id, text }, was) =>
      changed.some((row) => row.id === id || (row.text === text && row.owner === was?.owner))
  }
  return null
}

interface Snapshot {
  at: number
  reader: AccountId | null
  words: string | null
  found: FoundFacts
  /** What is stored of each fact. */
  rows: Row[]
}

const query = (reader: AccountId | null, words: string | null) => ({ words, limit: 100, reader })

/** What happened to facts. */
interface History {
  snapshots: Snapshot[]
  erasures: { at: number; isErased: Erasure }[]
  /** The last known readers of each fact. */
  lastOwner: Map<number, string>
  end: number
}

const deletesAccount = ({ what, b }: Step): boolean => what === 'deleteAccount' && b % 4 === 0

function play(memory: MemoryStore, steps: Step[]): History {
  const history: History = { snapshots: [], erasures: [], lastOwner: new Map(), end: 0 }
  /** Who each fact was ever private to or shared by. */
  const everOf = new Map<number, Set<string>>()
  for (const step of steps) {
    history.end += 1_000
    const at = history.end
    const before = readRows(memory)
    const taskCount = memory.query('SELECT 1 FROM tasks').length
    take(memory, step, at)
    const after = readRows(memory)
    for (const row of [...before, ...after]) {
      history.lastOwner.set(row.id, row.owner)
      const ever = everOf.get(row.id) ?? new Set()
      everOf.set(row.id, ever.add(row.owner).add(row.sharedBy ?? row.owner))
    }
    const isErased = deletesAccount(step)
      ? eraseOfAlice(new Map([...everOf].map(([id, set]) => [id, new Set(set)])), before)
      : findErasure(step, before, after)
    if (isErased) history.erasures.push({ at, isErased })
    // Tasks have no versions: what is deleted of them is gone.
    if (memory.query('SELECT 1 FROM tasks').length < taskCount) history.snapshots = []
    history.snapshots.push(...look(memory, at, after))
  }
  return history
}

const eraseOfAlice =
  (everOf: ReadonlyMap<number, ReadonlySet<string>>, current: Row[]): Erasure =>
  ({ id, createdAt }, was) => {
    // Of what the run changed, what was changed again.
    const isPast = !current.some((row) => row.id === id && row.since === was?.since)
    return (
      inRun(createdAt) || everOf.get(id)?.has(alice) === true || (isPast && inRun(was?.since ?? 0))
    )
  }

const look = (memory: MemoryStore, at: number, rows: Row[]): Snapshot[] =>
  readers.flatMap((reader) =>
    [null, 'when do herons nest'].map((words) => {
      const found = new FactStore(memory).list(query(reader, words))
      return { at, reader, words, found, rows }
    }),
  )

/** What a snapshot has to be today. */
const findLeft = ({ at, reader, found, rows }: Snapshot, { lastOwner, erasures }: History) =>
  found.facts.filter(
    (fact) =>
      ['', reader ?? ''].includes(lastOwner.get(fact.id) ?? '') &&
      !erasures.some(
        (each) =>
          each.at > at &&
          each.isErased(
            fact,
            rows.find(({ id }) => id === fact.id),
          ),
      ),
  )

function compare(memory: MemoryStore, snapshot: Snapshot, history: History, context: string) {
  const { at, reader, words, found } = snapshot
  const facts = new FactStore(memory)
  const listThen = (of: string | null) => facts.listThen(query(reader, of), at, history.end + 1_000)
  const left = findLeft(snapshot, history)
  const then = listThen(words)
  expect(then?.tasks, context).toEqual(found.tasks)
  // How much a word weighs depends on all facts, so matches are compared while none is missing.
  const isComparable = words === null || listThen(null)?.factCount === found.factCount
  if (isComparable) expect(then?.facts, context).toEqual(left)
  if (words === null) expect(then?.factCount, context).toBe(left.length)
  return {
    isErased: left.length < found.facts.length,
    isDifferent: JSON.stringify(then) !== JSON.stringify(facts.list(query(reader, words))),
  }
}

test('P2: facts and tasks as of a time are those that were listed then, without what was deleted for ever or is for others today', async () => {
  let different = 0
  let erased = 0
  await fc.assert(
    fc.asyncProperty(histories, async (steps) => {
      await inStorage((memory) => {
        const history = play(memory, steps)
        for (const each of history.snapshots) {
          const context = `${each.reader} ${each.words} at ${each.at} of ${JSON.stringify(steps)}`
          const result = compare(memory, each, history, context)
          if (result.isDifferent) different++
          if (result.isErased) erased++
        }
      })
    }),
    { numRuns: sampleSize(20, 200), seed: 37, endOnFailure: true },
  )
  expect(different).toBeGreaterThan(100)
  expect(erased).toBeGreaterThan(20)
})

const fact = (text: string, source = '') => ({
  text,
  source,
  privateTo: null,
  isUntrusted: false,
})

test('P2: so many versions of facts are kept, for so long; of a time before, nothing is said', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    const all = query(null, null)
    const listAt = (at: number, now = at) =>
      facts.listThen(all, at, now)?.facts.map(({ source }) => source) ?? null
    facts.save(fact('Herons nest in April.', 'first'), 1_000)
    for (let n = 1; n <= memoryLimits.pastFactsMax; n++) {
      facts.save(fact('Herons nest in April.', `source ${n}`), 1_000 + n)
    }
    expect(listAt(1_000)).toEqual(['first'])
    facts.save(fact('Herons nest in April.', 'last'), 5_000)
    expect(listAt(1_000)).toBeNull()
    expect(listAt(1_001)).toEqual(['source 1'])
    const count = () => memory.query('SELECT seq FROM past_facts').length
    expect(count()).toBe(memoryLimits.pastFactsMax)
    const later = 5_000 + memoryLimits.pastFactsMs
    expect(listAt(4_999, later)).toBeNull()
    expect(listAt(5_000, later)).toEqual(['last'])
    const left = count()
    facts.save(fact('Herons nest in April.', 'newest'), later + 1)
    expect(count()).toBeLessThan(left - 10)
    expect(listAt(later, later + 1)).toEqual(['last'])
  })
})

test('P2: a memory in which nothing changed has no table of the past, and lists what it had', async () => {
  await inStorage((memory) => {
    const facts = new FactStore(memory)
    expect(facts.listThen(query(null, null), 1, 2)).toEqual({ facts: [], factCount: 0, tasks: [] })
    for (const text of texts) facts.save(fact(text), texts.indexOf(text) + 1)
    for (const text of texts) facts.save(fact(text), 9)
    expect(facts.listThen(query(null, null), 2, 9)?.facts.map(({ id }) => id)).toEqual([2, 1])
    const tables = memory.query("SELECT name FROM sqlite_master WHERE name = 'past_facts'")
    expect(tables).toEqual([])
  })
})
