import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createModelRegistry } from '../../../src/agents/models/registry'
import { createReplayRunner } from '../../../src/agents/replay/replay-object'
import { readSettings } from '../../../src/shared/settings'

const readJudge = (given: Record<string, string>) => {
  const settings = readSettings(given)
  const models = createModelRegistry(settings)
  return createReplayRunner(env.REPLAYS, { settings, models }).readJudge([])
}

test('P6: the judge is the model that the setting names, with the most that it costs', () => {
  const judge = readJudge({
    ROOKERY_JUDGE_MODEL: 'anthropic/claude-haiku-4-5',
    ANTHROPIC_API_KEY: 'key',
  })
  expect(judge).toMatchObject({ model: 'anthropic/claude-haiku-4-5', isPriced: true })
  expect(judge?.costMaxMicrousd).toBeGreaterThan(judge?.tokensMax ?? 0)
})

test.each<[string, Record<string, string>]>([
  ['no setting', { ANTHROPIC_API_KEY: 'key' }],
  ['no key of its provider', { ROOKERY_JUDGE_MODEL: 'anthropic/claude-haiku-4-5' }],
  ['no address', { ROOKERY_JUDGE_MODEL: 'openai-compatible/judge' }],
])('P6: with %s there is no judge', (_what, given) => {
  expect(readJudge(given)).toBeNull()
})

test.each(['offline', 'offline/extractive', 'claude-haiku-4-5', 'nobody/model', 'openai/'])(
  'P6: ROOKERY_JUDGE_MODEL=%s is refused',
  (model) => {
    expect(() => readSettings({ ROOKERY_JUDGE_MODEL: model })).toThrow('ROOKERY_JUDGE_MODEL')
  },
)
