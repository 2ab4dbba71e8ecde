import { expect, test } from 'vitest'
import { checkDefinition } from '../../../src/agents/definitions/check-definition'
import type { Model } from '../../../src/agents/models/model-port'
import { isGranted } from '../../../src/mcp-servers/gateway/decide'
import { listKnownTools } from '../../../src/mcp-servers/gateway/known-tools'
import { servers } from '../../../src/mcp-servers/servers'
import { definitionOf, problemsOf, warningsOf } from './read-files'

const { isTooWide, hasToolForPattern: hasTool } = listKnownTools(servers)
const offer = { listServers: () => ['hub'], hookNames: [], isGranted, isTooWide, hasTool }

const aModel = (over: Partial<Model> = {}): Model => ({
  id: 'anthropic/big',
  provider: 'anthropic',
  isOffline: false,
  contextTokens: 200_000,
  outputTokensMax: 64_000,
  prices: { input: 3_000_000, cached: 300_000, output: 15_000_000 },
  call: () => Promise.reject(new Error('not called')),
  ...over,
})

test('D1 X11: a coding agent names its runner, its own tools and its repository', () => {
  const config = [
    'name: a1',
    'type: codex',
    'runs_on: [linux, gpu]',
    'workspace: { repository: "github:octo/parser", ref: main }',
    'capabilities: { builtin: files }',
  ].join('\n')
  expect(warningsOf(config)).toEqual([])
  const { coding, limits } = definitionOf(config)
  expect(coding).toEqual({
    builtin: 'files',
    runsOn: ['linux', 'gpu'],
    workspace: { repository: 'github/octo/parser', ref: 'main', push: ['rookery/*'] },
  })
  expect(limits).toMatchObject({ iterations: 100, tokens: 2_000_000, durationSeconds: 1_800 })
  expect(definitionOf('name: a1').coding).toEqual({
    builtin: 'none',
    runsOn: [],
    workspace: null,
  })
  for (const repository of [
    'octo/parser',
    'github:octo',
    'github:../x',
    'github:a/b/c',
    'a:b/.git',
  ]) {
    const given = config.replace('github:octo/parser', repository)
    expect(problemsOf(given)).toEqual([
      expect.stringContaining('config.yaml:4:workspace.repository Must be service:owner/name'),
    ])
  }
  const pushed = config.replace('ref: main', 'push: ["../*"]')
  expect(problemsOf(pushed)).toEqual([expect.stringContaining('workspace.push.0 Must be a branch')])
})

const codingFiles = (config: string) => ({
  'config.yaml': `name: fixer\n${config}\n`,
  'system-prompt.md': 'You fix bugs.',
})

test('X5: a coding agent whose provider speaks none of its protocols is refused with what would work', async () => {
  const openai = aModel({ id: 'openai/one', provider: 'openai' })
  const listModels = () => [openai, aModel()]
  const config = [
    'type: claude-code',
    'brain:',
    '  provider: openai',
    '  model: one',
    '  alternatives: [anthropic/big]',
  ].join('\n')
  const check = await checkDefinition(codingFiles(config), { listModels, ...offer })
  expect(check).toEqual({
    ok: false,
    problems: [
      {
        path: 'config.yaml:4:brain.provider',
        message:
          'claude-code cannot use openai/one: it needs a model of anthropic. Choose one, or set type to codex or opencode or goose or aider',
      },
    ],
  })
  const fits = config.replace('claude-code', 'goose')
  expect(await checkDefinition(codingFiles(fits), { listModels, ...offer })).toMatchObject({
    ok: true,
    // a coding agent pays for its model requests as others do
    facts: { callWant: { microusd: 389_760, tokens: 64_384 }, exploration: null, warnings: [] },
  })
})

test('X5: aider takes no tools, so grants warn', async () => {
  const config =
    'type: aider\nbrain: { model: anthropic/big }\ncapabilities: { grants: [hub:read] }'
  const check = await checkDefinition(codingFiles(config), {
    listModels: () => [aModel()],
    ...offer,
  })
  expect(check.ok && check.facts.warnings).toEqual([
    {
      path: 'config.yaml:4:capabilities.grants',
      message: expect.stringContaining('aider takes no tools'),
    },
  ])
})
