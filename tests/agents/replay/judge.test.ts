import { describe, expect, test } from 'vitest'
import { parseBlocks } from '../../../src/agents/text/fence'
import { combineJudgements, readJudgement } from '../../../src/hub/trials/verdicts'
import { activationLimits, judgeLimits } from '../../../src/shared/config'
import type { FakeAnswer } from '../../support/fake-model-wire'
import { sample } from '../../support/sample'
import { fakeModel, type ProtocolName, protocols } from '../models/fake-provider'
import { type Pair, pairs } from './judge-pairs'
import {
  type Answers,
  createJudges,
  JudgeWorld,
  judgeModel,
  orderOf,
  readAnswer,
} from './judge-world'

/** Asks a judge about an answer of the active definition and one of the draft, in both orders. */
async function judge(baseline: string, candidate: string, pair: Pair, answers: Answers) {
  const { models, prompts } = createJudges(answers)
  const { question, note = '' } = pair
  const ask = (first: string, second: string) =>
    new JudgeWorld(orderOf({ question, note, first, second }), models).run()
  const results = [await ask(baseline, candidate), await ask(candidate, baseline)]
  const [one, other] = results.map((result) => readJudgement(result?.answer ?? ''))
  if (!one || !other) throw new Error('two orders')
  return { ...combineJudgements(one, other), results, prompts }
}

const blocksOf = (prompt: string) =>
  Object.fromEntries(parseBlocks(prompt).map(({ source, body }) => [source, body]))

/** A judge that knows which answer is better, and reads only what stands in the blocks. */
const perfect =
  (pair: Pair): Answers =>
  (prompt) => {
    const winner = blocksOf(prompt)['answer A'] === pair.better ? 'A' : 'B'
    return {
      text: JSON.stringify({ winner: pair.isSame ? 'same' : winner, reason: 'It answers.' }),
    }
  }

const always =
  (text: string): Answers =>
  () => ({ text })

describe('P6: of forty pairs, in both orders', () => {
  test('there are forty, in several languages, with attacks', () => {
    expect(pairs).toHaveLength(40)
  })

  test.each(pairs.map((pair, at) => [at + 1, pair] as const))(
    'a judge that knows the better answer of pair %i finds it',
    async (_number, pair) => {
      const { better, worse } = pair
      const opposite = await judge(better, worse, pair, perfect(pair))
      expect(opposite.verdict).toBe(pair.isSame ? 'same' : 'worse')
      const { verdict, reason, prompts, results } = await judge(worse, better, pair, perfect(pair))
      expect(verdict).toBe(pair.isSame ? 'same' : 'better')
      expect(reason).toBe('It answers.')
      expect(results.map((result) => result?.outcome)).toEqual(['completed', 'completed'])
      for (const prompt of prompts) {
        // whatever the answers say, these are all the blocks there are, and one mark is on all of them
        const sources = parseBlocks(prompt).map(({ source }) => source)
        const note = pair.note ? ['note on what would have been right'] : []
        expect(sources).toEqual(['request', ...note, 'answer A', 'answer B'])
        const marks = [...prompt.matchAll(/^<untrusted source="[^"]*" mark="([^"]*)">$/gm)]
        expect(new Set(marks.map(([, mark]) => mark)).size).toBe(1)
      }
      expect(new Set(prompts.map((prompt) => /mark="([^"]*)"/.exec(prompt)?.[1])).size).toBe(2)
    },
  )

  test.each(['A', 'B', 'answer a', '"b"'])(
    'a judge that always says %s tells nothing',
    async (said) => {
      for (const pair of sample(pairs, 10, said.length)) {
        const text = `{"winner": ${JSON.stringify(said)}, "reason": "It is better."}`
        const { verdict, reason } = await judge(pair.worse, pair.better, pair, always(text))
        expect(verdict).toBe('cannot_tell')
        expect(reason).toContain('in either order')
      }
    },
  )

  test('a judge that answers nonsense tells nothing', async () => {
    const nonsense = [
      '',
      'Both are fine.',
      'A',
      '{"winner":"A and B"}',
      '{"winner":"C"}',
      '[1,2',
      '{}',
    ]
    for (const [at, pair] of sample(pairs, 14).entries()) {
      const text = nonsense[at % nonsense.length] ?? ''
      const { verdict } = await judge(pair.worse, pair.better, pair, always(text))
      expect(verdict, text).toBe('cannot_tell')
    }
  })
})

const said: FakeAnswer = { text: '{"winner":"A","reason":"It names the cause."}' }
const heard = { says: 'first', reason: 'It names the cause.' }

describe.each(protocols)('P6: a judge of %s', (provider) => {
  const ask = async (answers: FakeAnswer[], costMaxMicrousd = 1_000_000) => {
    const timeouts = { firstByteMs: 300, betweenBytesMs: 300 }
    const { model, requests } = await fakeModel(provider as ProtocolName, answers, {
      options: { timeouts },
    })
    const priced = { ...model, prices: { input: 1_000_000, cached: 1_000_000, output: 5_000_000 } }
    const order = orderOf({ costMaxMicrousd })
    const world = new JudgeWorld(order, {
      resolve: () => ({ model: priced, substitutedFor: null }),
    })
    const result = await world.run()
    return { world, result, requests: await requests() }
  }

  test('is called once, without tools, and charged what it counted', async () => {
    const usage = { input: 700, output: 30 }
    const { result, requests } = await ask([{ ...said, usage }])
    expect(readAnswer(result)).toEqual(heard)
    expect(requests).toHaveLength(1)
    expect(requests[0]?.body.tools).toBeUndefined()
    expect(result).toMatchObject({ outcome: 'completed', steps: 1, tokens: 730, incomplete: null })
    expect(result?.usage).toMatchObject([{ call: 1, isEstimated: false, costMicrousd: 850 }])
  })

  test.each<[string, FakeAnswer, number]>([
    ['that is busy', { status: 429 }, 0],
    ['whose connection breaks in mid-stream', { ...said, fault: 'cut' }, 1],
    ['whose stream ends without an end', { ...said, fault: 'end' }, 1],
    ['that stops in mid-stream', { ...said, fault: 'stall' }, 1],
    ['that sends nothing in time', { ...said, latencyMs: 60_000 }, 1],
    ['that reports an error in mid-stream', { ...said, fault: 'error' }, 1],
  ])(
    '%s is asked again, and both calls are charged if both may be',
    async (_what, fault, charged) => {
      const { result, requests } = await ask([fault, said])
      expect(readAnswer(result)).toEqual(heard)
      expect(requests).toHaveLength(2)
      expect(result?.usage.map(({ call }) => call)).toEqual(charged === 0 ? [1] : [1, 2])
    },
  )

  test('that stays busy tells nothing, and says why', async () => {
    const { result, requests } = await ask([{ status: 429 }])
    expect(readAnswer(result).says).toBe('cannot_tell')
    expect(requests).toHaveLength(1 + activationLimits.retries)
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'PROVIDER_BUSY' }, usage: [] })
    expect(result?.incomplete).toContain('could not be asked')
  })

  test('whose answer is truncated or filtered tells nothing, and is not asked again', async () => {
    for (const finish of ['length', 'content-filter'] as const) {
      const { result, requests } = await ask([{ ...said, finish }])
      expect(readAnswer(result).says).toBe('cannot_tell')
      expect(requests).toHaveLength(1)
      expect(result?.outcome).toBe('completed')
    }
  })

  test('is not asked again when what the comparison may cost does not cover it', async () => {
    const most = (await ask([said])).world.renewals[0]?.floor.microusd ?? 0
    const { result, requests } = await ask([{ ...said, fault: 'cut' }, said], most)
    expect(requests).toHaveLength(1)
    expect(readAnswer(result).says).toBe('cannot_tell')
    expect(result?.outcome).toBe('budget_exhausted')
    expect(result?.costMicrousd).toBeGreaterThan(0)
    expect(result?.costMicrousd).toBeLessThanOrEqual(most)
  })
})

describe('P8: a comparison', () => {
  test('that a budget does not cover calls no model', async () => {
    const { models, prompts } = createJudges(() => said)
    const world = new JudgeWorld(orderOf(), models)
    world.refusals = [{ kind: 'refused', reason: 'budget_exhausted' }]
    const result = await world.run()
    expect(prompts).toEqual([])
    expect(readAnswer(result).says).toBe('cannot_tell')
    expect(result).toMatchObject({ outcome: 'budget_exhausted', usage: [], costMicrousd: 0 })
  })

  test('waits for money that others have reserved', async () => {
    const { models, prompts } = createJudges(() => said)
    const world = new JudgeWorld(orderOf(), models)
    const wait = { kind: 'wait', reason: 'money_reserved', retryAt: Date.now() + 60_000 } as const
    world.refusals = [wait, { ...wait, retryAt: Date.now() + 120_000 }]
    expect(readAnswer(await world.run())).toEqual(heard)
    expect(prompts).toHaveLength(1)
    expect(world.renewals).toHaveLength(3)
  })

  test('ends when its time is over, also in a wait', async () => {
    const { models, prompts } = createJudges(() => said)
    const world = new JudgeWorld(orderOf(), models)
    const retryAt = Date.now() + judgeLimits.durationMsMax - 1
    world.refusals = [1, 2, 3, 4].map((n) => ({
      kind: 'wait',
      reason: 'money_reserved',
      retryAt: retryAt + n * 60_000,
    }))
    const result = await world.run()
    expect(prompts).toEqual([])
    expect(result?.outcome).toBe('max_duration')
    expect(readAnswer(result).says).toBe('cannot_tell')
  })

  test('that is cancelled ends within its call, which is charged', async () => {
    const asked = Promise.withResolvers<void>()
    const { models } = createJudges(() => {
      asked.resolve()
      return new Promise<never>(() => {})
    })
    const world = new JudgeWorld(orderOf(), models)
    void asked.promise.then(() => world.lane?.cancel())
    const result = await world.run()
    expect(result?.outcome).toBe('cancelled')
    expect(result?.usage).toHaveLength(1)
  })

  test('that the hub has ended calls no model, and reports nothing', async () => {
    const { models, prompts } = createJudges(() => said)
    const world = new JudgeWorld(orderOf(), models)
    world.isCancelled = true
    expect(await world.run()).toBeNull()
    expect(prompts).toEqual([])
  })

  test('of a run whose texts are gone calls no model, and says so', async () => {
    const { models, prompts } = createJudges(() => said)
    const world = new JudgeWorld(orderOf({ problem: 'A text was deleted.' }), models)
    const result = await world.run()
    expect(prompts).toEqual([])
    expect(world.renewals).toEqual([])
    expect(result).toMatchObject({ outcome: 'failed', incomplete: 'A text was deleted.' })
    expect(readAnswer(result)).toEqual({ says: 'cannot_tell', reason: 'A text was deleted.' })
  })

  test.each(['anthropic/claude-opus-5', 'offline', 'openai/', 'openai-compatible/'])(
    'with %s, which the hub cannot call, tells nothing',
    async (model) => {
      const { models, prompts } = createJudges(() => said)
      const result = await new JudgeWorld(orderOf({ model }), models).run()
      expect(prompts).toEqual([])
      expect(readAnswer(result).says).toBe('cannot_tell')
      expect(result?.outcome).toBe('failed')
    },
  )

  test('reserves at most what it may cost, and bounds the answer by it', async () => {
    const { models } = createJudges(() => said)
    const world = new JudgeWorld(orderOf({ costMaxMicrousd: 5_000 }), models)
    const result = await world.run()
    expect(world.renewals.map(({ want }) => want.microusd)).toEqual([5_000])
    expect(world.renewals[0]).toMatchObject({ model: judgeModel, usage: [] })
    expect(result?.costMicrousd).toBeLessThanOrEqual(5_000)
  })

  test('stores no credential that a judge repeats', async () => {
    const { models } = createJudges(always('{"winner":"B","reason":"It has sk-secret"}'))
    const result = await new JudgeWorld(orderOf(), models).run()
    expect(readAnswer(result)).toEqual({ says: 'second', reason: 'It has ***' })
  })
})

describe('P11: wherever the object of a comparison stops', () => {
  test('its result is stored once, and no call is paid twice', async () => {
    const whole = new JudgeWorld(orderOf(), createJudges(() => said).models)
    await whole.run()
    expect(whole.points).toEqual(
      ['open', 'renew', 'model', 'finish'].flatMap((name) => [`${name}.before`, `${name}.after`]),
    )
    for (let killAt = 1; killAt <= whole.points.length; killAt++) {
      const { models, prompts } = createJudges(() => said)
      const world = new JudgeWorld(orderOf(), models)
      world.killAt = killAt
      const result = await world.run()
      const at = `${killAt}: ${whole.points[killAt - 1]}`
      expect(world.results, at).toHaveLength(1)
      expect(readAnswer(result), at).toEqual(heard)
      // a call that may have been made is charged once, at its worst, under a number of its own
      const numbers = result?.usage.map(({ call }) => call) ?? []
      expect(numbers, at).toEqual([...numbers.keys()].map((index) => index + 1))
      const begun = world.points.filter((point) => point === 'model.before').length
      expect(numbers, at).toHaveLength(begun)
      expect(prompts.length, at).toBeLessThanOrEqual(begun)
      expect(
        result?.usage.filter(
          ({ isEstimated, outputTokens }) =>
            isEstimated && outputTokens === judgeLimits.outputTokens,
        ),
        at,
      ).toHaveLength(begun - 1)
      for (const { usage } of world.renewals) {
        expect(result?.usage.slice(0, usage.length), at).toEqual(usage)
      }
    }
  })

  test('a lost call that used up what it may cost is not made again', async () => {
    const { models, prompts } = createJudges(() => said)
    const world = new JudgeWorld(orderOf({ costMaxMicrousd: 4_000 }), models)
    world.killAt = 6
    const result = await world.run()
    expect(world.points[5]).toBe('model.after')
    expect(prompts).toHaveLength(1)
    expect(readAnswer(result).says).toBe('cannot_tell')
    expect(result?.outcome).toBe('budget_exhausted')
    expect(result?.costMicrousd).toBeGreaterThan(3_990)
    expect(result?.costMicrousd).toBeLessThanOrEqual(4_000)
  })

  test.each(['open', 'renew', 'finish'] as const)(
    'it goes on after the hub failed to %s it',
    async (what) => {
      const { models, prompts } = createJudges(() => said)
      const world = new JudgeWorld(orderOf(), models)
      world.failures[what] = 2
      expect(readAnswer(await world.run())).toEqual(heard)
      expect(world.results).toHaveLength(1)
      expect(prompts).toHaveLength(1)
    },
  )
})
