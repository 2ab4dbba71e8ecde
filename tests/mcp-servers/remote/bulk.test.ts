import { exports } from 'cloudflare:workers'
import { beforeAll, describe, expect, it } from 'vitest'
import { adminKey, scoutFiles } from '../../support/cast'
import { externalUrls } from '../../support/external-services'
import { add, api, echo, listTools, readTool, setBehavior } from '../../support/remote-servers'
import { sampleSize } from '../../support/sample'
import { asAdmin } from '../../support/services'

/** With more than one page of all their tools. */
const serverCount = sampleSize(8, 24)
const toolCount = 50
/** The most bytes of a page or an answer that is read by people or models. */
const bytesMax = 150_000

const toTool = (at: number, words: string) => ({
  name: `tool_${String(at).padStart(2, '0')}`,
  description: `${words} ${at}:\n"<b>${'Reads & writes the orders of a shop. '.repeat(40)}</b>"`,
  inputSchema: {
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `argument_${index}`,
        { type: 'string', description: 'What the tool does with it. '.repeat(4) },
      ]),
    ),
  },
  annotations: { readOnlyHint: at % 2 === 0 },
})
const offer = (name: string, words: string) =>
  setBehavior(name, {
    tools: Array.from({ length: toolCount }, (_, at) => toTool(at, words)),
  })
const nameOf = (index: number) => `shop${index}`

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length

async function open(path: string) {
  const response = await exports.default.fetch(`http://hub.test${path}`, {
    headers: { authorization: `Bearer ${adminKey}` },
  })
  return { status: response.status, html: await response.text() }
}

/** Sends a mapping of many tools. */
const mapMany = (server: string, tools: object[], grant: string | null, tier: string | null) =>
  api('PUT', `/${server}/tools`, { tools, grant, tier })

beforeAll(async () => {
  for (let index = 0; index < serverCount; index++) {
    await offer(nameOf(index), 'First')
    const { status } = await asAdmin('POST', '/remote-servers', {
      name: nameOf(index),
      description: `The shop ${index}.`,
      base_url: `${externalUrls.mcp}/hostile/${nameOf(index)}`,
      allow_http: true,
      allow_private: true,
    })
    expect(status).toBe(200)
  }
})

describe(`${serverCount} servers of ${toolCount} tools`, () => {
  it('M12: tools are mapped together by the hashes that were read, all or none', async () => {
    const { tools } = await listTools({ server: 'shop0', says_read_only: 'true', limit: '100' })
    expect(tools).toHaveLength(toolCount / 2)
    const seen = tools.map(({ name, hash }) => ({ name, hash }))
    const stale = [...seen.slice(1), { name: 'tool_00', hash: 'f'.repeat(64) }]
    expect((await mapMany('shop0', stale, 'shop0:read', 'read')).status).toBe(409)
    const unknown = [...seen, { name: 'nope' }]
    expect((await mapMany('shop0', unknown, 'shop0:read', 'read')).status).toBe(404)
    expect((await mapMany('shop0', seen, 'shop1:read', 'read')).status).toBe(400)
    expect((await mapMany('shop0', [], 'shop0:read', 'read')).status).toBe(400)
    expect((await mapMany('nope', seen, 'nope:read', 'read')).status).toBe(404)
    expect((await listTools({ server: 'shop0', state: 'usable' })).tools).toEqual([])

    const mapped = await mapMany('shop0', seen, 'shop0:read', 'read')
    expect(mapped.status).toBe(200)
    expect(mapped.changed.map(({ name }) => name)).toEqual(seen.map(({ name }) => name))
    expect(new Set(mapped.changed.map(({ state }) => state))).toEqual(new Set(['usable']))
    const hidden = await mapMany('shop0', seen.slice(0, 2), null, null)
    expect(hidden.changed.map(({ state }) => state)).toEqual(['unmapped', 'unmapped'])
  })

  it('M12: a mapping answers its tools alone, whatever else the server has', async () => {
    const one = await api('PUT', '/shop1/tools/tool_07', { grant: 'shop1:read', tier: 'read' })
    expect(one.changed).toMatchObject([{ tool: 'shop1_tool_07', state: 'usable' }])
    expect(bytesOf(one.body)).toBeLessThan(2_000)
  })

  it('M12: lists go by server, words, state and claim, and page by a cursor of that list', async () => {
    const all: string[] = []
    let cursor = ''
    do {
      const { tools, next, bytes } = await listTools({ limit: '100', ...(cursor && { cursor }) })
      all.push(...tools.map(({ tool }) => tool))
      expect(bytes).toBeLessThan(bytesMax)
      cursor = next ?? ''
    } while (cursor)
    expect(new Set(all).size).toBe(serverCount * toolCount)
    const words = { server: 'shop2', q: 'FIRST shop2_tool_1' }
    expect((await listTools(words)).tools).toHaveLength(10)
    const first = await listTools({ ...words, limit: '3' })
    const others = { ...words, server: 'shop3', limit: '3', cursor: first.next ?? '' }
    expect((await listTools(others)).status).toBe(400)
    expect((await listTools({ state: 'nonsense' })).status).toBe(400)
    const page = await open(`/tools/remote/shop3?cursor=${first.next}`)
    expect(page.status).toBe(400)
  })

  it('M12: only a tool that is asked for has its texts', async () => {
    const { tools } = await listTools({ server: 'shop4', limit: '1' })
    expect(tools[0]).not.toHaveProperty('text')
    expect(tools[0]).not.toHaveProperty('input_schema')
    expect((await readTool('shop4', 'tool_00')).text).toContain('argument_19')
    expect((await asAdmin('GET', '/remote-servers/shop4/tools/nope')).status).toBe(404)
  })

  it(`M12: no page and no answer has ${bytesMax} bytes, with each tool hidden, changed or gone`, async () => {
    const { tools } = await listTools({ server: 'shop5', limit: '100' })
    const seen = tools.map(({ name, hash }) => ({ name, hash }))
    await mapMany('shop5', seen, 'shop5:read', 'read')
    const sizes: Record<string, number> = {}
    const measure = async (what: string) => {
      const { body } = await asAdmin('GET', '/remote-servers')
      sizes[`${what}: servers`] = bytesOf(body)
      const refreshed = await asAdmin('POST', '/remote-servers/shop5/refresh')
      sizes[`${what}: refreshed`] = bytesOf(refreshed.body)
      for (const path of ['', '/shop0', '/shop5', '/shop5/tool_00']) {
        const { status, html } = await open(`/tools/remote${path}`)
        expect(status).toBe(200)
        sizes[`${what}: page${path}`] = new TextEncoder().encode(html).length
      }
    }
    await measure('available')
    // each quote has six bytes on a page, and half of the changes are short enough for the list
    await offer('shop5', '"'.repeat(300))
    await asAdmin('POST', '/remote-servers/shop5/refresh')
    await measure('changed')
    await setBehavior('shop5', { tools: [] })
    await asAdmin('POST', '/remote-servers/shop5/refresh')
    await measure('gone')
    expect(Object.entries(sizes).filter(([, bytes]) => bytes >= bytesMax)).toEqual([])
    const grown = (sizes['changed: page/shop5'] ?? 0) - (sizes['gone: page/shop5'] ?? 0)
    expect(grown).toBeGreaterThan(40_000)
  })
})

describe('adding a server', () => {
  const base = { description: 'One.', allow_http: false, allow_private: false }

  it.each([
    [
      'plain http to a private address',
      { base_url: 'http://127.0.0.1/mcp' },
      [
        ['base_url', 'allow_http'],
        ['base_url', 'allow_private'],
      ],
    ],
    ['plain http', { base_url: 'http://mcp.example/mcp' }, [['base_url', 'allow_http']]],
    ['a private address', { base_url: 'https://10.0.0.1/mcp' }, [['base_url', 'allow_private']]],
    [
      'another protocol with a password',
      { base_url: 'ftp://ada:secret@mcp.example/mcp' },
      [
        ['base_url', 'Only https'],
        ['base_url', 'password'],
      ],
    ],
    [
      'everything at once',
      {
        name: 'hub',
        base_url: 'http://ada:secret@localhost/mcp?a=1',
        credential: 'key',
        hosts: ['10.0.0.1', 'https://x.org/a'],
        headers: { host: 'x', cookie: 'a=b' },
      },
      [
        ['name', 'built-in'],
        ['base_url', 'allow_http'],
        ['base_url', 'password'],
        ['base_url', 'allow_private'],
        ['base_url', 'query'],
        ['hosts', 'allow_private'],
        ['hosts', 'is not a host'],
        ['headers', 'host is set'],
        ['headers', 'cookie can contain'],
        ['headers', '{credential}'],
      ],
    ],
  ])(
    'M13: what is wrong with %s is answered together, with what allows it',
    async (_what, more, expected) => {
      const { status, body } = await asAdmin('POST', '/remote-servers', {
        name: 'fine',
        ...base,
        ...more,
      })
      expect(status).toBe(400)
      const { details } = body as unknown as { details: { path: string; message: string }[] }
      expect(details.map(({ path }) => path)).toEqual(expected.map(([field]) => `body.${field}`))
      for (const [index, [, words]] of expected.entries()) {
        expect(details[index]?.message).toContain(words)
      }
    },
  )

  it('M12: a definition is checked with the tools that are mapped now, whatever their server is called', async () => {
    const save = async (grants: string[]) => {
      const config = `name: scout\nbrain: { provider: offline }\ncapabilities:\n  grants: [${grants.map((grant) => `"${grant}"`)}]\n`
      const files = { ...scoutFiles(), 'config.yaml': config }
      const { body } = await asAdmin('PUT', '/agents/scout/definition', { files })
      return (body as unknown as { warnings: unknown[] }).warnings
    }
    for (const name of ['filesystem', 'shell', 'fs', 'orders']) {
      const grant = `${name}:read`
      expect(await save([grant])).toHaveLength(1)
      await setBehavior(name, { tools: [echo] })
      await add(name, `${externalUrls.mcp}/hostile/${name}`)
      const { tools } = await listTools({ server: name })
      const seen = tools.map((tool) => ({ name: tool.name, hash: tool.hash }))
      expect((await open('/a/scout')).html).toMatch(/1\swarning/)
      await mapMany(name, seen, grant, 'read')
      expect((await open('/a/scout')).html).not.toMatch(/1\swarning/)
      expect(await save([grant]), name).toEqual([])
      await mapMany(name, seen, null, null)
      expect((await open('/a/scout')).html).toMatch(/1\swarning/)
      await asAdmin('DELETE', `/remote-servers/${name}`)
      expect(await save([grant, 'hub:read'])).toHaveLength(1)
    }
  })
})
