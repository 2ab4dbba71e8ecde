import { expect, test } from 'vitest'
import { checkDefinition } from '../../../src/agents/definitions/check-definition'
import type { Model } from '../../../src/agents/models/model-port'
import { isGranted } from '../../../src/mcp-servers/gateway/decide'

const aModel = (prices: Model['prices']): Model => ({
  id: 'anthropic/big',
  provider: 'anthropic',
  isOffline: false,
  prices,
  contextTokens: 200_000,
  outputTokensMax: 64_000,
  call: () => Promise.reject(new Error('not called')),
})
const priced = aModel({ input: 3_000_000, cached: 300_000, output: 15_000_000 })

async function listFields(config: string, model = priced): Promise<string[]> {
  const check = await checkDefinition(
    { 'config.yaml': `name: scout\n${config}`, 'system-prompt.md': 'You are {{name}}.' },
    {
      listModels: () => [model],
      listServers: () => ['hub'],
      hookNames: [],
      isGranted,
      isTooWide: () => false,
      hasTool: () => true,
    },
  )
  if (!check.ok) throw new Error(JSON.stringify(check.problems))
  return check.facts.adminFields.map(({ field, value }) => `${field} ${value}`)
}

test('what reaches beyond an agent is for admins: its program, where keys go, and models that no budget counts', async () => {
  expect(await listFields('brain: { provider: anthropic, model: big }')).toEqual([])
  const unpriced = aModel(null)
  expect(await listFields('brain: { provider: anthropic, model: big }', unpriced)).toEqual([
    'brain.model ["anthropic/big"]',
  ])
  // the hub's own choice of a model is an admin's
  expect(await listFields('brain: { temperature: 1 }', unpriced)).toEqual([])
  const key = (provider: string) =>
    listFields(`brain: { provider: ${provider}, model: big, api_key_env: TEAM_API_KEY }`)
  expect(await key('openai')).not.toEqual(await key('anthropic'))
  const program = await listFields(
    'type: claude-code\ncapabilities: { builtin: shell }\nruns_on: [lab]\nworkspace: { repository: "github:acme/tools" }\nbrain: { provider: anthropic, model: big }',
  )
  expect(program.map((each) => each.split(' ')[0])).toEqual([
    'type',
    'capabilities.builtin',
    'runs_on',
    'workspace',
  ])
})
