import { expect, test } from 'vitest'
import { hashTools, measurePrompt } from '../../../src/agents/effects/measure-prompt'
import type { Message } from '../../../src/agents/loop/message'

const tool = (name: string) => ({ name, description: 'Does it.', inputSchema: { type: 'object' } })
const userMessage = (text: string): Message => ({ role: 'user', text })
const share = (before: Message[], after: Message[], tools = [[tool('a')], [tool('a')]]) =>
  measurePrompt(
    { messages: after, tools: tools[1] ?? [] },
    1,
    measurePrompt({ messages: before, tools: tools[0] ?? [] }, 1, null).parts,
  ).input.prefixShare

test('L43: a prompt in numbers: messages, characters of everything a provider reads, tokens', () => {
  const messages: Message[] = [
    { role: 'system', text: '12345' },
    { role: 'assistant', text: '', calls: [{ callId: 'c1', name: 'add', arguments: '{}' }] },
    { role: 'tool', results: [{ callId: 'c1', name: 'add', text: '3', isError: false }] },
  ]
  expect(measurePrompt({ messages, tools: [] }, 42, null).input).toEqual({
    messages: 3,
    chars: 'system12345assistantc1add{}toolc1add3'.length,
    tokens: 42,
    prefixShare: null,
  })
})

test('L14 L43: a prompt that only grew begins with all of the one before', () => {
  expect(share([userMessage('a')], [userMessage('a'), userMessage('b')])).toBe(1)
})

test('L14 L43: what changes at the end costs its share, and the place of the change decides', () => {
  const long = userMessage('x'.repeat(1_000))
  expect(
    share([long, userMessage('tail 1')], [long, userMessage('b'), userMessage('tail 2')]),
  ).toBeGreaterThan(0.98)
  expect(share([userMessage('tail 1'), long], [userMessage('tail 2'), long])).toBeLessThan(0.1)
  expect(share([userMessage('x'.repeat(1_000))], [userMessage(`${'x'.repeat(500)}y`)])).toBeCloseTo(
    0.5,
    1,
  )
})

test('L14 L43: tools come first: another one changes everything after it', () => {
  expect(share([userMessage('a')], [userMessage('a')], [[tool('a')], [tool('b')]])).toBe(0)
})

test('L14 L43: a role is part of the prompt', () => {
  expect(share([userMessage('abcdefgh')], [{ role: 'system', text: 'abcdefgh' }])).toBeLessThan(0.8)
})

test('P10: the hash of tools changes with a name, a description or a schema, and with nothing else', () => {
  const [a, b] = [tool('a'), tool('b')]
  const hash = hashTools([a, b])
  expect(hashTools([tool('a'), tool('b')])).toBe(hash)
  const others = [
    [a],
    [b, a],
    [{ ...a, name: 'c' }, b],
    [{ ...a, description: 'Does more.' }, b],
    [{ ...a, inputSchema: { type: 'object', required: ['x'] } }, b],
  ]
  expect(new Set([hash, ...others.map((tools) => hashTools(tools))]).size).toBe(6)
  expect(hashTools([a, b])).toBe(hash)
})
