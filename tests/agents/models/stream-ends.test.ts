import { describe, expect, test } from 'vitest'
import { answerOf, fakeModel, protocols, request, searchTool } from './fake-provider'

describe.each(protocols)('%s', (provider) => {
  test.each(['length', 'content-filter'] as const)(
    'L23: the finish reason %s is reported',
    async (finish) => {
      const { model } = await fakeModel(provider, [{ text: 'Half of a sen', finish }])
      expect(await answerOf(model)).toMatchObject({ text: 'Half of a sen', finish })
    },
  )

  test('L23: a stream that ends cleanly without a reason is interrupted', async () => {
    const { model } = await fakeModel(provider, [{ text: 'The tin holds', fault: 'end' }])
    expect(await answerOf(model)).toMatchObject({ text: 'The tin holds', finish: 'interrupted' })
  })

  test.each([
    ['many pieces', 10_000],
    ['one piece', 2_000_000],
  ])(
    'L26: 2 MB of text in %s are truncated at 512 KiB and finish as length',
    async (_pieces, pieceChars) => {
      const text = 'abcdefghi '.repeat(200_000)
      const { model, requests } = await fakeModel(provider, [{ text, pieceChars }])
      const seen: number[] = []
      const answer = await answerOf(model, { onDelta: (delta) => seen.push(delta.text.length) })
      expect(answer).toMatchObject({ finish: 'length', usage: null, calls: [] })
      expect(answer.text).toBe(text.slice(0, 512 * 1024))
      expect(seen.reduce((sum, chars) => sum + chars, 0)).toBe(512 * 1024)
      expect(await requests()).toHaveLength(1)
    },
  )

  test('L26: 2 MB of reasoning fit into a row, whatever goes back with them', async () => {
    const reasoning = 'so "that"\n'.repeat(200_000)
    const { model } = await fakeModel(provider, [{ reasoning, text: 'x', pieceChars: 50_000 }])
    const answer = await answerOf(model)
    expect(answer).toMatchObject({ finish: 'length', text: '' })
    expect(JSON.stringify(answer).length).toBeLessThan(1_000_000)
  })

  test('L26: arguments of 2 MB are truncated, and their call is reported truncated', async () => {
    const query = 'tin '.repeat(500_000)
    const { model } = await fakeModel(provider, [
      { calls: [{ id: 'c1', name: 'hub_search', arguments: { query } }], pieceChars: 100_000 },
    ])
    const answer = await answerOf(model, { tools: [searchTool] })
    expect(answer.finish).toBe('length')
    expect(answer.calls).toHaveLength(1)
    expect(answer.calls[0]).toMatchObject({ callId: 'c1', name: 'hub_search' })
    expect(JSON.stringify(answer).length).toBeLessThan(600_000)
  })

  test('L26: 200 calls at once, and two with the same id, all come through', async () => {
    const calls = Array.from({ length: 200 }, (_, n) => ({
      id: `call_${n === 1 ? 0 : n}`,
      name: 'hub_search',
      arguments: { query: `q${n}` },
    }))
    const { model } = await fakeModel(provider, [{ calls }])
    const answer = await answerOf(model, { tools: [searchTool] })
    expect(answer.finish).toBe('tool-calls')
    // `admitCalls` refuses the second of two calls that share an id
    expect(answer.calls.map(({ callId }) => callId)).toEqual(calls.map(({ id }) => id))
    expect(answer.calls.map((call) => JSON.parse(call.arguments).query)).toEqual(
      calls.map((call) => call.arguments.query),
    )
  })

  test('L22: reasoning and text come as they arrive, in their order', async () => {
    const { model } = await fakeModel(provider, [
      {
        reasoning: 'Tins are kept in cellars.',
        text: 'Look in the cellar, I would say.',
        pieceMs: 1,
      },
    ])
    const kinds: string[] = []
    const texts = { text: '', reasoning: '' }
    let isOver = false
    const answer = await answerOf(model, {
      onDelta: ({ kind, text }) => {
        expect(isOver).toBe(false)
        kinds.push(kind)
        texts[kind] += text
      },
    })
    isOver = true
    expect(texts).toEqual({ text: answer.text, reasoning: answer.reasoning })
    expect(kinds.filter((kind) => kind === 'reasoning').length).toBeGreaterThan(1)
    expect(kinds.filter((kind) => kind === 'text').length).toBeGreaterThan(1)
    expect(kinds.lastIndexOf('reasoning')).toBeLessThan(kinds.indexOf('text'))
  })

  test('L23: calls come through whether the reason is stop or tool-calls', async () => {
    const calls = [{ id: 'c1', name: 'hub_search', arguments: { query: 'tin' } }]
    const { model } = await fakeModel(provider, [{ calls, finish: 'stop' }, { calls }])
    for (const _ of [1, 2]) {
      const answer = await answerOf(model, { tools: [searchTool] })
      expect(['stop', 'tool-calls']).toContain(answer.finish)
      expect(answer.calls).toHaveLength(1)
    }
  })

  test('L23: calls under length come with that reason', async () => {
    const calls = [{ id: 'c1', name: 'hub_search', arguments: '{"query": "ti' }]
    const { model } = await fakeModel(provider, [{ text: 'Well', calls, finish: 'length' }])
    const answer = await answerOf(model, { tools: [searchTool] })
    expect(answer).toMatchObject({ finish: 'length', text: 'Well' })
    expect(answer.calls).toHaveLength(1)
  })

  test('L23: an unknown finish reason is reported as other, with the text', async () => {
    const { model } = await fakeModel(provider, [{ text: 'So far.', finish: 'unheard-of' }])
    expect(await answerOf(model)).toMatchObject({ text: 'So far.', finish: 'other' })
  })

  test('L23: a provider that ends with an error is a failure or finishes as error', async () => {
    const { model } = await fakeModel(provider, [{ text: 'So far.', finish: 'error' }])
    const result = await model.call(request())
    if (result.ok) expect(result.answer.finish).toBe('error')
    else expect(result.failure).toMatchObject({ isRetryable: true, mayBeCharged: true })
  })
})
