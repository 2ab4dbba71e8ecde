import { describe, expect, test } from 'vitest'
import { computeDuration } from '../../../src/agents/definitions/definition'
import { memoryLimits } from '../../../src/shared/config'
import { definitionOf, warningsOf } from './read-files'

/** The files of `agents/`, by path. */
const examples = import.meta.glob<string>('../../../agents/*/*', {
  query: '?raw',
  import: 'default',
  eager: true,
})

describe('the example agents', () => {
  test.each([
    ['scout', ['hub:read', 'hub:write', 'memory:read', 'memory:write']],
    ['archivist', ['hub:read']],
  ])('D1: %s is read without a warning and requests no unused grants', (name, grants) => {
    const config = examples[`../../../agents/${name}/config.yaml`] ?? ''
    const prompt = examples[`../../../agents/${name}/system-prompt.md`] ?? ''
    expect(warningsOf(config, prompt)).toEqual([])
    const definition = definitionOf(config, prompt)
    expect(definition).toMatchObject({
      name,
      grants,
      brain: { provider: 'auto' },
      wakesOn: { mentions: true },
    })
    expect(definition.systemPrompt).toContain(`(@${name})`)
    expect(definition.costPerDayMicrousd).toBeGreaterThan(0)
  })
})

describe('defaults and ceilings', () => {
  test('D1: a name and a prompt are enough', () => {
    expect(definitionOf('name: scout')).toEqual({
      name: 'scout',
      displayName: null,
      description: '',
      systemPrompt: 'You are scout.',
      brain: {},
      limits: { iterations: 10, tokens: 100_000, durationSeconds: null, outputTokens: 4_096 },
      costPerDayMicrousd: null,
      grants: [],
      toolRestrictions: { allow: [], deny: [], servers: [], blockedPatterns: [] },
      wakesOn: { mentions: true, replies: true, dms: true, followUps: true },
      skills: [],
      memory: { isEnabled: true, factsMax: 50, retrieval: 'recent' },
      hooks: { enable: [], disable: [] },
      executor: 'native',
      coding: { builtin: 'none', runsOn: [], workspace: null },
      writingLimits: {
        dailyPostsMax: 5,
        dailyCommentsMax: 50,
        responsesPerThreadMax: 3,
        intervalMs: 60_000,
      },
    })
  })

  test.each([
    ['safe_assistant', 10],
    ['research_agent', 15],
    ['system_admin', 20],
    ['automation_agent', 50],
  ])(
    'L8: the profile %s has %i iterations, and an explicit number takes precedence',
    (profile, iterations) => {
      expect(definitionOf(`name: a1\nprofile: ${profile}`).limits.iterations).toBe(iterations)
      const own = `name: a1\nprofile: ${profile}\nbehavior: { max_iterations: 3 }`
      expect(definitionOf(own).limits.iterations).toBe(3)
    },
  )

  test('L8: limits are Capped at the ceilings, with a warning', () => {
    const config = 'name: a1\nbehavior:\n  max_iterations: 999\n  max_duration_seconds: 7200'
    expect(definitionOf(config).limits).toMatchObject({ iterations: 200, durationSeconds: 1_800 })
    expect(warningsOf(config)).toEqual([
      "config.yaml:3:behavior.max_iterations Capped at 200, this hub's maximum",
      "config.yaml:4:behavior.max_duration_seconds Capped at 1800, this hub's maximum",
    ])
  })

  test('L8: of two token limits the smaller applies', () => {
    const config =
      'name: a1\nbrain: { max_tokens_per_activation: 9000 }\nbehavior: { max_tokens: 8000 }'
    expect(definitionOf(config).limits.tokens).toBe(8_000)
  })

  test('D6: memory is on by default; its limits are capped', () => {
    expect(definitionOf('name: a1\nmemory: { enabled: false }').memory.isEnabled).toBe(false)
    const config = 'name: a1\nmemory: { max_facts: 100000, retrieval: keyword }'
    expect(definitionOf(config).memory).toEqual({
      isEnabled: true,
      factsMax: memoryLimits.factsMax,
      retrieval: 'keyword',
    })
    expect(warningsOf(config)).toEqual([])
  })

  test('D6: respond_to_* is read from behavior, then from its notifications', () => {
    const config = [
      'name: a1',
      'behavior:',
      '  respond_to_mentions: true',
      '  notifications: { respond_to_mentions: false, respond_to_replies: false }',
    ].join('\n')
    expect(definitionOf(config).wakesOn).toMatchObject({
      mentions: true,
      replies: false,
      dms: true,
    })
  })

  test('D1: brain, money and tools keep their meaning', () => {
    const config = [
      'name: a1',
      'brain:',
      '  provider: openai-compatible',
      '  model: vendor/some-model',
      '  temperature: 0',
      '  top_p: 0.9',
      '  max_tokens: 512',
      '  max_context_tokens: 32000',
      '  api_base: http://127.0.0.1:11434/v1',
      '  api_key_env: LOCAL_API_KEY',
      '  max_cost_per_day: 0.25',
      'capabilities:',
      '  grants: [hub:read, "aws:s3:read:*", hub:read]',
      '  tools: { allow: ["hub_*"], deny: [hub_create_post], blocked_patterns: ["rm -rf"] }',
    ].join('\n')
    expect(definitionOf(config)).toMatchObject({
      brain: {
        provider: 'openai-compatible',
        model: 'vendor/some-model',
        temperature: 0,
        topP: 0.9,
        contextTokens: 32_000,
        apiBase: 'http://127.0.0.1:11434/v1',
        apiKeyEnv: 'LOCAL_API_KEY',
      },
      limits: { outputTokens: 512 },
      costPerDayMicrousd: 250_000,
      grants: ['hub:read', 'aws:s3:read:*'],
      toolRestrictions: {
        allow: ['hub_*'],
        deny: ['hub_create_post'],
        servers: [],
        blockedPatterns: ['rm -rf'],
      },
    })
  })
})

test('C1: an agent follows threads unless its definition says no', () => {
  const config = 'name: a1\nbehavior: { follow_threads: false }'
  expect(definitionOf(config).wakesOn).toMatchObject({ replies: true, followUps: false })
  expect(warningsOf(config)).toEqual([])
})

test('D6: respond_to_* and limits are read from the compatible fields', () => {
  const config = [
    'name: a1',
    'behavior:',
    '  respond_to_replies: false',
    '  notifications: { respond_to_dms: false, respond_to_replies: true }',
    '  limits: { max_daily_posts: 0, min_interval_seconds: 5 }',
  ].join('\n')
  expect(definitionOf(config)).toMatchObject({
    wakesOn: { mentions: true, replies: false, dms: false },
    writingLimits: { dailyPostsMax: 0, dailyCommentsMax: 50, intervalMs: 5_000 },
  })
  expect(warningsOf(config)).toEqual([])
})

test('T6: the time limit allows for two first bytes of a slow model, unless the definition sets one', () => {
  const slow = { firstByteMs: 600_000 }
  const open = definitionOf('name: scout')
  expect(computeDuration(open, [])).toBe(300)
  expect(computeDuration(open, [{ firstByteMs: 120_000 }])).toBe(300)
  expect(computeDuration(open, [{ firstByteMs: 120_000 }, slow])).toBe(1_200)
  expect(computeDuration(open, [{ firstByteMs: 1_700_000 }])).toBe(1_800)
  const set = definitionOf('name: scout\nbehavior: { max_duration_seconds: 60 }')
  expect(computeDuration(set, [slow])).toBe(60)
})

test('T6: brain.timeout_seconds sets the timeouts of a call', () => {
  const config = 'name: scout\nbrain: { timeout_seconds: { first_byte: 34 } }'
  expect(definitionOf(config).brain.timeouts).toEqual({ firstByteMs: 34_000 })
})
