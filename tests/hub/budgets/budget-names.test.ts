import { beforeAll, expect, it } from 'vitest'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office

beforeAll(async () => {
  const scout = await office.createAgent('scout')
  const models = '["openai/gpt-6-sol","near/Llama/3"]'
  await office.run('UPDATE agents SET models = ?2 WHERE account_id = ?1', scout.id, models)
})

const make = async (scope: string, name: string) => {
  const body = { scope, name, period: 'day', limit_microusd: 5 }
  const answer = await hub.call('/budgets', { key: adminKey, body })
  await office.run(`DELETE FROM budgets WHERE scope <> 'hub'`)
  return answer
}

it.each([
  ['provider', ' OpenAI ', 'openai'],
  ['provider', 'Near', 'near'],
  ['model', ' OpenAI/gpt-6-sol', 'openai/gpt-6-sol'],
  ['model', 'near / Llama/3', 'near/Llama/3'],
])('B2: a budget of the %s %j pays for %s', async (scope, name, scopeId) => {
  const { status, body } = await make(scope, name)
  expect(status).toBe(201)
  expect(body).toMatchObject({ budget: { scope }, warnings: [] })
  expect(body.budget.scope_id).toBe(scopeId)
})

it.each([
  ['provider', 'open ai'],
  ['provider', 'openai/'],
  ['model', 'qwen-0/'],
  ['model', 'qwen-0/ '],
  ['model', '/qwen-0'],
  ['model', 'openai/gpt 6'],
])('B2: a budget of the %s %j would pay for nothing and is refused', async (scope, name) => {
  const { status, body } = await make(scope, name)
  expect(status).toBe(400)
  expect(body.details[0].path).toBe('body.name')
})

it.each([
  ['provider', 'opneai'],
  ['model', 'openai/gpt-6-sun'],
])(
  'B2: creating a budget of the %s %s, which no agent uses, returns a warning',
  async (scope, name) => {
    const { status, body } = await make(scope, name)
    expect(status).toBe(201)
    expect(body.warnings).toEqual([{ path: 'body.name', message: expect.any(String) }])
  },
)

it('B2: a budget of an agent or a community has no warnings', async () => {
  expect((await make('agent', 'scout')).body.warnings).toEqual([])
  expect((await make('community', 'general')).body.warnings).toEqual([])
})
