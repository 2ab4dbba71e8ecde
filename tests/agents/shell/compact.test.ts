import { describe, expect, test } from 'vitest'
import { estimateTokens } from '../../../src/agents/models/estimate-tokens'
import { openTrace } from '../../support/run-log'
import { agentId } from './fake-hub'
import { callOf, countResults, inObject, live, type Script, World } from './world'

const isSummary = ({ messages }: Parameters<Script>[0]) =>
  JSON.stringify(messages[0]).includes('You summarize')

const wordy = (rounds: number, sum: ReturnType<Script>): Script => {
  let round = 0
  return (request) => {
    if (isSummary(request)) return sum
    const id = round++
    return id < rounds
      ? { text: `Step ${id}. ${'heron '.repeat(250)}`, calls: [callOf(`c${id}`, 'look')] }
      : { text: 'Nine herons in all.' }
  }
}

/** A summary of the maximum length, and the share of the limit it takes. */
const runWithin = (tokensMax: number) =>
  inObject(async (state) => {
    let spent = 0
    const most: number[] = []
    const script = wordy(8, { text: '' })
    const world = new World((request) => {
      const { messages, tools, maxOutputTokens } = request
      const inputTokens = estimateTokens(messages, tools)
      const outputTokens = isSummary(request) ? maxOutputTokens : 400
      const usage = { inputTokens, cachedTokens: 0, outputTokens, reasoningTokens: 0 }
      spent += inputTokens + outputTokens
      if (!isSummary(request)) return { ...(script(request, '') as object), usage }
      most.push(spent)
      return { text: 'heron '.repeat(1_500), usage }
    })
    world.model = { contextTokens: 3_000 }
    world.tokensMax = tokensMax
    world.hub.ask('@scout count them')
    await live(world, state)
    return { world, most }
  })

const run = (rounds: number, sum: ReturnType<Script>, killAt: number | null = null) =>
  inObject(async (state) => {
    const world = new World(wordy(rounds, sum))
    world.model = { contextTokens: 3_000 }
    world.killAt = killAt
    world.hub.ask('@scout count them')
    await live(world, state)
    return world
  })

describe('compaction', () => {
  test('L19 L20: a full window is compacted by a summary of the model, which is charged', async () => {
    const world = await run(8, { text: 'There were herons at the weir.' })
    expect(world.hub.commits[0]).toMatchObject({ outcome: 'completed' })
    const summaries = world.asked.filter(isSummary)
    expect(summaries.length).toBeGreaterThanOrEqual(1)
    expect(world.hub.commits[0]?.usage).toHaveLength(world.asked.length)
    const last = JSON.stringify(world.asked.at(-1)?.messages)
    expect(last).toContain('There were herons at the weir.')
    expect(last).not.toContain('Step 0.')
    expect(world.asked.at(-1)?.messages[0]).toEqual({ role: 'system', text: 'soul first' })
    expect(last).toContain('count them')
  })

  test('L19: a prompt near the limit of the window is a note in the trace', async () => {
    const world = await run(8, { text: 'short' })
    const trace = openTrace(world.hub.commits[0]?.trace ?? '{}')
    const notes = trace.notes.map(({ text }: { text: string }) => text)
    expect(notes).toContainEqual(
      expect.stringMatching(/^The prompt fills (8|9)\d % of the model's context window/),
    )
    expect(trace.compactions).toMatchObject([{ problem: null }])
  })

  test('L16 L20: summarized text reaches the model as fenced data, without any tool', async () => {
    const world = await run(8, { text: 'short' })
    const summary = world.asked.find(isSummary)
    expect(summary?.tools).toEqual([])
    const [, record] = summary?.messages ?? []
    expect(record?.role === 'user' && record.text).toContain('<untrusted source="record">')
  })

  test.each([
    ['fails', { fails: 'no' }],
    ['is empty', { text: '' }],
  ] as const)('L20: when the model %s the summary is an extract', async (_, sum) => {
    const world = await run(8, sum)
    expect(world.hub.commits[0]).toMatchObject({ outcome: 'completed' })
    expect(JSON.stringify(world.asked.at(-1)?.messages)).toContain('I called look')
  })

  test('L8 L20: a summary never uses the tokens of the next call; an extract is used instead', async () => {
    let summaries = 0
    let extracts = 0
    for (let tokensMax = 12_000; tokensMax <= 20_000; tokensMax += 250) {
      const { world, most } = await runWithin(tokensMax)
      for (const tokens of most) expect(tokens).toBeLessThan(tokensMax)
      const last = world.asked.at(-1)
      expect({ tokensMax, paidForNothing: last && isSummary(last) }).toEqual({
        tokensMax,
        paidForNothing: false,
      })
      const { compactions } = openTrace(world.hub.commits[0]?.trace ?? '{}')
      summaries += most.length
      extracts += compactions.filter(({ problem }) => problem?.includes('tokens')).length
    }
    expect(summaries).toBeGreaterThan(0)
    expect(extracts).toBeGreaterThan(0)
  })

  test('L18 L19: no sent prompt is longer than the window', async () => {
    const world = await run(8, { text: 'short' })
    for (const { messages, maxOutputTokens } of world.asked) {
      expect(JSON.stringify(messages).length / 4 + Math.min(64, maxOutputTokens)).toBeLessThan(
        3_200,
      )
    }
  })

  test('L18 L19: when the provider counts more than the estimate, its count warns and reserves space for the answer', () =>
    inObject(async (state) => {
      const usage = { inputTokens: 8_100, cachedTokens: 0, outputTokens: 20, reasoningTokens: 0 }
      const world = new World((request) =>
        countResults(request) === 0 ? { calls: [callOf('a', 'look')], usage } : { text: 'Nine.' },
      )
      world.model = { contextTokens: 10_000, outputTokensMax: 4_000 }
      world.hub.ask(`@scout count ${'them '.repeat(1_800)}`)
      await live(world, state)
      expect(world.asked).toHaveLength(2)
      expect(world.asked[1]?.maxOutputTokens).toBeLessThanOrEqual(10_000 - 8_100)
      const trace = openTrace(world.hub.commits[0]?.trace ?? '{}')
      expect(trace.notes.map(({ text }: { text: string }) => text)).toContainEqual(
        expect.stringMatching(/^The prompt fills 81 % .* \(8100 of 10000 tokens\)/),
      )
    }))

  test('L19: a task that alone fills the window ends as context_limit, with a message', () =>
    inObject(async (state) => {
      const world = new World(() => ({ text: 'never' }))
      world.model = { contextTokens: 300 }
      world.hub.ask(`@scout ${'read this '.repeat(1_000)}`)
      await live(world, state)
      expect(world.asked).toEqual([])
      expect(world.hub.commits).toMatchObject([
        { outcome: 'context_limit', error: { code: 'CONTEXT_LIMIT' }, usage: [] },
      ])
      expect(world.hub.commits[0]?.reply?.content).toContain('@mira')
    }))

  test('L36: interrupted at any point, it ends the same, and no journaled answer is paid twice', async () => {
    const whole = await run(8, { text: 'short' })
    const at = whole.asked.length
    expect(whole.asked.filter(isSummary).length).toBeGreaterThan(0)
    for (let killAt = 1; killAt <= whole.points.length; killAt++) {
      const world = await run(8, { text: 'short' }, killAt)
      expect(world.hub.commits).toHaveLength(1)
      expect(world.hub.commits[0]).toMatchObject({ outcome: 'completed' })
      expect(world.hub.commits[0]?.reply?.content).toContain('Nine herons')
      expect(world.asked.length).toBeLessThanOrEqual(at + 2)
      const paid = world.hub.commits[0]?.usage.filter(
        ({ durationMs, isEstimated }) => !(isEstimated && durationMs === 0),
      )
      expect(paid?.length).toBeLessThanOrEqual(at + 1)
    }
  })

  test('L39 L20: the next activation has the summary of what was compacted', () =>
    inObject(async (state) => {
      const world = new World(wordy(8, { text: 'There were herons at the weir.' }))
      world.model = { contextTokens: 3_000 }
      world.hub.ask('@scout count them')
      const shell = await live(world, state)
      world.hub.ask('@scout and now?')
      shell.wake(agentId)
      await shell.waitUntilIdle()
      expect(JSON.stringify(world.asked.at(-1)?.messages)).toContain(
        'There were herons at the weir.',
      )
    }))

  test('L19: /compact replaces the beginning of a session by a summary, and says so without another call', () =>
    inObject(async (state) => {
      const world = new World(wordy(8, { text: 'There were herons at the weir.' }))
      world.hub.ask('/compact', 'dm')
      const shell = await live(world, state)
      const wake = async (words: string) => {
        world.hub.ask(words, 'dm')
        shell.wake(agentId)
        await shell.waitUntilIdle()
        return world.hub.commits.at(-1)
      }
      expect(world.hub.commits[0]).toMatchObject({ outcome: 'completed', usage: [] })
      expect(world.hub.commits[0]?.reply?.content).toContain('Nothing was compacted')
      await wake('count them')
      const calls = world.asked.length
      const compacted = await wake('/compact')
      expect(compacted?.reply?.content).toMatch(/A summary replaced \d+ messages/)
      expect(compacted?.usage).toHaveLength(1)
      expect(world.asked.slice(calls).map(isSummary)).toEqual([true])
      await wake('and now?')
      const last = JSON.stringify(world.asked.at(-1)?.messages)
      expect(last).toContain('There were herons at the weir.')
      expect(last).not.toContain('Step 0.')
    }))

  test('L19 L36: /compact that is interrupted at any point compacts, and does nothing else', async () => {
    const compactAfter = (points: number | null) =>
      inObject(async (state) => {
        const world = new World(wordy(3, { text: 'There were herons at the weir.' }))
        world.hub.ask('count them', 'dm')
        await live(world, state)
        const [begun, asked] = [world.points.length, world.asked.length]
        world.killAt = points && begun + points
        world.hub.ask('/compact', 'dm')
        await live(world, state)
        return { world, points: world.points.length - begun, asked: world.asked.slice(asked) }
      })
    const whole = await compactAfter(null)
    for (let points = 1; points <= whole.points; points++) {
      const { world, asked } = await compactAfter(points)
      expect(world.hub.commits).toHaveLength(2)
      expect(world.hub.commits[1]).toMatchObject({ outcome: 'completed' })
      expect(world.hub.commits[1]?.reply?.content).toMatch(/A summary replaced \d+ messages/)
      expect(asked.every(isSummary)).toBe(true)
    }
  })
})
