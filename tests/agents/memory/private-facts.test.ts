import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { PrivateChange } from '../../../src/agents/contract/agents'
import { deleteTexts } from '../../../src/agents/memory/delete-texts'
import { FactStore, PrivateFacts } from '../../../src/agents/memory/fact-store'
import type { AccountId } from '../../../src/shared/ids'
import { inStorage } from './in-storage'

const alice = 'alice-id' as AccountId
const bob = 'bob-id' as AccountId
const fact = (text: string, privateTo: AccountId | null) => ({
  text,
  source: 'a message',
  privateTo,
  isUntrusted: true,
})

it('T2: a fact is in runs of others only while its owner shares it', async () => {
  await inStorage((memory) => {
    const [facts, own] = [new FactStore(memory), new PrivateFacts(memory)]
    const seenBy = (reader: AccountId | null) =>
      facts.list({ words: null, limit: 10, reader }).facts.map(({ text }) => text)
    const { id } = facts.save(fact('Alice likes quinces.', alice), 1_000) ?? { id: 0 }
    expect(own.list(alice, null, 10)).toEqual([
      { id, text: 'Alice likes quinces.', source: 'a message', createdAt: 1_000, sharedAt: null },
    ])
    expect(own.list(bob, null, 10)).toEqual([])
    for (const change of ['share', 'unshare', 'delete'] as const) {
      expect(own.change(bob, id, change, 2_000)).toBe('missing')
    }
    expect(seenBy(bob)).toEqual([])
    for (const at of [2_000, 3_000]) expect(own.change(alice, id, 'share', at)).toBe('done')
    for (const reader of [alice, bob, null])
      expect(seenBy(reader)).toEqual(['Alice likes quinces.'])
    expect(own.list(alice, null, 10)).toMatchObject([{ id, sharedAt: 2_000 }])
    // The mark stays: sharing vouches for nothing.
    expect(facts.list({ words: null, limit: 1, reader: bob }).facts[0]?.isUntrusted).toBe(true)
    expect(own.change(bob, id, 'unshare', 4_000)).toBe('missing')
    for (const _ of [1, 2]) expect(own.change(alice, id, 'unshare', 4_000)).toBe('done')
    expect(seenBy(bob)).toEqual([])
    expect(own.list(alice, null, 10)).toMatchObject([{ id, sharedAt: null }])
    expect(own.change(alice, id, 'delete', 5_000)).toBe('done')
    expect(own.change(alice, id, 'delete', 5_000)).toBe('missing')
    expect(seenBy(alice)).toEqual([])
  })
})

it('T2: a text that everybody’s runs know already is not shared again', async () => {
  await inStorage((memory) => {
    const [facts, own] = [new FactStore(memory), new PrivateFacts(memory)]
    facts.save(fact('Plums are ripe.', null), 1)
    const { id } = facts.save(fact('Plums are ripe.', alice), 2) ?? { id: 0 }
    expect(own.change(alice, id, 'share', 3)).toBe('taken')
    expect(own.list(alice, null, 10)).toMatchObject([{ id, sharedAt: null }])
  })
})

it('T2: pages of facts hold each one once, newest first', async () => {
  await inStorage((memory) => {
    const [facts, own] = [new FactStore(memory), new PrivateFacts(memory)]
    for (let n = 1; n <= 7; n++) facts.save(fact(`Fact ${n}`, n === 4 ? bob : alice), n)
    own.change(alice, 3, 'share', 9)
    const pages: number[][] = []
    let before: number | null = null
    do {
      const page: number[] = own.list(alice, before, 2).map(({ id }) => id)
      if (page.length > 0) pages.push(page)
      before = page.at(-1) ?? null
    } while (before !== null)
    expect(pages).toEqual([
      [7, 6],
      [5, 3],
      [2, 1],
    ])
  })
})

it('T10: what an account shared goes with its words', async () => {
  await inStorage((memory) => {
    const [facts, own] = [new FactStore(memory), new PrivateFacts(memory)]
    for (const owner of [alice, bob]) {
      const { id } = facts.save(fact(`Of ${owner}`, owner), 1) ?? { id: 0 }
      own.change(owner, id, 'share', 2)
    }
    deleteTexts(memory, { accountId: alice, isOwn: false, threads: [], runs: [] })
    expect(facts.list({ words: null, limit: 9, reader: null }).facts).toMatchObject([
      { text: 'Of bob-id' },
    ])
    expect(own.list(alice, null, 9)).toEqual([])
  })
})

interface World {
  facts: FactStore
  own: PrivateFacts
  /** Texts that somebody made known to everybody. */
  open: Set<string>
}
type Move = (world: World) => void

/** Saves one of three texts of an account: what two noted by themselves is no secret of one. */
const save =
  (by: AccountId, number: number, isPrivate: boolean): Move =>
  ({ facts, open }) => {
    const text = `${by} ${number}`
    facts.save(fact(text, isPrivate ? by : null), 1)
    if (!isPrivate) open.add(text)
  }

const change =
  (by: AccountId, id: number, what: PrivateChange): Move =>
  ({ own, open }) => {
    const shown = own.list(by, null, 99).find((each) => each.id === id)
    const outcome = own.change(by, id, what, 2)
    expect(outcome === 'missing').toBe(shown === undefined)
    if (!shown || outcome !== 'done') return
    if (what === 'share') open.add(shown.text)
    else if (shown.sharedAt !== null) open.delete(shown.text)
  }

const account = fc.constantFrom(alice, bob)
const move: fc.Arbitrary<Move> = fc.oneof(
  fc.tuple(account, fc.integer({ min: 1, max: 3 }), fc.boolean()).map((values) => save(...values)),
  fc
    .tuple(
      account,
      fc.integer({ min: 1, max: 6 }),
      fc.constantFrom<PrivateChange[]>('share', 'unshare', 'delete'),
    )
    .map((values) => change(...values)),
)

it('T2: whatever is saved and shared, nobody reads a fact that its owner has not shared', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { maxLength: 20 }), (moves) =>
      inStorage((memory) => {
        const world = {
          facts: new FactStore(memory),
          own: new PrivateFacts(memory),
          open: new Set<string>(),
        }
        for (const each of moves) each(world)
        for (const reader of [alice, bob, null]) {
          const read = world.facts.list({ words: null, limit: 99, reader }).facts
          const foreign = read.filter(({ text }) => !text.startsWith(reader ?? 'nobody'))
          for (const { text } of foreign) expect(world.open).toContain(text)
        }
      }),
    ),
    { numRuns: 30 },
  )
})
