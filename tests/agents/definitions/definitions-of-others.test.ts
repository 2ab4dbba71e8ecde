import { expect, test } from 'vitest'
import { checkDefinition } from '../../../src/agents/definitions/check-definition'
import type { Model } from '../../../src/agents/models/model-port'
import { isGranted } from '../../../src/mcp-servers/gateway/decide'
import { listKnownTools } from '../../../src/mcp-servers/gateway/known-tools'
import { servers } from '../../../src/mcp-servers/servers'

const { isTooWide, hasToolForPattern: hasTool } = listKnownTools(servers)
const model: Model = {
  id: 'anthropic/claude-next-9',
  provider: 'anthropic',
  isOffline: false,
  contextTokens: 200_000,
  outputTokensMax: 64_000,
  prices: null,
  call: () => Promise.reject(new Error('not called')),
}

test('D2: a definition of another hub loads, and what cannot work here says what to do instead', async () => {
  const config = [
    'name: scout',
    'brain: { model: claude-next-9, temperature: 0.7 }',
    'capabilities:',
    '  grants: ["hub:read", "discord:send", "shell:run"]',
    '  mcp_servers: [{ name: near, command: npx, args: ["-y", "x"] }]',
    'memory:',
    '  enabled: true',
    '  retrieval: { strategy: embedding_search, max_context_items: 10, relevance_threshold: 0.7 }',
  ].join('\n')
  const files = { 'config.yaml': config, 'system-prompt.md': 'You answer questions.' }
  const check = await checkDefinition(files, {
    listModels: () => [model],
    listServers: () => ['hub'],
    hookNames: [],
    isGranted,
    isTooWide,
    hasTool,
  })
  if (!check.ok) throw new Error(JSON.stringify(check.problems))
  const { warnings } = check.facts
  expect(warnings.map(({ path, message }) => `${path} ${message}`)).toEqual([
    expect.stringMatching(/^config\.yaml:8:memory\.retrieval .*Use recent or keyword/),
    expect.stringMatching(/^config\.yaml:5:capabilities\.mcp_servers\.0\.command Ignored: .*url/),
    expect.stringMatching(/^config\.yaml:4:capabilities\.grants\.1 No effect: .* \/tools .*admin/),
    expect.stringMatching(/^config\.yaml:4:capabilities\.grants\.2 No effect: .*no shell/),
    expect.stringMatching(
      /^config\.yaml:4:capabilities\.grants\.0 No effect: .*mcp_servers does not list hub/,
    ),
  ])
})
