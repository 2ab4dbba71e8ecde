import { env, exports } from 'cloudflare:workers'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { beforeAll, describe, expect, it } from 'vitest'
import { createAccount } from '../../support/cast'
import { connectMcp, textOf } from '../../support/connect-mcp'
import { externalUrls } from '../../support/external-services'
import {
  add,
  api,
  echo,
  listRequests,
  mapEcho,
  remoteEchoes,
  setBehavior,
} from '../../support/remote-servers'
import { allow, asAdmin } from '../../support/services'

/** The whole Worker, and a remote MCP server that does what it should not. */
let client: Client

beforeAll(async () => {
  const wren = await createAccount('wren', 'agent')
  await allow(wren.id, ['odd:*'])
  client = await connectMcp((request) => exports.default.fetch(request), wren.key, '/mcp')
})

const use = async (name: string, args: object = {}) => {
  const result = await client.callTool({ name, arguments: { ...args } })
  return { text: textOf(result), isError: result.isError === true }
}

const cancelled = 'notifications/cancelled'

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await Promise.resolve()
}

describe('a server that misbehaves', () => {
  const secret = 'a "secret"+of/the server'
  beforeAll(async () => {
    await setBehavior('odd', { tools: [echo] })
    const headers = { Authorization: 'Bearer {credential}' }
    await asAdmin('PUT', '/credentials/odd-key', {
      value: secret,
      server: 'remote',
      service: 'odd',
    })
    const { remote } = await add('odd', `${externalUrls.mcp}/hostile/odd`, {
      credential: 'odd-key',
      headers,
    })
    expect(remote.failure).toBeNull()
    await mapEcho('odd')
  })

  it.each([
    ['answers 10 MB', 'long', /^Error: The response of the server odd is too large\./],
    ['answers HTML', 'html', /^Error: The service odd answered with a web page\./],
    ['redirects elsewhere', 'redirect', /was blocked: it redirects to another host/],
    [
      'breaks off',
      'reset',
      /^Error: The service odd could not be reached, or the connection broke/,
    ],
    ['is down', 'down', /^Error: The service odd answered 503\. Response: .*out of order/],
    ['refuses', 'refuse', /^Error: The server odd refused the request \(-32050\): not today/],
    ['says that it failed', 'fail', /^Error: The tool echo of odd failed: it broke/],
    ['answers nonsense', 'nonsense', /^Error: The server odd does not answer as an MCP server\./],
    ['answers bytes', 'binary', /^Error: The server odd does not answer as an MCP server\./],
  ])('M12, M14: one that %s is an error that a model can read', async (_what, onCall, words) => {
    await setBehavior('odd', { tools: [echo], onCall })
    const { text, isError } = await use('odd_echo')
    expect(isError).toBe(true)
    expect(text).toMatch(words)
    expect(text).not.toContain('<h1>')
  })

  it.each(remoteEchoes)(
    'M6, M12: what it echoes of its credential reaches nobody (%s)',
    async (onCall) => {
      await setBehavior('odd', { tools: [echo], onCall })
      const seen: unknown[] = []
      const call = { name: 'odd_echo', arguments: {} }
      const result = await client.callTool(call, undefined, {
        onprogress: (each) => seen.push(each),
      })
      const all = JSON.stringify([result, seen])
      expect(all).toContain('[redacted]')
      for (const form of ['secret', btoa(secret), encodeURIComponent(secret)]) {
        expect(all).not.toContain(form)
      }
    },
  )

  it('M6, M12: a description that holds the credential is stored without it', async () => {
    await setBehavior('odd', {
      tools: [{ ...echo, name: 'leak', description: `Uses ${secret}.` }, echo],
    })
    const { remote } = await api('POST', '/odd/refresh')
    expect(JSON.stringify(remote)).toContain('Uses [redacted].')
    const { results } = await env.DB.prepare('SELECT * FROM remote_tools').all()
    expect(JSON.stringify(results)).not.toContain('secret')
  })

  it('M12: a tool whose schema is nested too deep to be shown is not offered', async () => {
    const nest = (levels: number): object => (levels === 0 ? {} : { items: nest(levels - 1) })
    const deep = (name: string, levels: number) => ({
      ...echo,
      name,
      inputSchema: { type: 'object', properties: { list: nest(levels) } },
    })
    await setBehavior('odd', { tools: [deep('shallow', 20), deep('deep', 40), echo] })
    const { remote } = await api('POST', '/odd/refresh')
    expect(remote.tools.map(({ name }) => name)).toEqual(['echo', 'shallow'])
  })

  it.each(['hang', 'hang-in-stream'])(
    'M12: a call that hangs ends with its caller (%s)',
    async (onCall) => {
      await setBehavior('odd', { tools: [echo], onCall })
      const count = async (method: string) =>
        (await listRequests('odd')).filter((each) => each === method).length
      const [calls, cancellations] = [await count('tools/call'), await count(cancelled)]
      const stop = new AbortController()
      const call = { name: 'odd_echo', arguments: {} }
      const answer = client.callTool(call, undefined, { signal: stop.signal })
      const ended = expect(answer).rejects.toThrow()
      await until(async () => (await count('tools/call')) > calls)
      stop.abort()
      await ended
      await until(async () => (await count(cancelled)) > cancellations)
    },
  )

  it('M12: why its list could not be read is kept for the admin', async () => {
    await setBehavior('odd', { tools: [echo], onList: 'html' })
    const { remote } = await api('POST', '/odd/refresh')
    expect(remote.failure).toMatch(/answered with a web page/)
    expect(remote.tools.find(({ name }) => name === 'echo')).toMatchObject({ state: 'usable' })
  })
})
