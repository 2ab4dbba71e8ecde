import { describe, expect, test } from 'vitest'
import type { Hook } from '../../../src/agents/hooks/hook'
import type { LoopEvent } from '../../../src/agents/loop/event'
import type { ModelRequest } from '../../../src/agents/models/model-port'
import { parseRecord } from '../../../src/agents/run/record'
import type { ToolApi, ToolCall, ToolResult } from '../../../src/mcp-servers/contract/tools'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { createTools, toResult } from '../shell/fake-tools'
import { callOf, countResults, inObject } from '../shell/world'
import { LaneWorld } from './lane-world'
import { call, inTurn, type Play, record, say } from './plays'

/** A run with two calls, whose agent remembers an earlier run of the thread. */
const looked: Play = {
  script: inTurn(call('look', 'look'), say('In March.')),
}

const config = (more = '') =>
  ['name: scout', 'behavior: { max_tokens: 1000000 }', 'capabilities: { grants: ["hub:*"] }', more]
    .filter(Boolean)
    .join('\n')

const draftOf = (more = '', soul = 'soul first') => ({
  'config.yaml': config(more),
  'system-prompt.md': soul,
})

/** Answers as the gateway does as of a time. */
const createGateway = (answer: (call: ToolCall) => Partial<ToolResult>): ToolApi => ({
  ...createTools(['hub_search', 'hub_create_post', 'out_fetch']),
  call: async (_caller, each) => ({ ...toResult(each, 'found'), ...answer(each) }),
})

const gateway = createGateway(({ tool }) => {
  if (tool === 'hub_create_post') return { notAsOf: 'would_write', isError: true, text: 'Error' }
  if (tool === 'out_fetch') return { notAsOf: 'not_recorded', isError: true, text: 'Error' }
  return { asOf: { at: 1, current: ['score'] } }
})

/** Asks for these calls one after the other, then answers. */
const asking = (...names: [tool: string, args?: string][]) => {
  return (request: ModelRequest) => {
    const round = countResults(request)
    const [name, args] = names[round] ?? []
    return name === undefined
      ? { text: 'At the end.' }
      : { text: '', calls: [callOf(`n${round}`, name, args)] }
  }
}

async function runLane(play: Play, setup: Partial<ConstructorParameters<typeof LaneWorld>[0]>) {
  const recorded = await record(play)
  const { world } = recorded
  const lane = new LaneWorld({
    record: recorded.record,
    definition: world.define('first'),
    tools: gateway,
    ...setup,
  })
  const result = await inObject((state) => lane.run(state))
  return { ...recorded, lane, result }
}

const results = (events: LoopEvent[]) =>
  events.flatMap((event) => (event.type === 'tool_returned' ? [event.text] : []))

describe('P2: a call of a lane is answered from the first that can', () => {
  test('recorded answers come once each, in their order, then the last again', async () => {
    const script = asking(
      ...(['{"n": 0}', '{"n":1}', '{ "n":0 }', '{"n":2}'].map((args) => ['look', args]) as [
        string,
        string,
      ][]),
    )
    const { result, lane } = await runLane(looked, { script })
    expect(result.calls.map(({ source, isRepeated }) => [source, isRepeated])).toEqual([
      ['record', false],
      ['record', false],
      ['record', true],
      ['hub', false],
    ])
    expect(lane.called.map(({ call: each }) => each.arguments)).toEqual(['{"n":2}'])
    expect(result.incomplete).toBeNull()
  })

  test('of several recorded answers to the same call each comes in its turn', async () => {
    const look: [string, string] = ['look', '{"n":0}']
    const { record: stored, world } = await record({ script: () => asking(look, look) })
    const parsed = JSON.parse(stored)
    const returned = parsed.events.filter(({ type }: LoopEvent) => type === 'tool_returned')
    for (const [at, event] of returned.entries()) event.text = `Answer ${at + 1}.`
    const lane = new LaneWorld({
      record: JSON.stringify(parsed),
      definition: world.define('first'),
      tools: gateway,
      script: asking(look, look, look),
    })
    const { calls } = await inObject((state) => lane.run(state))
    expect(results(lane.ended)).toEqual(['Answer 1.', 'Answer 2.', 'Answer 2.'])
    expect(calls.map(({ isRepeated }) => isRepeated)).toEqual([false, false, true])
  })

  test('the hub answers as of the time of the run, for the lane', async () => {
    const { lane, events, result } = await runLane(looked, { script: asking(['hub_search']) })
    const loadedAt = events.find(({ type }) => type === 'loaded')?.at
    expect(lane.called[0]?.caller).toMatchObject({
      at: loadedAt,
      activationId: 'lane-1',
      accountId: 'agent',
    })
    expect(result.calls[0]).toMatchObject({ source: 'hub', current: ['score'], wouldHave: null })
  })

  test('P1: a write is answered as if it had worked, and later reads say so', async () => {
    const args = '{"community":"m/birds","title":"Herons","content":"In March."}'
    const { lane, result } = await runLane(looked, {
      script: asking(['hub_search'], ['hub_create_post', args], ['hub_search']),
    })
    const deed = 'created a post in m/birds titled "Herons"'
    expect(result.calls.map(({ wouldHave }) => wouldHave)).toEqual([
      null,
      `Would have ${deed}.`,
      null,
    ])
    const [before, done, after] = results(lane.ended)
    expect(done).toBe(`Done: ${deed}.`)
    expect(before).toBe('found')
    expect(after).toContain(deed)
    expect(result.incomplete).toBeNull()
  })

  test('what nobody knows is an error, and the lane is incomplete', async () => {
    const { lane, result } = await runLane(looked, { script: asking(['out_fetch']) })
    expect(results(lane.ended)[0]).toMatch(/^Error: not recorded/)
    expect(result.calls[0]?.source).toBe('none')
    expect(result.incomplete).toContain('out_fetch')
  })

  test('P1: a lane stops where a call requires an approval that was not decided', async () => {
    const approving = createGateway((each) => ({
      approval: {
        callId: each.callId,
        tool: each.tool,
        grant: 'hub:write',
        tier: 'write' as const,
        arguments: each.arguments,
        argumentsHash: '',
      },
    }))
    const { result } = await runLane(looked, {
      script: asking(['hub_create_post']),
      tools: approving,
    })
    expect(result.outcome).toBe('cancelled')
    expect(result.incomplete).toContain('approval')
    expect(result.answer).toBe('')
  })

  test('P1: a call that was denied is denied for other ids, too', async () => {
    const denied: Play = {
      script: inTurn(call('act'), say('Not posted.')),
      people: ({ hub }) => {
        for (const { activationId, callId } of hub.listOpen())
          hub.decide(activationId, callId, { decision: 'denied', note: 'Not now.' })
      },
    }
    const { lane, result } = await runLane(denied, { script: asking(['act', '{ "n": 0 }']) })
    const decisions = lane.ended.flatMap((event) =>
      event.type === 'resumed' ? event.decisions : [],
    )
    expect(decisions).toMatchObject([{ callId: 'n0', decision: 'denied', note: 'Not now.' }])
    expect(result.incomplete).toBeNull()
  })
})

describe('a draft changes what it says, and nothing else', () => {
  const loaded = (events: LoopEvent[]) => {
    const facts = events.find((event) => event.type === 'loaded')?.facts
    if (!facts) throw new Error('not loaded')
    return facts
  }

  test('its prompt is its own, task and history are those of the run', async () => {
    const { lane, events } = await runLane(
      { ...looked, remembers: true },
      { draft: draftOf('', 'Another soul.'), script: () => say('Yes.') },
    )
    const [then, now] = [loaded(events), loaded(lane.ended)]
    expect(then.prompt.length - then.historyFrom).toBeGreaterThan(1)
    expect(now.prompt[0]).toEqual({ role: 'system', text: 'Another soul.' })
    expect(now.prompt.slice(now.historyFrom)).toEqual(then.prompt.slice(then.historyFrom))
    expect(now.requesters).toEqual(then.requesters)
    expect(now.answer).toEqual(then.answer)
  })

  test('without memory there is no history', async () => {
    const { lane, events } = await runLane(
      { ...looked, remembers: true },
      { draft: draftOf('memory: { enabled: false }'), script: () => say('Yes.') },
    )
    const now = loaded(lane.ended)
    expect(now.prompt.slice(now.historyFrom)).toEqual([loaded(events).prompt.at(-1)])
    expect(now.session).toBeUndefined()
  })

  test('with memory the own definition gets what was remembered', async () => {
    const { lane, events } = await runLane(
      { ...looked, remembers: true },
      { script: () => say('Yes.'), tools: createTools([]) },
    )
    expect(loaded(lane.ended).prompt).toEqual(loaded(events).prompt)
  })

  test('its model is called', async () => {
    const { lane } = await runLane(looked, {
      draft: draftOf('brain: { provider: other, model: small }'),
      script: () => say('Yes.'),
    })
    expect(loaded(lane.ended).model.id).toBe('other/small')
    expect(lane.renewals[0]?.model).toBe('other/small')
  })

  test('a tool that it does not have is refused, also where the record knows the answer', async () => {
    const { lane } = await runLane(looked, {
      draft: draftOf(),
      script: asking(['look', '{"n":0}']),
      tools: { ...gateway, findRefusal: (_caller, _policy, { tool }) => `Error: no ${tool}.` },
    })
    expect(results(lane.ended)).toEqual(['Error: no look.'])
  })

  test('so is a call that its blocked patterns match, and no other', async () => {
    const findRefusal: ToolApi['findRefusal'] = ({ toolRestrictions }, _policy, each) => {
      const blocked = toolRestrictions?.blockedPatterns ?? []
      return blocked.some((pattern) => each.arguments.includes(pattern)) ? 'Error: blocked.' : null
    }
    const play: Play = { script: inTurn(call('look', 'look'), say('In March.')) }
    const { lane } = await runLane(play, {
      draft: {
        ...draftOf(),
        'config.yaml': config().replace('grants', `tools: { blocked_patterns: ['"n":1'] }, grants`),
      },
      script: asking(['look', '{"n":0}'], ['look', '{"n":1}']),
      tools: { ...gateway, findRefusal },
    })
    const [recorded, blocked] = results(lane.ended)
    expect(blocked).toBe('Error: blocked.')
    expect(recorded).not.toBe(blocked)
    const own = await runLane(play, { tools: { ...gateway, findRefusal: () => 'Error: blocked.' } })
    // what the run's own definition called, it called
    expect(results(own.lane.ended)).not.toContain('Error: blocked.')
  })

  test('a coding agent is not run', async () => {
    const { result } = await runLane(looked, { draft: draftOf('type: claude-code') })
    expect(result.error?.message).toContain('coding agent')
  })

  test('an invalid draft says what is wrong with it', async () => {
    const { result } = await runLane(looked, { draft: { 'config.yaml': 'name: [' } })
    expect(result.error?.message).toContain('draft')
  })
})

describe('P1: a lane whose run read a text that is gone since', () => {
  test('calls no model, and says why it is incomplete', async () => {
    const { record: stored, world } = await record(looked)
    const lane = new LaneWorld({ record: stored, definition: world.define('first') })
    lane.problem = 'A text was deleted.'
    const result = await inObject((state) => lane.run(state))
    expect(lane.asked).toEqual([])
    expect(lane.renewals).toEqual([])
    expect(result).toMatchObject({
      outcome: 'failed',
      incomplete: 'A text was deleted.',
      record: '',
    })
  })

  test('calls none any more after it was stopped, and keeps no record', async () => {
    const { record: stored, world } = await record(looked)
    const lane: LaneWorld = new LaneWorld({
      record: stored,
      definition: world.define('first'),
      script: () => {
        lane.problem = 'A text was deleted.'
        return call('look')
      },
    })
    const whole = ['open', 'renew', 'model'].flatMap((name) => [`${name}.before`, `${name}.after`])
    lane.killAt = whole.length
    const result = await inObject((state) => lane.run(state))
    expect(lane.points.slice(0, whole.length)).toEqual(whole)
    expect(lane.asked).toHaveLength(1)
    expect(result).toMatchObject({
      outcome: 'failed',
      incomplete: 'A text was deleted.',
      record: '',
    })
    expect(result.answer).toBe('')
    expect(result.usage).toHaveLength(1)
  })
})

test('P11: a lane that could not start when it was woken starts when it is woken again', async () => {
  const { record: stored, world } = await record(looked)
  const lane = new LaneWorld({ record: stored, definition: world.define('first') })
  await inObject(async (state) => {
    const shell = lane.boot(state)
    lane.isCancelled = true
    await shell.wake('lane-1' as never)
    expect(lane.asked).toEqual([])
    lane.isCancelled = false
    await shell.wake('lane-1' as never)
    await expect.poll(() => lane.results.length).toBe(1)
  })
})

test('P8: a lane ends before it costs more than it may', async () => {
  const { lane, result } = await runLane(looked, {
    script: () => call('look'),
    costMaxMicrousd: 6_000,
  })
  expect(result.outcome).toBe('budget_exhausted')
  expect(result.incomplete).not.toBeNull()
  expect(result.costMicrousd).toBeLessThanOrEqual(6_000)
  expect(lane.renewals.length).toBeGreaterThan(1)
  for (const { want, usage } of lane.renewals) {
    const spent = usage.reduce((sum, each) => sum + each.costMicrousd, 0)
    expect(spent + want.microusd).toBeLessThanOrEqual(6_000)
  }
})

test('P8: each renewal reports all calls so far, and the result does, too', async () => {
  const { lane, result } = await runLane(looked, {})
  expect(lane.renewals.map(({ usage }) => usage.map((each) => each.call))).toEqual([[], [1]])
  expect(result.usage.map((each) => each.call)).toEqual([1, 2])
  expect(result.steps).toBe(2)
  const parsed = parseRecord(result.record)
  expect(parsed.ok && parsed.record.ending?.outcome).toBe('completed')
})

test('P8: a cancelled lane ends within its call', async () => {
  const { record: stored, world } = await record(looked)
  const cancelled = new LaneWorld({
    record: stored,
    definition: world.define('first'),
    script: () => {
      setTimeout(() => cancelled.lane?.cancel(), 5)
      return { text: 'late' }
    },
    delayMs: 60_000,
  })
  const result = await inObject((state) => cancelled.run(state))
  expect(result.outcome).toBe('cancelled')
})

test('hooks that are not pure do not run, and the result names them', async () => {
  const ran: string[] = []
  const watch = (name: string, isPure: boolean): Hook => ({
    name,
    isPure,
    beforeToolCall: () => {
      ran.push(name)
      return undefined
    },
  })
  const { result } = await runLane(looked, { hooks: [watch('posts', false), watch('looks', true)] })
  expect(new Set(ran)).toEqual(new Set(['looks']))
  expect(result.notes.join()).toContain('posts')
  expect(result.notes.join()).not.toContain('looks')
})

test('the lanes that the hub names are started next', async () => {
  const { lane } = await runLane(looked, {})
  expect(lane.started).toEqual(['lane-2'])
})

test('a lane that has ended is not run again', async () => {
  const { record: stored, world } = await record(looked)
  const lane = new LaneWorld({ record: stored, definition: world.define('first') })
  await inObject(async (state) => {
    await lane.run(state)
    const asked = lane.asked.length
    await lane.boot(state).wake('lane-1' as never)
    await scheduler.wait(20)
    expect(lane.asked.length).toBe(asked)
  })
  expect(lane.results).toHaveLength(1)
})

test('P1: the model reads the time of the run', async () => {
  const old = 86_400_000 * 400
  const { record: stored, world } = await record(looked)
  const past = JSON.parse(stored, (key, value) => (key === 'at' ? value - old : value))
  const lane = new LaneWorld({
    record: JSON.stringify(past),
    definition: world.define('first'),
  })
  await inObject((state) => lane.run(state))
  const loadedAt = past.events.find((event: LoopEvent) => event.type === 'loaded').at
  const status = lane.asked[0]?.messages.at(-1)
  const day = new Date(loadedAt).toISOString().slice(0, 10)
  expect(status && 'text' in status ? status.text : '').toContain(`Time: ${day}`)
})

test('the result says when the tools of the run have changed since', async () => {
  const changed = createTools([])
  const list: ToolApi['list'] = (...of) =>
    changed.list(...of).map((tool) => ({ ...tool, description: `${tool.description} better` }))
  const { result } = await runLane(looked, { tools: { ...changed, list } })
  expect(result.notes.join()).toContain('have changed')
  const gone = await runLane(looked, { tools: { ...changed, list: () => [] } })
  expect(gone.result.notes.join()).toContain('look')
  const same = await runLane(looked, { tools: changed })
  expect(same.result.notes).toEqual([])
})

test('P3: a baseline asks with a hash of all that decides it, which is another when any of it is', async () => {
  const recorded = await record(looked)
  const hashOf = async (setup: Partial<ConstructorParameters<typeof LaneWorld>[0]> = {}) => {
    const lane = new LaneWorld({
      record: recorded.record,
      definition: recorded.world.define('first'),
      tools: gateway,
      ...setup,
    })
    await inObject((state) => lane.run(state))
    const hashes = lane.renewals.map(({ inputs }) => inputs)
    expect(hashes.length).toBeGreaterThan(1)
    expect(new Set(hashes).size).toBe(1)
    return hashes[0]
  }
  const allowing = (more: object) => ({ requested: [], allowed: ['*'], denied: [], ...more })
  const parsed = JSON.parse(recorded.record)
  const loaded = parsed.events.find(({ type }: LoopEvent) => type === 'loaded')
  const observed = {
    activationId: 'observed' as ActivationId,
    startedAt: loaded.at,
    record: recorded.record,
    definition: { version: 9, etag: 'nine' },
  }
  const once = await hashOf()
  expect(once).toMatch(/^[0-9a-f]{64}$/)
  expect(await hashOf()).toBe(once)
  const asToday = { order: { isAsThen: false } }
  const others = [
    await hashOf({ order: { unreadable: '["one"]' } }),
    await hashOf(asToday),
    await hashOf({ order: { by: { id: 'ada' as AccountId, name: 'ada', kind: 'human' } } }),
    await hashOf({ order: { observed } }),
    await hashOf({ policy: allowing({ denied: ['hub:read'] }) }),
    await hashOf({ definition: recorded.world.define('other') }),
    await hashOf({ ...asToday, tools: createTools(['hub_search', 'out_more']) }),
  ]
  expect([once, ...others].filter((each, at, all) => all.indexOf(each) !== at)).toEqual([])
  expect(await hashOf({ draft: draftOf() })).toBeNull()
})
