import { describe, expect, it } from 'vitest'
import type { MemoryApi, ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { servers } from '../../../src/mcp-servers/servers'
import { memoryLimits } from '../../../src/shared/config'
import type { AccountId } from '../../../src/shared/ids'
import { createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'
import { setUpTools } from '../../support/set-up-tools'

/** What the tools ask of the memory of the agent that calls them. */
function record(over: Partial<MemoryApi> = {}) {
  const asked: unknown[] = []
  const memory = Object.fromEntries(
    Object.entries({ ...fakeMemory, ...over }).map(([name, method]) => [
      name,
      (...args: unknown[]) => {
        asked.push([name, ...args])
        return (method as (...args: unknown[]) => unknown)(...args)
      },
    ]),
  ) as unknown as MemoryApi
  const hub = createFakeHubApi({ requested: ['*'], allowed: ['*'], denied: [] })
  const gateway = createGateway({
    ...testFileStores,
    hub: hub.hubApi,
    memory,
    clock: createFakeClock(),
    servers,
  })
  const call = (tool: string, args: unknown, caller: ToolCaller = scoutAtWork) =>
    gateway.call(
      caller,
      { callId: 'call-1', tool, arguments: JSON.stringify(args) },
      new AbortController().signal,
    )
  return { asked, call }
}

describe('the memory server', () => {
  it('M1: a fact is kept in one line, for the agent that asks', async () => {
    const { asked, call } = record()
    const result = await call('memory_remember_fact', { text: ' Ada\nkeeps  keys. ' })
    expect(JSON.parse(result.text)).toEqual({ id: 1, text: 'Ada keeps keys.' })
    expect(asked).toEqual([
      [
        'rememberFact',
        scoutAtWork.accountId,
        { text: 'Ada keeps keys.', source: '', privateTo: null, isUntrusted: false },
      ],
    ])
  })

  it('P2: facts are listed as of the time of the caller, and what is not kept is not recorded', async () => {
    const at = { ...scoutAtWork, at: 77 }
    const { asked, call } = record()
    expect(await call('memory_list_facts', {}, at)).toMatchObject({ asOf: { at: 77, current: [] } })
    const query = { words: null, limit: 20, reader: null }
    expect(asked).toEqual([['listFacts', scoutAtWork.accountId, { ...query, at: 77 }]])
    const lost = await record({ listFacts: async () => null }).call('memory_list_facts', {}, at)
    expect(lost).toMatchObject({ isError: true, notAsOf: 'not_recorded' })
    expect(lost.text).toMatch(/^Error: Not recorded: /)
  })

  it('T2 T20: the privacy of the run and what it has read go with every call', async () => {
    const { asked, call } = record({
      listFacts: async () => ({
        facts: [{ id: 1, text: 'x', source: '', createdAt: 0, isPrivate: true, isUntrusted: true }],
        factCount: 1,
        tasks: [],
      }),
    })
    const reader = 'alice-id' as AccountId
    const inDm = { ...scoutAtWork, hasReadUntrusted: true, privacy: { reader, privateTo: reader } }
    await call('memory_remember_fact', { text: 'x' }, inDm)
    await call('memory_add_task', { text: 'x' }, inDm)
    await call('memory_forget_fact', { id: 1 }, inDm)
    await call('memory_complete_task', { id: 1 }, inDm)
    const listed = await call('memory_list_facts', {}, inDm)
    expect(asked.map((each) => (each as unknown[])[2])).toMatchObject([
      { privateTo: reader, isUntrusted: true },
      { privateTo: reader },
      { id: 1, reader },
      { id: 1, reader },
      { reader },
    ])
    expect(listed.isPrivate).toBe(true)
    expect(JSON.parse(listed.text).facts).toMatchObject([
      { private: true, from_outside_or_guest: true },
    ])
  })

  it('L36: a task is keyed by activation and call', async () => {
    const { asked, call } = record()
    await call('memory_add_task', { text: 'Tell Ada.' })
    const key = `${scoutAtWork.activationId}:call-1`
    expect(asked).toEqual([
      [
        'addTask',
        scoutAtWork.accountId,
        { text: 'Tell Ada.', key, privateTo: null, isUntrusted: false },
      ],
    ])
  })

  it.each([
    ['memory_remember_fact', { text: 'x' }, /limit.*memory_forget_fact/],
    ['memory_add_task', { text: 'x' }, /limit.*memory_complete_task/],
  ])('L29: %s says what to do when there is no room', async (tool, args, words) => {
    const full = { rememberFact: async () => null, addTask: async () => null }
    const result = await record(full).call(tool, args)
    expect(result.isError).toBe(true)
    expect(result.text).toMatch(words)
  })

  it.each([
    ['memory_forget_fact', { id: 2 }, 'There is no such fact'],
    ['memory_complete_task', { id: 2 }, 'There is no such task'],
    ['skills_read_skill', { name: 'hubApi' }, 'There is no such skill'],
  ])('L29: %s of what is not there is an error to read', async (tool, args, words) => {
    const result = await record().call(tool, args)
    expect(result.isError).toBe(true)
    expect(result.text).toContain(`Error: ${words}`)
  })

  it('M1: facts and open tasks are listed with their numbers and days', async () => {
    const { asked, call } = record()
    const { text } = await call('memory_list_facts', { query: 'keys', limit: 5 })
    expect(JSON.parse(text)).toEqual({
      facts: [{ id: 1, text: 'Ada keeps the keys.', source: 'ada', noted: '1970-01-01' }],
      fact_count: 1,
      open_tasks: [{ id: 1, text: 'Tell Ada.', since: '1970-01-01' }],
    })
    expect(asked).toEqual([
      ['listFacts', scoutAtWork.accountId, { words: 'keys', limit: 5, reader: null }],
    ])
  })

  it('L41: a plan is checked and touches nothing', async () => {
    const { asked, call } = record()
    const plan = { goal: 'Count', steps: [{ title: 'Search', status: 'running' }] }
    expect(JSON.parse((await call('memory_update_plan', plan)).text)).toEqual(plan)
    expect(asked).toEqual([])
    for (const wrong of [
      {},
      { steps: [{ title: '' }] },
      { steps: [{ title: 'a', status: 'odd' }] },
    ])
      expect((await call('memory_update_plan', wrong)).isError).toBe(true)
  })

  it('M1: what is too long is refused with its field', async () => {
    const text = 'x'.repeat(memoryLimits.factCharsMax + 1)
    expect((await record().call('memory_remember_fact', { text })).text).toContain('text')
  })

  it('M3: reading the memory does not open writing it', async () => {
    const tools = setUpTools({ requested: ['memory:read'], allowed: ['*'] })
    expect(tools.names()).toEqual(['memory_list_facts', 'results_read'])
    expect((await tools.call('memory_forget_fact', { id: 1 })).text).toMatch(
      /Missing grant memory:write/,
    )
  })
})
