import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Message } from '../../../src/agents/loop/message'
import { joinTurns, toSendable, toWellFormedJson } from '../../../src/agents/models/to-prompt'
import { answerOf, fakeModel, protocols, question } from './fake-provider'

const words = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.constantFrom('', '\n\n', '\ud800', 'a\u0000b', 'functions.hub_search:0', '検索'),
)
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant('system' as const), text: words }),
  fc.record({ role: fc.constant('user' as const), text: words }),
  fc.record({
    role: fc.constant('assistant' as const),
    text: words,
    calls: fc.array(fc.record({ callId: words, name: words, arguments: words }), { maxLength: 2 }),
  }),
  fc.record({
    role: fc.constant('tool' as const),
    results: fc.array(
      fc.record({ callId: words, name: words, text: words, isError: fc.boolean() }),
      { minLength: 1, maxLength: 2 },
    ),
  }),
)

test('L27: whatever messages there are, what is sent has names, ids and texts that providers take', () => {
  void fc.assert(
    fc.property(fc.array(message), (messages) => {
      const texts: string[] = []
      const names: string[] = []
      for (const each of toSendable(messages)) {
        if (each.role === 'tool') {
          texts.push(...each.results.map(({ text }) => text))
          names.push(...each.results.flatMap(({ callId, name }) => [callId, name]))
        } else if (each.role === 'assistant') {
          names.push(...each.calls.flatMap(({ callId, name }) => [callId, name]))
          if (each.calls.length === 0) texts.push(each.text)
        } else texts.push(each.text)
      }
      for (const text of texts) expect(text.trim()).not.toBe('')
      for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    }),
  )
})

test('L27: different ids stay different, and the same id is always sent as the same one', () => {
  void fc.assert(
    fc.property(fc.uniqueArray(fc.string({ unit: 'binary' }), { maxLength: 30 }), (ids) => {
      const send = (callId: string) => {
        const [sent] = toSendable([
          { role: 'assistant', text: '', calls: [{ callId, name: 'x', arguments: '' }] },
        ])
        return sent?.role === 'assistant' ? sent.calls[0]?.callId : undefined
      }
      expect(new Set(ids.map(send)).size).toBe(ids.length)
      expect(ids.map(send)).toEqual(ids.map(send))
    }),
  )
})

test('L27: joined turns alternate, and no word is lost', () => {
  void fc.assert(
    fc.property(fc.array(message), (messages) => {
      const joined = joinTurns(toSendable(messages))
      for (const [at, each] of joined.entries()) {
        const before = joined[at - 1]
        if (each.role === 'user') expect(before?.role ?? '').not.toMatch(/user|tool/)
      }
      const texts = (all: Message[]) =>
        all.flatMap((each) =>
          each.role === 'tool' ? each.results.map(({ text }) => text) : [each.text],
        )
      const all = texts(joined).join('\n\n')
      for (const text of texts(toSendable(messages))) expect(all).toContain(text)
    }),
  )
})

test('L27: JSON of any value becomes well-formed, and changes nothing else', () => {
  void fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.array(words), (value, texts) => {
      const json = toWellFormedJson(JSON.stringify({ value, texts }))
      const clean = (text: string) => text.toWellFormed().replaceAll('\u0000', '\ufffd')
      expect(JSON.parse(json).texts).toEqual(texts.map(clean))
      expect(JSON.stringify(JSON.parse(json))).not.toMatch(/(?<!\\)(?:\\\\)*\\u(?:d[89a-f]|0000)/i)
    }),
  )
})

describe.each(protocols)('%s', (provider) => {
  test('L27: a history of another provider, half characters and blank texts is sent as the provider takes it', async () => {
    const history: Message[] = [
      ...question,
      {
        role: 'assistant',
        text: '\n\n',
        calls: [
          {
            callId: 'functions.hub_search:0',
            name: 'functions.hub_search',
            arguments: '{"query":"\\ud83d"}',
          },
        ],
      },
      {
        role: 'tool',
        results: [
          {
            callId: 'functions.hub_search:0',
            name: 'functions.hub_search',
            text: 'half \ud83d of it\u0000',
            isError: false,
          },
        ],
      },
      { role: 'user', text: '[status]\nTime: now' },
    ]
    const tools = [
      { name: 'hub_search', description: 'd', inputSchema: { type: 'object', properties: {} } },
    ]
    const { model, requests } = await fakeModel(provider, [{ text: 'ok' }])
    await answerOf(model, { messages: history, tools })
    const [sent] = await requests()
    const body = JSON.stringify(sent?.body)
    expect(body).not.toMatch(/functions\.hub_search|\\ud83d|\\u0000/i)
    expect(body.match(/functions_hub_search_0_\w+/g)).toHaveLength(2)
    if (provider !== 'openai-compatible') return
    const roles = sent?.body.messages.map(({ role }: { role: string }) => role)
    expect(roles).toEqual(['system', 'user', 'assistant', 'tool'])
  })
})
