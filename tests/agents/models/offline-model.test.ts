import { describe, expect, test } from 'vitest'
import type { Message } from '../../../src/agents/loop/message'
import { createOfflineModel } from '../../../src/agents/models/offline/offline-model'
import { askingMessages, converse, hubTools } from './converse'
import { answerOf } from './fake-provider'
import { smallHub as hub, wordsOf } from './small-hub'

const model = createOfflineModel()

describe('the offline model', () => {
  test('L27: it searches by itself, reads the best thread and quotes it with a link', async () => {
    const { text, calls } = await converse(model, '@scout what do barn owls get at dusk?', hub)
    expect(calls[0]).toMatch(/^hub_search .*barn.*owls/)
    expect(calls[1]).toBe('hub_get_thread {"post_id":"owl"}')
    expect(text).toContain('[Feeding the night owls](/p/owl) by mira in m/birds')
    expect(text).toContain('> The barn owls get mice at dusk.')
  })

  test('L27: a comment that answers is quoted as its author’s, with a link to the post', async () => {
    const { text } = await converse(
      model,
      '@scout which calcium drops does the vet prescribe?',
      hub,
    )
    expect(text).toContain('otto says in a comment on [Feeding the night owls](/p/owl)')
    expect(text).toContain('> Our vet prescribes calcium drops')
  })

  test('L27: the search query has no mentions, links or question words', async () => {
    const asked =
      '@scout who wrote about gasket pressure? See https://example.org/cellar in m/house'
    const { calls } = await converse(model, asked, hub)
    const { query } = JSON.parse(calls[0]?.replace('hub_search ', '') ?? '{}')
    expect(wordsOf(query)).toEqual(expect.arrayContaining(['gasket', 'pressure']))
    for (const word of ['scout', 'who', 'about', 'wrote', 'example', 'house'])
      expect(wordsOf(query)).not.toContain(word)
  })

  test.each([
    'what is the right hydration for sourdough?',
    'owls of the football league',
    'pressure of the atmosphere on Venus',
  ])('L27: nothing fits: %s', async (question) => {
    const { text } = await converse(model, `@scout ${question}`, hub)
    expect(text).toContain('nothing fits')
    expect(text).not.toMatch(/^>/m)
  })

  test('L27: without a search tool it answers so, and searches nothing', async () => {
    const answer = await answerOf(model, {
      messages: askingMessages('@scout where is the gasket?'),
    })
    expect(answer.calls).toEqual([])
    expect(answer.text).toContain('no search tool is granted')
  })

  test('L27: with search but no way to read threads it answers from what the search shows', async () => {
    const tools = hubTools.filter(({ name }) => name === 'hub_search')
    const messages = askingMessages('@scout what do barn owls get at dusk?')
    const first = await answerOf(model, { messages, tools })
    const call = first.calls[0]
    if (!call) throw new Error('no call')
    const result = {
      callId: call.callId,
      name: call.name,
      text: hub.call(call.name, call.arguments),
      isError: false,
    }
    messages.push(
      { role: 'assistant', text: '', calls: first.calls },
      { role: 'tool', results: [result] },
    )
    expect((await answerOf(model, { messages, tools })).text).toContain('(/p/owl)')
  })

  test('L29: a failed search is reported in the answer', async () => {
    const broken = { call: () => 'Error: The search is [away](javascript:x).' }
    const { text } = await converse(model, '@scout where is the gasket?', broken)
    expect(text).toContain('could not search')
    expect(text).not.toContain('nothing fits')
    expect(text).toMatch(/`[^`]*away[^`]*`$/)
  })

  test.each([
    'not JSON',
    '{"results": 5}',
    '{"results": [{"id": 1}, null, "x"]}',
    '{"results": []}',
  ])('L26: a search that answers %s does not break it', async (output) => {
    const { text } = await converse(model, '@scout where is the gasket?', { call: () => output })
    expect(text).toMatch(/nothing fits|could not search/)
  })

  test('L29: threads that cannot be read are left out', async () => {
    const closed = {
      call: (name: string, json: string) =>
        name === 'hub_search' ? hub.call(name, json) : 'Error: There is no such post.',
    }
    expect((await converse(model, '@scout what do barn owls get at dusk?', closed)).text).toContain(
      '(/p/owl)',
    )
  })

  test('L27: a greeting is answered in character, without tools', async () => {
    const { text, calls } = await converse(model, '@scout hi', hub)
    expect(calls).toEqual([])
    expect(text).toContain('I am Scout, a patient researcher.')
  })

  test('L27: a greeting does not call the agent itself again', async () => {
    const messages = askingMessages('@scout hi')
    const soul = 'You are Scout (@scout), the researcher\nof this hub. People call you.'
    messages[0] = { role: 'system', text: soul }
    const { text } = await answerOf(model, { messages, tools: hubTools })
    expect(text).toMatch(/^I am Scout, the researcher of this hub\. I search this hub/)
    expect(text).not.toContain('@')
  })
})

describe('behind the model port', () => {
  test('L27: it is free, labelled, and its tokens show', async () => {
    expect(model).toMatchObject({ id: 'offline/extractive', provider: 'offline', isOffline: true })
    expect(model.prices).toEqual({ input: 0, cached: 0, output: 0 })
    const { usage } = await answerOf(model, { messages: askingMessages('@scout hi') })
    expect(usage?.inputTokens).toBeGreaterThan(50)
    expect(usage?.outputTokens).toBeGreaterThan(10)
  })

  test('L38: several requesters each get their answer', async () => {
    const [soul, boot, task] = askingMessages('@scout what do barn owls get at dusk?')
    if (!soul || !boot || task?.role !== 'user') throw new Error('no task')
    const second =
      '<untrusted source="comment" id="c9" author="otto" kind="human" asks="true">\n@scout and which gasket brought the pressure back?\n</untrusted>'
    const messages: Message[] = [soul, boot, { role: 'user', text: `${task.text}\n\n${second}` }]
    const first = await answerOf(model, { messages, tools: hubTools })
    expect(first.calls.map(({ name }) => name)).toEqual(['hub_search', 'hub_search'])
    const run = async (calls: typeof first.calls) => {
      const results = calls.map(({ callId, name, arguments: json }) => ({
        callId,
        name,
        text: hub.call(name, json),
        isError: false,
      }))
      messages.push({ role: 'assistant', text: '', calls }, { role: 'tool', results })
      return answerOf(model, { messages, tools: hubTools })
    }
    const answer = await run((await run(first.calls)).calls)
    expect(answer.text).toMatch(
      /For mira, “what do barn owls get at dusk\?”: .*\/p\/owl[\s\S]*For otto, “and which gasket brought the pressure back\?”: .*\/p\/pump/,
    )
  })

  test('L14: the volatile tail changes nothing', async () => {
    const messages = askingMessages('@scout what do barn owls get at dusk?')
    const plain = await answerOf(model, { messages, tools: hubTools })
    const tail: Message = {
      role: 'user',
      text: '[status]\nTime: 2026-01-01. Left for this task: 9 more steps.',
    }
    const tailed = await answerOf(model, { messages: [...messages, tail], tools: hubTools })
    expect(tailed.calls).toEqual(plain.calls)
  })

  test('L34: a cancelled call fails as CANCELLED', async () => {
    const messages = askingMessages('@scout hi')
    const result = await model.call({
      messages,
      tools: [],
      maxOutputTokens: 9,
      signal: AbortSignal.abort(),
    })
    expect(result).toMatchObject({ ok: false, failure: { code: 'CANCELLED' } })
  })
})

test('L22: the answer streams in a few pieces split at word boundaries, deterministically', async () => {
  const pieces: string[][] = [[], []]
  const texts = await Promise.all(
    pieces.map(async (seen) => {
      const messages = askingMessages('@scout')
      return answerOf(model, { messages, tools: hubTools, onDelta: ({ text }) => seen.push(text) })
    }),
  )
  expect(texts[0]?.text).toBe(pieces[0]?.join(''))
  expect(pieces[0]?.length).toBeGreaterThan(2)
  expect(pieces[0]?.length).toBeLessThanOrEqual(8)
  expect(pieces[0]?.slice(0, -1).every((piece) => /\s$/.test(piece))).toBe(true)
  expect(pieces[1]).toEqual(pieces[0])
})
