import { exports } from 'cloudflare:workers'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createAccount } from '../../support/cast'
import { connectMcp, textOf } from '../../support/connect-mcp'
import { addSessions, setSessions, takeSent } from '../../support/remote-servers'
import { allow } from '../../support/services'

/** The whole Worker, and a remote MCP server over HTTP that uses all that its transport allows. */
let client: Client

const tools = ['ask', 'poll', 'cut', 'mute', 'flood', 'raw', 'break', 'fail']

beforeAll(async () => {
  const wren = await createAccount('wren', 'agent')
  await allow(wren.id, ['desk:*'])
  await setSessions('desk')
  await addSessions('desk', tools)
  client = await connectMcp((request) => exports.default.fetch(request), wren.key, '/mcp')
})
beforeEach(async () => {
  await setSessions('desk')
  await takeSent('desk')
})

const use = async (tool: string, args: Record<string, unknown> = {}) =>
  textOf(await client.callTool({ name: `desk_${tool}`, arguments: args }))
const listSent = async () => (await takeSent('desk')).map(({ what }) => what)

const answers = [
  'ping {}',
  'roots/list -32601',
  'elicitation/create -32601',
  'sampling/createMessage -32601',
  'future/thing -32601',
].join('\n')

describe('the requests of a server during a call', () => {
  it('M12: are answered while its stream is open: a ping, and that nothing else is granted', async () => {
    expect(await use('ask')).toBe(answers)
    const sent = await listSent()
    expect(sent.filter((what) => what === 'response')).toHaveLength(5)
  })

  it('M12: are bounded, so that a server cannot occupy the hub', async () => {
    expect(await use('flood')).toMatch(/^Error: The server desk sent too many requests/)
    expect((await listSent()).filter((what) => what === 'response').length).toBeLessThan(100)
  })
})

describe('a stream of events', () => {
  it.each([false, true])(
    'M12: opens a session and ends it (streaming: %s)',
    async (isStreaming) => {
      await setSessions('desk', { isStreaming, isRestarted: true })
      expect(await use('ask')).toBe(answers)
      expect(await setSessions('desk')).toBe(0)
      const sent = await takeSent('desk')
      expect(sent.map(({ what }) => what)).toEqual([
        ...['initialize', 'notifications/initialized', 'tools/call ask'],
        ...Array.from({ length: 5 }, () => 'response'),
        'DELETE',
      ])
      expect(new Set(sent.slice(1).map(({ session }) => session)).size).toBe(1)
      expect(sent[1]?.session).toMatch(/^[\w-]{36}$/)
    },
  )

  it.each([
    ['that ends before the result', 'poll'],
    ['that breaks', 'break'],
  ])('M12: one %s is resumed where it ended, and the call is sent once', async (_what, tool) => {
    expect(await use(tool)).toBe('polled')
    const sent = await listSent()
    expect(sent.filter((what) => what.startsWith('tools/call'))).toHaveLength(1)
    expect(sent.filter((what) => what === 'GET')).toHaveLength(2)
  })

  it('M12: one whose last blank line is missing has ended with its last event', async () => {
    expect(await use('cut')).toBe('cut')
  })

  it('M12: one that ends without a result and cannot be resumed ends the call', async () => {
    expect(await use('mute')).toBe('Error: The server desk ended its answer without a result.')
    expect(await listSent()).not.toContain('GET')
  })
})

it('M12: the id of a session reaches nobody who reads a result', async () => {
  const text = await use('fail')
  expect(text).toBe('Error: The tool fail of desk failed: it failed in [session]')
})
