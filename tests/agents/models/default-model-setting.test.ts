import { expect, test } from 'vitest'
import { chooseModel } from '../../../src/agents/models/choose-model'
import { modelProviders } from '../../../src/agents/models/providers/model-providers'
import { readSettings } from '../../../src/shared/settings'

test('ROOKERY_DEFAULT_MODEL may name every provider there is, and the offline model', () => {
  for (const provider of Object.keys(modelProviders)) {
    const settings = readSettings({ ROOKERY_DEFAULT_MODEL: `${provider}/vendor/model` })
    expect(chooseModel({}, { settings, connections: [] })).toEqual({
      provider,
      model: 'vendor/model',
    })
  }
  const settings = readSettings({ ROOKERY_DEFAULT_MODEL: 'offline' })
  expect(chooseModel({}, { settings, connections: [] }).provider).toBe('offline')
})

test.each(['nonsense', 'nobody/model', 'openai/', 'openai'])(
  'ROOKERY_DEFAULT_MODEL=%s is refused with the providers that are known',
  (value) => {
    const names = Object.keys(modelProviders).join(', ')
    expect(() => readSettings({ ROOKERY_DEFAULT_MODEL: value })).toThrow(names)
  },
)
