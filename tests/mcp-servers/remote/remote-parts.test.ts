import { expect, it } from 'vitest'
import { createArgumentCheck } from '../../../src/mcp-servers/remote/check-arguments'
import { diffLines } from '../../../src/mcp-servers/remote/diff-lines'
import { hashOffer, toPlain, toVisible } from '../../../src/mcp-servers/remote/pin'
import { watchLine } from '../../../src/mcp-servers/remote/watch-line'
import { toWireName } from '../../../src/mcp-servers/remote/wire-name'

const tool = {
  name: 'sum',
  description: 'Adds.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' } } },
  annotations: null,
}

it('M12: a pin does not mind the order of keys, and minds everything else', async () => {
  const hash = await hashOffer(tool)
  expect(hash).toMatch(/^[0-9a-f]{64}$/)
  const { type, properties } = tool.inputSchema
  expect(await hashOffer({ ...tool, inputSchema: { properties, type } })).toBe(hash)
  for (const other of [
    { ...tool, name: 'sum2' },
    { ...tool, description: 'Adds. ' },
    { ...tool, inputSchema: { type, properties: { a: { type: 'string' } } } },
    { ...tool, annotations: {} },
  ]) {
    expect(await hashOffer(other)).not.toBe(hash)
  }
})

it('M12: characters that nobody sees do not reach a model, and are written out for people', () => {
  const hidden = 'Adds.\u{E0049}\u{E0067}\u200B\u202E\u0000 Two\n\tnumbers.'
  expect(toPlain(hidden)).toBe('Adds. Two\n\tnumbers.')
  expect(toVisible(hidden)).toBe('Adds.⟨U+E0049⟩⟨U+E0067⟩⟨U+200B⟩⟨U+202E⟩⟨U+0000⟩ Two\n\tnumbers.')
})

it('M12: a tool has a name that models take, and keeps it', async () => {
  const nobody = () => false
  expect(await toWireName('acme', 'get-sum', nobody)).toBe('get_sum')
  expect(await toWireName('acme', 'Files/Read.One', nobody)).toBe('files_read_one')
  const taken = await toWireName('acme', 'get-sum', () => true)
  expect(taken).toMatch(/^get_sum_[0-9a-f]{8}$/)
  expect(await toWireName('acme', 'get-sum', () => true)).toBe(taken)
  expect(await toWireName('acme', '日本', nobody)).toMatch(/^[0-9a-f]{8}$/)
  const long = await toWireName('acme', 'x'.repeat(100), nobody)
  expect(`acme_${long}`.length).toBeLessThanOrEqual(64)
})

it('M12: what changed is shown line by line', () => {
  const signs = diffLines('one\ntwo\nthree', 'one\nTWO\nthree\nfour').map(
    ({ sign, text }) => `${sign}${text}`,
  )
  expect(signs).toEqual([' one', '-two', '+TWO', ' three', '+four'])
  expect(diffLines('a', 'a')).toEqual([{ sign: ' ', text: 'a' }])
})

it("M12: arguments are checked against a stranger's schema, whose patterns never run", () => {
  const check = createArgumentCheck({
    type: 'object',
    required: ['a'],
    properties: {
      a: { type: 'number' },
      pattern: { type: 'string', pattern: '^(a+)+$' },
    },
  })
  expect(check({ a: 1, pattern: `${'a'.repeat(50)}!` })).toEqual([])
  expect(check({ a: 'x' })).toMatchObject([{ path: 'a' }])
  expect(check({})[0]?.message).toContain('"a"')
  expect(check([])).toHaveLength(1)
  expect(check({ a: 1, pattern: 3 })).toMatchObject([{ path: 'pattern' }])
  const broken = createArgumentCheck({ $ref: 'https://elsewhere.example/schema' })
  expect(broken({ a: 1 })).toEqual([])
})

it('M12: progress is told while an answer comes, and the answer ends the wait', () => {
  const seen: string[] = []
  const watch = (value: unknown) =>
    watchLine(`data: ${JSON.stringify(value)}`, (text) => seen.push(text))
  const method = 'notifications/progress'
  expect(watch({ method, params: { progress: 1, total: 4 } })).toBe(false)
  expect(watch({ method, params: { progress: 2, message: 'm'.repeat(999) } })).toBe(false)
  expect(watch({ id: 3, method: 'sampling/createMessage' })).toBe(false)
  expect(watchLine('event: message')).toBe(false)
  expect(watchLine('data: {')).toBe(false)
  expect(watchLine('data: null')).toBe(false)
  expect(watch({ id: 3, result: {} })).toBe(true)
  expect(watch({ id: 3, error: {} })).toBe(true)
  expect(seen).toEqual(['1 of 4', 'm'.repeat(200)])
})
