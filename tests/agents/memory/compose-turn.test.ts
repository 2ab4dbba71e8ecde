import { describe, expect, it } from 'vitest'
import type { ContextWindow } from '../../../src/agents/loop/compaction'
import type { Charge, LoadedFacts, LoopEvent } from '../../../src/agents/loop/event'
import type { Message } from '../../../src/agents/loop/message'
import type { Ending } from '../../../src/agents/loop/state'
import { composeTurn } from '../../../src/agents/memory/compose-turn'
import { memoryLimits } from '../../../src/shared/config'
import type { AccountId, ActivationId, CommentId, PostId } from '../../../src/shared/ids'

const activationId = 'act-1' as ActivationId
const alice = 'alice-id' as AccountId
const answered: Ending = { outcome: 'completed', error: null, reply: 'answer', text: '' }

const history: Message[] = [
  { role: 'user', text: 'asked before' },
  { role: 'assistant', text: 'said before', calls: [] },
  { role: 'user', text: 'asked again' },
  { role: 'assistant', text: 'said again', calls: [] },
]

const facts = (over: Partial<LoadedFacts> = {}): LoadedFacts => ({
  task: 'mention',
  admission: 'granted',
  reservation: { microusd: 0, tokens: 0 },
  isPriced: true,
  limits: { iterations: 10, tokens: 1_000, durationMs: 1_000, contextTokens: 8_192 },
  prompt: [
    { role: 'system', text: 'You are scout.' },
    ...history,
    { role: 'user', text: 'the whole thread' },
  ],
  historyFrom: 1,
  promptTokens: 10,
  agentName: 'scout',
  model: { id: 'a/b', isOffline: false, substitutedFor: null },
  definition: { version: 1, etag: 'e' },
  answer: { postId: 'p' as PostId, parentId: null, requesters: ['mira'] },
  problem: null,
  session: { id: 'general_p', task: 'You were asked: herons?', gist: '@mira: herons? -' },
  ...over,
})

const charge: Charge = {
  inputTokens: 100,
  cachedTokens: 40,
  outputTokens: 10,
  reasoningTokens: 0,
  microusd: 5,
  isPriced: true,
  isEstimated: false,
  durationMs: 1,
}

const loaded = (over: Partial<LoadedFacts> = {}): LoopEvent => ({
  type: 'loaded',
  at: 1,
  effectId: 1,
  facts: facts(over),
})

const said = (text: string, ...callIds: string[]): LoopEvent => ({
  type: 'model_answered',
  at: 2,
  effectId: 2,
  startedAt: 1,
  answer: {
    text,
    reasoning: 'secretly',
    calls: callIds.map((callId) => ({ callId, name: 'hub_search', arguments: '{}' })),
    finish: callIds.length > 0 ? 'tool-calls' : 'stop',
    usage: null,
    providerParts: '[{"type":"reasoning"}]',
  },
  charge,
  calls: [],
})

const returned = (callId: string, text: string, isError = false): LoopEvent => ({
  type: 'tool_returned',
  at: 3,
  effectId: 3,
  startedAt: 2,
  durationMs: 7,
  resultBytes: 1,
  audit: null,
  callId,
  name: 'hub_search',
  text,
  isError,
})

const woken: LoopEvent = {
  type: 'woken',
  at: 0,
  activationId,
  replyId: 'r' as CommentId,
  reportId: 'x' as PostId,
}

const roomy: ContextWindow = {
  promptTokens: 100,
  entries: 3,
  compactions: 0,
  mustCompact: false,
  limits: facts().limits,
}

const compose = (events: LoopEvent[], ending = answered, window = roomy) =>
  composeTurn({ activationId, at: 9, events: [woken, ...events], ending, window })

describe('a finished activation as its session remembers it', () => {
  it('L39 H13: what a call read on the hub is not kept, and what other calls returned is', () => {
    const read = (callId: string, grant: string): LoopEvent => {
      const event = returned(callId, `text of ${callId}`)
      const audit = { callId, tool: 'hub_search', grant, argumentsHash: '', decision: 'allowed' }
      const rest = { outcome: 'ok', durationMs: 1, resultBytes: 1, at: 1 } as const
      return { ...event, audit: { ...audit, ...rest } } as LoopEvent
    }
    const turn = compose([
      loaded(),
      said('', 'c1', 'c2'),
      read('c1', 'hub:read'),
      read('c2', 'memory:read'),
      said('Three herons.'),
    ])
    const kept = JSON.stringify(turn?.messages)
    expect(kept).not.toContain('text of c1')
    expect(kept).toContain('Call the tool again.')
    expect(kept).toContain('text of c2')
  })

  it('L39: a turn contains the task, calls with results, the answer, and counters', () => {
    const turn = compose([
      loaded(),
      said('', 'c1', 'c2'),
      returned('c1', 'found'),
      returned('c2', 'Error: no', true),
      said('Three herons.'),
    ])
    expect(turn).toEqual({
      activationId,
      sessionId: 'general_p',
      at: 9,
      gist: '@mira: herons? - I answered: @mira Three herons.',
      messages: [
        { role: 'user', text: 'You were asked: herons?' },
        {
          role: 'assistant',
          text: '',
          calls: [
            { callId: 'c1', name: 'hub_search', arguments: '{}' },
            { callId: 'c2', name: 'hub_search', arguments: '{}' },
          ],
        },
        {
          role: 'tool',
          results: [
            { callId: 'c1', name: 'hub_search', text: 'found', isError: false },
            { callId: 'c2', name: 'hub_search', text: 'Error: no', isError: true },
          ],
        },
        { role: 'assistant', text: 'Three herons.', calls: [] },
      ],
      usage: { inputTokens: 200, cachedTokens: 80, outputTokens: 20, costMicrousd: 10 },
      lastCall: { promptTokens: 100, completionTokens: 10, contextLimit: 8_192 },
      tools: [{ name: 'hub_search', calls: 2, errors: 1, totalMs: 14 }],
      summary: null,
      privateTo: null,
      isUntrusted: true,
    })
  })

  it('L39: without a memory there is nothing to keep', () => {
    const { session: _session, ...without } = facts()
    expect(compose([{ type: 'loaded', at: 1, effectId: 1, facts: without }, said('Hi')])).toBeNull()
    expect(compose([])).toBeNull()
  })

  it('L35 L39: an interrupted activation keeps what it posted', () => {
    const ending: Ending = {
      ...answered,
      outcome: 'max_iterations',
      reply: 'partial',
      text: 'I stopped.',
    }
    const turn = compose([loaded(), said('So far so good', 'c1'), returned('c1', 'found')], ending)
    expect(turn?.messages.at(-1)).toEqual({
      role: 'assistant',
      text: expect.stringContaining('I stopped.'),
      calls: [],
    })
    const [, call, result] = turn?.messages ?? []
    expect(call).toMatchObject({ role: 'assistant', calls: [{ callId: 'c1' }] })
    expect(result).toMatchObject({ role: 'tool', results: [{ callId: 'c1' }] })
  })

  it('L20 L39: after a compaction the summary and what it left stand for the whole session', () => {
    const compacted: LoopEvent = {
      type: 'compacted',
      at: 4,
      effectId: 4,
      startedAt: 3,
      summary: 'It began with pelicans.',
      replaced: 2,
      tokensBefore: 100,
      tokens: 50,
      entries: 3,
      charge,
      problem: null,
    }
    const turn = compose([loaded(), compacted, said('Three.')])
    expect(turn?.summary).toBe('It began with pelicans.')
    expect(turn?.messages).toEqual([
      ...history.slice(2),
      { role: 'user', text: 'You were asked: herons?' },
      { role: 'assistant', text: 'Three.', calls: [] },
    ])
    expect(turn?.usage.inputTokens).toBe(200)
  })

  describe('at the end', () => {
    const talk = Array.from({ length: 60 }, (_, at): Message => {
      const text = `word ${at} `.repeat(20)
      return at % 2 === 0 ? { role: 'user', text } : { role: 'assistant', text, calls: [] }
    })
    const prompt: Message[] = [
      { role: 'system', text: 'You are scout.' },
      ...talk,
      { role: 'user', text: 'the whole thread' },
    ]
    const events = [loaded({ prompt }), said('', 'c1'), returned('c1', 'found'), said('Three.')]
    const full: [string, Partial<ContextWindow>][] = [
      ['more than 50 entries', { entries: 51 }],
      ['more than 95 % of the window', { promptTokens: 7_900 }],
    ]

    it.each(full)('L39 L19: with %s the oldest gives way to a summary', (_what, over) => {
      const turn = compose(events, answered, { ...roomy, ...over })
      expect(turn?.summary).toContain('word 0')
      expect(turn?.messages.length).toBeLessThan(40)
      expect(turn?.messages.slice(-4)).toEqual([
        { role: 'user', text: 'You were asked: herons?' },
        expect.objectContaining({ role: 'assistant', calls: [expect.anything()] }),
        expect.objectContaining({ role: 'tool' }),
        { role: 'assistant', text: 'Three.', calls: [] },
      ])
    })

    it('L39 L19: what fits stays unchanged', () => {
      const turn = compose(events, answered, { ...roomy, entries: 50, promptTokens: 7_700 })
      expect(turn?.summary).toBeNull()
      expect(turn?.messages).toHaveLength(4)
    })
  })

  it('L39: long results, texts and arguments are shortened; arguments stay JSON', () => {
    const long = 'x'.repeat(20_000)
    const call = said('', 'c1')
    if (call.type !== 'model_answered') throw new Error('no answer')
    call.answer.calls = [{ callId: 'c1', name: 'hub_search', arguments: JSON.stringify({ long }) }]
    const turn = compose([loaded(), call, returned('c1', long), said(long)])
    const [, asked, result, answer] = turn?.messages ?? []
    const args = asked?.role === 'assistant' ? (asked.calls[0]?.arguments ?? '') : ''
    expect(args.length).toBeLessThan(memoryLimits.keptArgumentsCharsMax)
    expect(JSON.parse(args)).toHaveProperty('shortened')
    const text = result?.role === 'tool' ? (result.results[0]?.text ?? '') : ''
    expect(text.length).toBeLessThan(memoryLimits.keptResultCharsMax + 50)
    expect(JSON.stringify(answer).length).toBeLessThan(memoryLimits.keptTextCharsMax + 100)
    expect(turn?.gist.length).toBeLessThan(memoryLimits.gistCharsMax + 100)
  })

  it('L7 L39: an exploration that passed leaves no line for other sessions', () => {
    const session = { id: 'explore_scout', task: 'You explored', gist: 'I explored the hub.' }
    const silent: Ending = { ...answered, reply: 'silent' }
    const events = [loaded({ session, answer: null })]
    expect(compose([...events, said('PASS.')], silent)?.gist).toBe('')
    expect(compose([...events, said('I commented on herons.')], silent)?.gist).toBe(
      'I explored the hub. I posted no answer, but noted: I commented on herons.',
    )
  })

  it('L39: private tasks leave no line for other sessions', () => {
    const session = { id: 'dm_mira', task: 'psst', gist: '' }
    expect(compose([loaded({ session }), said('Yes.')])?.gist).toBe('')
  })

  it('T2: the turn of a private run, and of a public run that read private data, is private', () => {
    const inDm = { reader: alice, privateTo: alice }
    const inThread = { reader: alice, privateTo: null }
    const ownerOf = (over: Partial<LoadedFacts>, ...events: LoopEvent[]) =>
      compose([loaded(over), ...events, said('Yes.')])?.privateTo
    const found = { ...returned('c1', 'found'), isPrivate: true } as LoopEvent
    expect(ownerOf({ privacy: inDm })).toBe(alice)
    expect(ownerOf({ privacy: inThread })).toBeNull()
    expect(ownerOf({ privacy: inThread, hasPrivate: true })).toBe(alice)
    expect(ownerOf({ privacy: inThread }, said('', 'c1'), returned('c1', 'found'))).toBeNull()
    expect(ownerOf({ privacy: inThread }, said('', 'c1'), found)).toBe(alice)
    // journals of earlier versions have no privacy
    expect(ownerOf({})).toBeNull()
  })

  it('C6 T2: in a closed community the turn has the answer only, when an own account was used', () => {
    const attic = 'attic-id' as AccountId
    const privacy = { reader: attic, privateTo: attic, community: 'attic' }
    const mails = {
      ...returned('c1', 'a secret mail'),
      isPrivate: true,
      isOwnAccount: true,
    } as LoopEvent
    const answer: Ending = { ...answered, text: 'You have one mail.' }
    const turnOf = (over: Partial<LoadedFacts>) =>
      compose([loaded(over), said('Let me see.', 'c1'), mails, said('You have one mail.')], answer)
    const turn = turnOf({ privacy })
    expect(turn).toMatchObject({ privateTo: attic, summary: null })
    expect(JSON.stringify(turn)).not.toContain('secret mail')
    expect(JSON.stringify(turn?.messages)).toContain('You have one mail.')
    expect(JSON.stringify(turnOf({ privacy: { reader: alice, privateTo: null } }))).toContain(
      'secret mail',
    )
  })
})
