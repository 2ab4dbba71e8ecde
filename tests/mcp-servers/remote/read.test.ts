import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseMessages, readResult, readTools } from '../../../src/mcp-servers/remote/messages'
import { remoteServers } from '../../../src/shared/config'

const text = (of: unknown) => ({ type: 'text', text: of })

describe('the result of a tool', () => {
  it.each([
    ['a text', { content: [text('a'), text('b')] }, 'a\nb'],
    ['no content', {}, ''],
    ['content that is null', { content: null, structuredContent: null }, ''],
    ['structured content alone', { content: [], structuredContent: { a: 1 } }, '{"a":1}'],
    [
      'structured content beside a text',
      { content: [text('One.')], structuredContent: { a: 1 } },
      'One.\n{"a":1}',
    ],
    [
      'structured content as a text',
      { content: [text('{ "b": 2, "a": [1] }')], structuredContent: { a: [1], b: 2 } },
      '{ "b": 2, "a": [1] }',
    ],
    [
      'a wrapped value as a text',
      { content: [text('42')], structuredContent: { result: 42 } },
      '42',
    ],
    [
      'a wrapped text as a text',
      { content: [text('done')], structuredContent: { result: 'done' } },
      'done',
    ],
    [
      'a wrapped list, a text for each',
      { content: [text('a'), text('{"b":1}')], structuredContent: { result: ['a', { b: 1 }] } },
      'a\n{"b":1}',
    ],
    [
      'another value as a text',
      { content: [text('41')], structuredContent: { result: 42 } },
      '41\n{"result":42}',
    ],
    [
      'an image',
      { content: [{ type: 'image', mimeType: 'image/png', data: 'A'.repeat(16_384) }] },
      '[image/png, 12.3 KB, not shown]',
    ],
    [
      'a sound without a type',
      { content: [{ type: 'audio', mimeType: null, data: 'AAAA' }] },
      '[audio, 3 B, not shown]',
    ],
    [
      'an image without data',
      { content: [{ type: 'image', mimeType: 'image/png' }] },
      '[image/png, no data, not shown]',
    ],
    [
      'a link',
      {
        content: [
          {
            type: 'resource_link',
            uri: 'file:///a',
            name: 'a',
            title: 'The A',
            description: 'All of A.',
            mimeType: 'text/csv',
            size: 2_048,
          },
        ],
      },
      '[Resource: The A, file:///a, text/csv, 2.0 KB] All of A.',
    ],
    [
      'a link with nulls',
      {
        content: [
          {
            type: 'resource_link',
            uri: 'file:///a',
            name: 'a',
            title: null,
            description: null,
            mimeType: null,
            size: null,
          },
        ],
      },
      '[Resource: a, file:///a]',
    ],
    [
      'an embedded text',
      {
        content: [
          {
            type: 'resource',
            resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'All of it' },
          },
        ],
      },
      '[file:///a, text/plain]\nAll of it',
    ],
    [
      'embedded bytes',
      { content: [{ type: 'resource', resource: { uri: 'file:///a', blob: 'AAAA' } }] },
      '[file:///a: resource, 3 B, not shown]',
    ],
    [
      'an unknown block beside a text',
      { content: [{ type: 'hologram', data: 1 }, text('b')] },
      '[Content 1 is of the unknown type "hologram": not shown]\nb',
    ],
    [
      'blocks that are none',
      { content: [null, 'a', 7, text('b')] },
      '[Content 1 is not an object: not shown]\n[Content 2 is not an object: not shown]\n[Content 3 is not an object: not shown]\nb',
    ],
    [
      'a text without text',
      { content: [text(null), text('b')] },
      '[Content 1 is a text without text: not shown]\nb',
    ],
    [
      'a resource without anything',
      { content: [{ type: 'resource', resource: null }] },
      '[Content 1 is a resource that is not an object: not shown]',
    ],
    [
      'content that is no list, beside structured content',
      { content: 'x', structuredContent: { a: 1 } },
      '[The content is not a list: not shown]\n{"a":1}',
    ],
    ['half a surrogate pair', { content: [text('a\ud83d')] }, 'a\ufffd'],
  ])('M12: of %s the model reads what there is', (_what, result, expected) => {
    expect(readResult(result)).toEqual({ text: expected, isError: false })
  })

  it('M12: large numbers of structured content stay as they are, also where a text rounds them', () => {
    const read = (result: string) => {
      const [message] = parseMessages(`{"id":1,"result":${result}}`)
      return readResult((message as { result: Record<string, unknown> }).result)?.text
    }
    const id = '12345678901234567891'
    expect(read(`{"content":[],"structuredContent":{"id":${id}}}`)).toBe(`{"id":${id}}`)
    const both = `{"content":[{"type":"text","text":"{\\"id\\":${id}}"}],"structuredContent":{"id":${id}}}`
    expect(read(both)).toBe(`{"id":${id}}`)
  })

  it.each([{ content: 'no list' }, { content: {} }, { content: 7 }])(
    'M12: a result of which nothing can be read is none: %j',
    (result) => {
      expect(readResult(result)).toBeNull()
    },
  )

  it('M12: whatever a block is, those beside it are read', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.array(fc.jsonValue()), (before, after) => {
        const read = readResult({ content: [...before, text('the text'), ...after] })
        expect(read?.text.split('\n')).toContain('the text')
      }),
    )
  })
})

const schema = { type: 'object', properties: {} }
const toTool = (more: object) => ({
  name: 'x',
  description: 'Does x.',
  inputSchema: schema,
  ...more,
})
const read = (...entries: unknown[]) => readTools([{ entries, isLast: true }])

describe('a list of tools', () => {
  it.each([
    ['a description that is null', { description: null }, { description: '' }],
    ['no description', { description: undefined }, { description: '' }],
    ['no schema', { inputSchema: undefined }, { inputSchema: { type: 'object' } }],
    ['a schema that is null', { inputSchema: null }, { inputSchema: { type: 'object' } }],
    ['annotations that are null', { annotations: null }, { annotations: null }],
    ['annotations that are a text', { annotations: 'read' }, { annotations: null }],
    [
      'an annotation of another type',
      { annotations: { readOnlyHint: 'yes', title: 'X' } },
      { annotations: { title: 'X' } },
    ],
    [
      'an unknown annotation',
      { annotations: { cost: 3, openWorldHint: true } },
      { annotations: { openWorldHint: true } },
    ],
    [
      'an output schema that is null',
      { outputSchema: null, title: null, icons: null, _meta: null },
      {},
    ],
    ['an output schema that is none', { outputSchema: 'x', execution: 4 }, {}],
    [
      'a schema of another type',
      { inputSchema: { properties: null } },
      { inputSchema: { properties: null } },
    ],
    [
      'a long description',
      { description: 'd'.repeat(30_000) },
      { description: 'd'.repeat(30_000) },
    ],
  ])('M12: a tool with %s is offered', (_what, given, expected) => {
    const { tools, problems } = read(toTool(given))
    expect(problems).toEqual([])
    const plain = { name: 'x', description: 'Does x.', inputSchema: schema, annotations: null }
    expect(tools).toEqual([{ ...plain, ...expected }])
  })

  it.each([
    ['Tool "x": inputSchema is not an object', toTool({ inputSchema: 'none' })],
    ['Tool "x": inputSchema is not an object', toTool({ inputSchema: [] })],
    ['Tool "x": description is not a text', toTool({ description: ['a'] })],
    ['Tool 1 of the list: it has no name', toTool({ name: null })],
    ['Tool 1 of the list: it has no name', toTool({ name: '' })],
    ['Tool 1 of the list: it is not an object', null],
    ['Tool 1 of the list: it is not an object', 'x'],
    [/^Tool "x+": its name is longer than 128 characters$/, toTool({ name: 'x'.repeat(129) })],
    [
      /^Tool "x": description and inputSchema have \d+ characters, and 65536 are allowed$/,
      toTool({ description: 'd'.repeat(70_000) }),
    ],
    [
      'Tool "x": inputSchema has more than 32 levels',
      toTool({ inputSchema: JSON.parse(`${'{"a":'.repeat(40)}1${'}'.repeat(40)}`) }),
    ],
  ])(
    'M12: one that cannot be read is left out with the reason, and no other: %s',
    (reason, bad) => {
      const { tools, problems, isWhole } = read(bad, toTool({ name: 'y' }))
      expect(tools.map(({ name }) => name)).toEqual(['y'])
      expect(problems).toEqual([expect.stringMatching(reason)])
      expect(isWhole).toBe(true)
    },
  )

  it('M12: one that is listed twice is offered once', () => {
    const { tools, problems } = read(toTool({}), toTool({ description: 'Another.' }))
    expect(tools).toMatchObject([{ description: 'Does x.' }])
    expect(problems).toEqual(['Tool "x": it is listed twice'])
  })

  it('M12: what a limit leaves out is said, and nothing is gone by it', () => {
    const many = Array.from({ length: remoteServers.toolsMax + 1 }, (_, at) =>
      toTool({ name: `t${at}` }),
    )
    const cut = read(...many)
    expect(cut.tools).toHaveLength(remoteServers.toolsMax)
    expect(cut).toMatchObject({ isWhole: false, problems: ['Only the first 1000 tools are read.'] })
    const paged = readTools([{ entries: [toTool({})], isLast: false }])
    expect(paged).toMatchObject({ isWhole: false, problems: ['Only the first 1 tools are read.'] })
    const bad = read(...Array.from({ length: 80 }, () => null))
    expect(bad.problems).toHaveLength(remoteServers.problemsMax + 1)
    expect(bad.problems.at(-1)).toBe('30 more problems.')
  })

  it('M12: whatever an entry is, those beside it are read', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.array(fc.jsonValue()), (before, after) => {
        const { tools } = read(...before, toTool({ name: 'the tool' }), ...after)
        expect(tools.map(({ name }) => name)).toContain('the tool')
      }),
    )
  })
})
