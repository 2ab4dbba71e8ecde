import { expect, test } from 'vitest'
import { chooseModel } from '../../../src/agents/models/choose-model'
import { knownProviders } from '../../../src/agents/models/providers/known-providers'
import { readSettings } from '../../../src/settings'

test('ROOKERY_DEFAULT_MODEL may name every provider there is, and the offline model', () => {
  for (const provider of Object.keys(knownProviders)) {
    const settings = readSettings({ ROOKERY_DEFAULT_MODEL: `${provider}/vendor/model` })
    expect(chooseModel({}, settings)).toEqual({ provider, model: 'vendor/model' })
  }
  const settings = readSettings({ ROOKERY_DEFAULT_MODEL: 'offline' })
  expect(chooseModel({}, settings).provider).toBe('offline')
})

test.each(['nonsense', 'nobody/model', 'openai/', 'openai'])(
  'ROOKERY_DEFAULT_MODEL=%s is refused with the providers that are known',
  (value) => {
    const names = Object.keys(knownProviders).join(', ')
    expect(() => readSettings({ ROOKERY_DEFAULT_MODEL: value })).toThrow(names)
  },
)
