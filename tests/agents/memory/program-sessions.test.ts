import { expect, test } from 'vitest'
import type { LoadedFacts } from '../../../src/agents/loop/event'
import { initialState, toProgram } from '../../../src/agents/loop/state'
import type { MemoryStore } from '../../../src/agents/memory/memory-store'
import {
  deleteProgramSessions,
  findProgramSession,
  resetProgramSessions,
  saveProgramSession,
  toAudience,
} from '../../../src/agents/memory/program-sessions'
import { codingAgents } from '../../../src/shared/config'
import type { AccountId, ActivationId, PostId } from '../../../src/shared/ids'
import { facts } from '../loop/scenario'
import { inStorage } from './in-storage'

const mira = { id: 'mira-id' as AccountId, role: 'member' as const }
const bob = { id: 'bob-id' as AccountId, role: 'member' as const }
const openFor = ({ id }: typeof mira) => ({ reader: id, privateTo: null })
const audienceOf = (
  who = [mira],
  privacy: { reader: AccountId | null; privateTo: AccountId | null } = openFor(mira),
  type: 'goose' | 'codex' = 'goose',
) => toAudience(type, who, privacy)
const own = audienceOf() ?? ''

interface Saved {
  thread?: string
  audience?: string
  session?: string | null
  run?: string
  at?: number
  over?: Partial<LoadedFacts>
  isOwnAccount?: true
}

function save(memory: MemoryStore, saved: Saved = {}): void {
  const { thread = 'p1', audience = own, session = 's1', run = 'r1', at = 1_000 } = saved
  const answer = { postId: thread as PostId, parentId: null, requesters: [] }
  const program = { type: 'goose', takesTools: true, audience } as const
  const loaded = { ...facts({}), answer, program, ...saved.over }
  const returned = { callId: 'c', startedAt: 1, durationMs: 1, text: '', isError: false } as const
  const more = { resultBytes: 0, grant: null, decision: 'allowed' } as const
  saveProgramSession(memory, {
    state: {
      ...initialState,
      activationId: run as ActivationId,
      program: { ...toProgram(program), sessionId: session },
    },
    events: [
      { type: 'loaded', at: 1, effectId: 1, facts: loaded },
      {
        type: 'program_call_returned',
        at: 2,
        ...returned,
        ...more,
        ...(saved.isOwnAccount && { isOwnAccount: true }),
      },
    ],
    at,
  })
}
const find = (memory: MemoryStore, audience: string | null = own, thread = 'p1', now = 2_000) =>
  findProgramSession(memory, { thread, audience: audience ?? '', now })?.sessionId ?? null

test('X15: a session is found by later runs of its thread for the same readers, in their roles, and by no others', () =>
  inStorage((memory) => {
    save(memory)
    expect(find(memory)).toBe('s1')
    const others = [
      audienceOf([bob], openFor(bob)),
      audienceOf([mira, bob], { reader: null, privateTo: null }),
      audienceOf([mira], { reader: mira.id, privateTo: mira.id }),
      audienceOf([{ ...mira, role: 'guest' as never }]),
      audienceOf([mira], openFor(mira), 'codex'),
      audienceOf([], { reader: null, privateTo: null }),
    ]
    expect(others.map((audience) => find(memory, audience))).toEqual(others.map(() => null))
    expect(find(memory, own, 'p2')).toBeNull()
    expect(find(memory, own, 'p1', 1_000 + codingAgents.sessionMs)).toBeNull()
  }))

test('X15: a session with private data says so, and one that used an own account is not kept', () =>
  inStorage((memory) => {
    save(memory, { over: { hasPrivate: true } })
    expect(findProgramSession(memory, { thread: 'p1', audience: own, now: 1 })).toEqual({
      sessionId: 's1',
      isPrivate: true,
    })
    save(memory, { isOwnAccount: true })
    expect(find(memory)).toBeNull()
    save(memory)
    save(memory, { session: null })
    expect(find(memory)).toBeNull()
  }))

test('X15: a session goes with the words of an account that it can hold, and when its thread is reset', () =>
  inStorage((memory) => {
    const nobody = { accountId: 'x' as AccountId, isOwn: false, threads: [], runs: [] }
    const run = (id: string) => ({ id: id as ActivationId, startedAt: 1, finishedAt: 2 })
    expect(deleteProgramSessions(memory, { ...nobody, threads: ['p1'] })).toEqual([])
    for (const [request, isGone] of [
      [nobody, false],
      [{ ...nobody, accountId: mira.id }, true],
      [{ ...nobody, threads: ['p1'] }, true],
      // of any run that went on in it
      [{ ...nobody, runs: [run('r1')] }, true],
      [{ ...nobody, runs: [run('r')] }, false],
      [{ ...nobody, isOwn: true }, true],
    ] as const) {
      save(memory)
      save(memory, { run: 'r2' })
      expect(
        deleteProgramSessions(memory, {
          ...request,
          threads: [...request.threads],
          runs: [...request.runs],
        }),
      ).toEqual(isGone ? ['s1'] : [])
      expect(find(memory)).toBe(isGone ? null : 's1')
    }
    save(memory)
    expect(resetProgramSessions(memory, 'general_p2')).toEqual([])
    expect(resetProgramSessions(memory, 'general_p1')).toEqual(['s1'])
    expect(find(memory)).toBeNull()
  }))
