import { expect, test } from 'vitest'
import { findReservedModel, listCandidates } from '../../../src/agents/models/choose-model'
import { createModelRegistry } from '../../../src/agents/models/registry'
import { settingsSchema } from '../../../src/shared/settings'

const keys = { ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o' }
const settings = settingsSchema.parse(keys)
const configured = { settings, connections: [] }
const first = 'anthropic/claude-sonnet-5-5'
const second = 'openai/gpt-6-sol'
const usual = [first, second]

test('B6: a definition that names no model leaves the choice between all providers with a key', () => {
  expect(listCandidates({}, configured)).toEqual(usual)
  expect(listCandidates({ provider: 'openai' }, configured)).toEqual(['openai/gpt-6-sol'])
  const fixed = settingsSchema.parse({ ...keys, ROOKERY_DEFAULT_MODEL: 'openai/gpt-5' })
  expect(listCandidates({}, { settings: fixed, connections: [] })).toEqual(['openai/gpt-5'])
  expect(listCandidates({}, { settings: settingsSchema.parse({}), connections: [] })).toEqual([
    'offline/extractive',
  ])
})

test('B6: alternatives come behind the model, each once', () => {
  const choice = { model: 'claude-x', alternatives: ['openai/gpt-5', 'anthropic/claude-x'] }
  expect(listCandidates(choice, configured)).toEqual(['anthropic/claude-x', 'openai/gpt-5'])
})

test('B6: the model that LOAD reserved budget for is used while the definition allows it', () => {
  expect(findReservedModel({ reserved: second }, configured)).toBe(second)
  expect(findReservedModel({ reserved: first }, configured)).toBeNull()
  expect(findReservedModel({ reserved: 'openai/other' }, configured)).toBeNull()
  const { resolve, list } = createModelRegistry(settings)
  expect(resolve({ reserved: second }).model.id).toBe(second)
  expect(resolve({ reserved: 'openai/other' }).model.id).toBe(first)
  expect(list({}).map(({ id }) => id)).toEqual(usual)
})

test('B6: a model without a configured provider is not a candidate', () => {
  const registry = createModelRegistry(settingsSchema.parse({ OPENAI_API_KEY: 'o' }))
  const alternatives = ['openai/gpt-5', 'workers-ai/x', 'nobody/x']
  const ids = (choice: object) => registry.list(choice).map(({ id }) => id)
  expect(ids({ model: 'claude-x', alternatives })).toEqual(['openai/gpt-5'])
  expect(ids({ model: 'claude-x' })).toEqual(['offline/extractive'])
})
