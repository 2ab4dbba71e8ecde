import { expect, it } from 'vitest'
import type { KnowledgeView } from '../../../src/agents/contract/agents'
import { canReadSession } from '../../../src/agents/contract/sessions'
import { FactStore, KnowledgeStore, PrivateFacts } from '../../../src/agents/memory/fact-store'
import type { AccountId, CommunityId } from '../../../src/shared/ids'
import { inStorage } from './in-storage'

const [alice, bob] = ['alice-id' as AccountId, 'bob-id' as AccountId]
const club = 'club-id' as CommunityId
const viewOf = (self: AccountId, more: Partial<KnowledgeView> = {}): KnowledgeView => ({
  self,
  owners: [self],
  opened: [],
  seesShared: true,
  isManager: false,
  ...more,
})
const page = { before: null, limit: 10, sessionsMax: 10 }
const fact = (text: string, privateTo: AccountId | CommunityId | null) => ({
  text,
  source: 'a run',
  privateTo,
  isUntrusted: true,
})

it('T2: a viewer sees what is for everybody and what is private to them, and changes no more than that', async () => {
  await inStorage((memory) => {
    const [facts, known] = [new FactStore(memory), new KnowledgeStore(memory)]
    const read = (view: KnowledgeView) =>
      known.list(view, [], page).facts.map(({ id, privateTo }) => [id, privateTo])
    const empty = known.list(viewOf(bob), [], page)
    expect(empty).toEqual({ facts: [], tasks: [], sessions: [] })
    for (const [text, owner] of [
      ['Plums are ripe.', null],
      ['Alice likes quinces.', alice],
      ['The club meets on Mondays.', club],
    ] as const) {
      facts.save(fact(text, owner), 1_000)
    }
    for (const [key, owner] of [
      ['a', null],
      ['b', alice],
    ] as const) {
      facts.addTask({ text: 'Count.', key, privateTo: owner, isUntrusted: false }, 1_000)
    }
    expect(read(viewOf(bob))).toEqual([[1, null]])
    expect(read(viewOf(alice))).toEqual([
      [2, alice],
      [1, null],
    ])
    expect(read(viewOf(bob, { owners: [bob, club] }))).toEqual([
      [3, club],
      [1, null],
    ])
    // A manager sees no more of what is private, also what they have opened.
    const manager = viewOf(bob, { isManager: true, opened: [alice] })
    expect(read(manager)).toEqual([[1, null]])
    expect(known.list(viewOf(bob), [], page).tasks).toHaveLength(1)
    expect(known.list(viewOf(alice), [], page).tasks).toHaveLength(2)

    const remove = (view: KnowledgeView, id: number) =>
      known.change(view, { kind: 'delete_fact', id }, 2_000)
    for (const id of [1, 2, 3, 4]) expect(remove(viewOf(bob), id)).toBe('missing')
    for (const id of [2, 3]) expect(remove(manager, id)).toBe('missing')
    const close = { kind: 'close_task', id: 2, note: 'closed by @bob' } as const
    expect([
      known.change(manager, close, 2_000),
      known.change(viewOf(alice), close, 2_000),
    ]).toEqual(['missing', 'done'])
    expect(remove(viewOf(alice), 2)).toBe('done')
    expect(remove(manager, 1)).toBe('done')
    expect(read(viewOf(alice))).toEqual([])
  })
})

it('T1 T2: a guest sees what is private to them and what they shared, and nothing else', async () => {
  await inStorage((memory) => {
    const [facts, known] = [new FactStore(memory), new KnowledgeStore(memory)]
    facts.save(fact('The vault is warm.', null), 1_000)
    facts.save(fact('Alice likes plums.', alice), 1_000)
    facts.save(fact('Bob likes quinces.', bob), 1_000)
    const read = (view: KnowledgeView) => known.list(view, [], page).facts.map(({ text }) => text)
    const guest = viewOf(alice, { seesShared: false })
    expect(read(guest)).toEqual(['Alice likes plums.'])
    expect(new PrivateFacts(memory).change(alice, 2, 'share', 2_000)).toBe('done')
    expect(read(guest)).toEqual(['Alice likes plums.'])
    expect(read(viewOf(bob, { seesShared: false }))).toEqual(['Bob likes quinces.'])
    expect(read(viewOf(alice))).toEqual(['Alice likes plums.', 'The vault is warm.'])
  })
})

it('T2: a corrected fact is what later runs read, without the mark of its old text', async () => {
  await inStorage((memory) => {
    const [facts, known] = [new FactStore(memory), new KnowledgeStore(memory)]
    facts.save(fact('The vault is warm.', null), 1_000)
    facts.save(fact('Plums are ripe.', null), 1_000)
    const manager = viewOf(bob, { isManager: true })
    const correct = (text: string, id = 1) =>
      known.change(
        manager,
        { kind: 'correct_fact', id, text, source: 'corrected by @bob', isUntrusted: false },
        2_000,
      )
    expect(correct('The vault is cold.')).toBe('done')
    expect(correct('The vault is cold.', 2)).toBe('taken')
    const [, corrected] = facts.list({ words: null, limit: 10, reader: null }).facts
    expect(corrected).toEqual({
      id: 1,
      text: 'The vault is cold.',
      source: 'corrected by @bob',
      createdAt: 1_000,
    })
    // Who shared a fact may correct it, and its deletion ends the share.
    facts.save(fact('Alice likes quinces.', alice), 3_000)
    expect(new PrivateFacts(memory).change(alice, 3, 'share', 4_000)).toBe('done')
    expect(known.list(viewOf(alice), [], page).facts[0]).toMatchObject({ id: 3, sharedAt: 4_000 })
    expect(known.list(viewOf(bob), [], page).facts[0]).toMatchObject({ id: 3, sharedAt: null })
    expect(known.change(viewOf(alice), { kind: 'delete_fact', id: 3 }, 5_000)).toBe('done')
    expect(new PrivateFacts(memory).list(alice, null, 10)).toEqual([])
  })
})

it('T2: sessions are seen by managers as far as they may read their parts, and by whom all of it is private to', () => {
  const sees = (view: KnowledgeView, privateTo: string[], hasShared: boolean) =>
    canReadSession(view, { privateTo, hasShared })
  const manager = viewOf(bob, { isManager: true })
  expect(sees(manager, [], true)).toBe(true)
  expect(sees(manager, [alice], true)).toBe(false)
  expect(sees({ ...manager, opened: [alice] }, [alice], true)).toBe(true)
  expect(sees(viewOf(alice), [], true)).toBe(false)
  expect(sees(viewOf(alice), [alice], false)).toBe(true)
  expect(sees(viewOf(alice), [alice], true)).toBe(false)
  expect(sees(viewOf(alice), [alice, bob], false)).toBe(false)
  expect(sees(viewOf(alice, { owners: [alice, club] }), [club], false)).toBe(false)
})
