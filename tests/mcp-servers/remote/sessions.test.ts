import { abortAllDurableObjects } from 'cloudflare:test'
import { env, exports } from 'cloudflare:workers'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Actor } from '../../../src/hub/contract/hub'
import { tableStatements } from '../../../src/hub/operations/backup-queries'
import { createCipher } from '../../../src/mcp-servers/credentials/cipher'
import { createConnect } from '../../../src/mcp-servers/credentials/connect'
import { createRecentSecrets } from '../../../src/mcp-servers/credentials/scrub'
import { createVault } from '../../../src/mcp-servers/credentials/vault'
import type { OpenConnection } from '../../../src/mcp-servers/gateway/registry'
import { remoteServices } from '../../../src/mcp-servers/remote/catalogue'
import { createRunSessions } from '../../../src/mcp-servers/remote/run-sessions'
import { toServiceKinds } from '../../../src/mcp-servers/services/check-service'
import { remoteServers as remoteLimits } from '../../../src/shared/config'
import { batch } from '../../../src/shared/db/batch'
import { createDb } from '../../../src/shared/db/db'
import { type AccountId, type ActivationId, systemClock } from '../../../src/shared/ids'
import { adminKey, call, createAccount, post, waitForReply, waitForValue } from '../../support/cast'
import { connectMcp, textOf } from '../../support/connect-mcp'
import { createAgent } from '../../support/create-agent'
import { externalUrls } from '../../support/external-services'
import { noOwnAccounts } from '../../support/fake-connect'
import { createFakeHubApi } from '../../support/fake-hub-api'
import type { FakeAnswer } from '../../support/fake-model-wire'
import { listApprovals } from '../../support/own-accounts'
import { addSessions, setSessions, takeSent } from '../../support/remote-servers'
import { allow } from '../../support/services'
import type { SentRequest } from '../../support/session-peer'

/** The whole Worker, and a remote MCP server over HTTP whose sessions hold a value each. */
let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
  await setSessions('shelf')
  await addSessions('shelf', ['set', 'get', 'fail', 'hang', 'question'])
})
beforeEach(async () => {
  await setSessions('shelf', { isRestarted: true })
  await takeSent('shelf')
})
afterEach(() => {
  vi.useRealTimers()
})

const toCall = (tool: string, args: Record<string, unknown> = {}) => ({
  name: `shelf_${tool}`,
  arguments: args,
})
const steps = (...tools: (string | string[])[]): FakeAnswer[] => [
  ...tools.map((each) => ({ calls: [each].flat().map((name) => toCall(name, { value: 7 })) })),
  { text: 'That is all.' },
]

let agents = 0
/** Asks a new agent, which makes the calls of each step. */
async function ask(answers: FakeAnswer[], grant = 'shelf:use trusted') {
  const name = `clerk${++agents}`
  const agent = await createAgent(name, answers, { grants: ['hub:read', 'shelf:use'] })
  await allow(agent.accountId, ['hub:*', grant])
  const postId = await post(mira.key, 'An errand', `@${name} go there please`)
  /** The last prompt, once the agent has answered. */
  const prompt = async () => {
    await waitForReply(postId, name)
    return JSON.stringify((await agent.requests()).at(-1)?.body.messages)
  }
  return { name, agent, postId, prompt }
}

const listWhat = (sent: SentRequest[]) => sent.map(({ what }) => what)
const stateless = ['initialize', 'notifications/initialized']
/** The server has no stream for what belongs to no request, which is asked once. */
const opening = [...stateless, 'GET']
/** Returns what the server was sent until a session was ended. */
async function takeUntilEnd(): Promise<SentRequest[]> {
  const sent: SentRequest[] = []
  await waitForValue(async () => {
    sent.push(...(await takeSent('shelf')))
    return sent.some(({ what }) => what === 'DELETE')
  }, 'the end of the session')
  return sent
}
const countRows = () =>
  env.DB.prepare('SELECT count(*) AS n FROM remote_sessions').first<number>('n')

describe('the session of a run', () => {
  it('M12: is opened by its first call, holds what calls leave in it, and is closed at its end', async () => {
    const { prompt } = await ask(steps('set', 'get', 'get'))
    expect(await prompt()).toContain('holds 7')
    const sent = await takeUntilEnd()
    expect(listWhat(sent)).toEqual([
      ...opening,
      'tools/call set',
      'tools/call get',
      'tools/call get',
      'DELETE',
    ])
    expect(new Set(sent.slice(1).map(({ session }) => session)).size).toBe(1)
    expect(await setSessions('shelf')).toBe(0)
    expect(await countRows()).toBe(0)
  })

  it('M12: is opened once for calls that run at the same time', async () => {
    await ask(steps(['get', 'get', 'get']))
    const what = listWhat(await takeUntilEnd())
    expect(what.filter((each) => each === 'initialize')).toHaveLength(1)
    expect(what.filter((each) => each === 'tools/call get')).toHaveLength(3)
  })

  it('M12: has a stream on which its server can ask during each call', async () => {
    await setSessions('shelf', { hasStream: true })
    const { prompt } = await ask(steps('question', 'get', 'question'))
    expect((await prompt()).split('answered -32601')).toHaveLength(3)
    const what = listWhat(await takeUntilEnd())
    expect(what.filter((each) => each === 'GET')).toHaveLength(4)
  })

  it('M12: is another for each run', async () => {
    const first = await ask(steps('set'))
    await first.prompt()
    const second = await ask(steps('get'))
    expect(await second.prompt()).toContain('holds nothing')
  })

  it('M12: is found again after a crash', async () => {
    const { prompt } = await ask(steps('set', 'hang', 'get'))
    const sent: SentRequest[] = []
    await waitForValue(async () => {
      sent.push(...(await takeSent('shelf')))
      return listWhat(sent).includes('tools/call hang')
    }, 'the call that hangs')
    await abortAllDurableObjects()
    expect(await prompt()).toContain('holds 7')
    sent.push(...(await takeUntilEnd()))
    expect(listWhat(sent).filter((each) => each === 'initialize')).toHaveLength(1)
  })

  it('M12: is neither readable in the database nor part of a backup', async () => {
    const { prompt } = await ask(steps('set', 'hang', 'get'))
    const sent: SentRequest[] = []
    await waitForValue(async () => {
      sent.push(...(await takeSent('shelf')))
      return listWhat(sent).includes('tools/call hang')
    }, 'the call that hangs')
    const session = sent.at(-1)?.session ?? ''
    expect(session).toMatch(/^[\w-]{36}$/)
    const { results } = await env.DB.prepare('SELECT * FROM remote_sessions').all()
    expect(results).toHaveLength(1)
    expect(JSON.stringify(results)).not.toContain(session)
    const { columns } = await batch(createDb(env.DB), tableStatements())
    const tables = new Set(columns.map(({ name }) => name))
    expect([tables.has('remote_tools'), tables.has('remote_sessions')]).toEqual([true, false])
    await abortAllDurableObjects()
    await prompt()
  })

  it.each([404, 400] as const)(
    'M12: is opened anew when the server ended it (%s), and the model reads that',
    async (unknown) => {
      await setSessions('shelf', { unknown })
      const { prompt } = await ask(steps('set', 'hang', 'get', 'get'))
      const sent: SentRequest[] = []
      await waitForValue(async () => {
        sent.push(...(await takeSent('shelf')))
        return listWhat(sent).includes('tools/call hang')
      }, 'the call that hangs')
      await setSessions('shelf', { unknown, isRestarted: true })
      await abortAllDurableObjects()
      const read = await prompt()
      const note = '[The server had ended its session: what it held is gone.]'
      expect(read.split(note)).toHaveLength(2)
      expect(read).toContain(`${note}\\nholds nothing`)
      sent.push(...(await takeUntilEnd()))
      expect(listWhat(sent).slice(-7)).toEqual([
        'tools/call get',
        ...opening,
        'tools/call get',
        'tools/call get',
        'DELETE',
      ])
    },
  )
})

it('M12: a run that waits keeps its session for a while, and reads afterwards that it is gone', async () => {
  // Without `trusted` its second write requires approval.
  const { prompt } = await ask(steps('set', 'fail', 'get'), 'shelf:use')
  const approval = await waitForValue(
    async () => (await listApprovals(adminKey))[0]?.id ?? false,
    'the approval',
  )
  await waitForValue(async () => (await countRows()) === 1, 'the session')
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + remoteLimits.sessionIdleMs + 1_000 })
  const scheduler = env.SCHEDULER.getByName('scheduler') as unknown as { sweepNow(): Promise<void> }
  await scheduler.sweepNow()
  await waitForValue(async () => (await setSessions('shelf')) === 0, 'the end of the session')
  await call('POST', `/api/v1/approvals/${approval}/decide`, {
    key: adminKey,
    body: { decision: 'approve' },
  })
  expect(await prompt()).toMatch(/The server had ended its session: [^"]*it failed in \[session\]/)
})

describe('a server that keeps no sessions', () => {
  it('M12: gets no request more than the calls, and nothing is ended', async () => {
    await setSessions('shelf', { isStateless: true })
    const { prompt } = await ask(steps('get', 'get', 'get'))
    await prompt()
    await waitForValue(async () => (await countRows()) === 0, 'the end of the run')
    const sent = await takeSent('shelf')
    expect(listWhat(sent)).toEqual([...stateless, ...Array(3).fill('tools/call get')])
    expect(sent.map(({ session }) => session)).toEqual(Array(5).fill(null))
  })
})

it('M12: a call outside of a run has a session of its own', async () => {
  const wren = await createAccount('wren', 'agent')
  await allow(wren.id, ['shelf:*'])
  const client = await connectMcp((request) => exports.default.fetch(request), wren.key, '/mcp')
  expect(textOf(await client.callTool(toCall('set', { value: 1 })))).toBe('kept')
  expect(textOf(await client.callTool(toCall('get')))).toBe('holds nothing')
  expect(listWhat(await takeSent('shelf'))).toEqual([
    ...opening,
    'tools/call set',
    'DELETE',
    ...opening,
    'tools/call get',
    'DELETE',
  ])
})

describe('the store of sessions', () => {
  const vaultKey = (text: string) => btoa(text.padEnd(32, '-'))
  const db = createDb(env.DB)
  const kinds = toServiceKinds([{ name: 'remote', services: remoteServices }])
  const base = { db, kinds, isPrivateAllowed: true, known: createRecentSecrets() }
  const hub = createFakeHubApi({ requested: [], allowed: [], denied: [] }).hubApi
  const actor: Actor = {
    accountId: 'agent-1' as AccountId,
    name: 'scout',
    kind: 'agent',
    activationId: null,
    postId: null,
    idempotencyKey: null,
  }
  let now = 1_000_000
  const setUp = (keys = [vaultKey('one')]) => {
    const cipher = createCipher(keys)
    const clock = { ...systemClock, now: () => now }
    const vault = createVault({ ...base, clock, cipher, readVariable: () => undefined })
    const connect = createConnect({ ...base, vault, ownAccounts: noOwnAccounts })
    const open: OpenConnection = (ask) => connect({ ...ask, hub })
    const sessions = createRunSessions({ db, clock, cipher })
    /** Calls `get` after `set`, as the call of a run, and returns what the session held before. */
    const use = async (runId: string, owner = '', baseUrl?: string) => {
      const { signal } = new AbortController()
      const ask = { server: 'remote', service: 'shelf', actor, owner: null, signal }
      const { connection } = await open(ask)
      const at = {
        ...connection,
        owner: (owner || null) as AccountId | null,
        ...(baseUrl !== undefined && { baseUrl: new URL(baseUrl) }),
      }
      const call = { runId: runId as ActivationId, link: { connection: at, signal }, actor }
      const { value, isRenewed } = await sessions.use(call, async (client) => {
        const held = await client.callTool({ name: 'get' })
        await client.callTool({ name: 'set', arguments: { value: runId } })
        return textOf(held)
      })
      return [value, isRenewed]
    }
    const countOpened = async () =>
      listWhat(await takeSent('shelf')).filter((what) => what === 'initialize').length
    return { sessions, use, open, countOpened }
  }
  beforeEach(async () => {
    now += 10_000_000
    await env.DB.exec('DELETE FROM remote_sessions')
  })

  it('M12: keeps one for each run and each requester', async () => {
    const { use, countOpened } = setUp()
    expect(await use('r1')).toEqual(['holds nothing', false])
    expect(await use('r1')).toEqual(['holds r1', false])
    expect(await use('r1', 'mira')).toEqual(['holds nothing', false])
    expect(await use('r1', 'tomas')).toEqual(['holds nothing', false])
    expect(await use('r2')).toEqual(['holds nothing', false])
    expect(await use('r1', 'mira')).toEqual(['holds r1', false])
    expect(await countOpened()).toBe(4)
  })

  it('M12: opens one for calls at the same time in several isolates', async () => {
    const [first, second] = [setUp(), setUp()]
    await Promise.all([1, 2, 3].flatMap(() => [first.use('r1'), second.use('r1')]))
    expect(await first.countOpened()).toBe(1)
  })

  it('M12: closes those that are idle, and the next call of the run says so', async () => {
    const { use, sessions, open } = setUp()
    await use('r1')
    await sessions.endIdle(open)
    expect(await setSessions('shelf')).toBe(1)
    now += remoteLimits.sessionIdleMs - 1
    await sessions.endIdle(open)
    expect(await setSessions('shelf')).toBe(1)
    await use('r1')
    now += remoteLimits.sessionTouchMs
    await sessions.endIdle(open)
    expect(await setSessions('shelf')).toBe(1)
    now += remoteLimits.sessionIdleMs
    await sessions.endIdle(open)
    expect(await setSessions('shelf')).toBe(0)
    expect(await use('r1')).toEqual(['holds nothing', true])
    expect(await use('r1')).toEqual(['holds r1', false])
  })

  it('M12: deletes what is left of lost runs in the end', async () => {
    const { use, sessions, open } = setUp()
    await use('r1')
    now += remoteLimits.sessionIdleMs
    await sessions.endIdle(open)
    expect(await countRows()).toBe(1)
    now += remoteLimits.sessionKeptMs
    await sessions.endIdle(open)
    expect(await countRows()).toBe(0)
  })

  it.each([
    ['by a call that was lost', 'opening_until = %, ciphertext = NULL', ['holds nothing', false]],
    ['in a form that nothing can read', "ciphertext = 'AAAA'", ['holds nothing', true]],
  ])('M12: opens anew what was opened %s', async (_how, change, expected) => {
    const { use } = setUp()
    await use('r1')
    const until = now + remoteLimits.openMs
    await env.DB.exec(`UPDATE remote_sessions SET ${change.replace('%', String(until))}`)
    now = until
    expect(await use('r1')).toEqual(expected)
  })

  it('M12: sends none to another address than where it was opened', async () => {
    const { use } = setUp()
    await use('r1')
    await takeSent('shelf')
    expect(await use('r1', '', `${externalUrls.mcp}/sessions/moved`)).toEqual([
      'holds nothing',
      true,
    ])
    expect((await takeSent('moved'))[0]).toMatchObject({ what: 'initialize', session: null })
    expect(await takeSent('shelf')).toEqual([])
  })

  it('M12: opens anew what another key encrypted, and what another row holds', async () => {
    const { use } = setUp()
    await use('r1')
    expect(await setUp([vaultKey('two')]).use('r1')).toEqual(['holds nothing', true])
    await use('r2')
    await env.DB.exec(
      `UPDATE remote_sessions SET (ciphertext, iv, key_id) =
        (SELECT ciphertext, iv, key_id FROM remote_sessions WHERE run_id = 'r2') WHERE run_id = 'r1'`.replace(
        /\s+/g,
        ' ',
      ),
    )
    expect(await use('r1')).toEqual(['holds nothing', true])
  })

  it('M12: lets the next call try when a server opens none', async () => {
    const { use } = setUp()
    await setSessions('shelf', { isClosed: true })
    await expect(use('r1')).rejects.toThrow('answered 503')
    await setSessions('shelf')
    expect(await use('r1')).toEqual(['holds nothing', false])
  })

  it('M12: stores none without a vault key', async () => {
    const { use } = setUp([])
    await use('r1')
    expect(await use('r1')).toEqual(['holds nothing', false])
    expect(await countRows()).toBe(0)
    expect(await setSessions('shelf')).toBe(0)
  })

  it('M12: closes those of an ended run alone', async () => {
    const { use, sessions, open } = setUp()
    await use('r1')
    await use('r2')
    await sessions.end('r1' as ActivationId, open)
    expect(await setSessions('shelf')).toBe(1)
    expect(await use('r2')).toEqual(['holds r2', false])
  })
})
