import { expect, test } from 'vitest'
import codingAgents from '../../../docs/coding-agents.md?raw'
import { checkDefinition } from '../../../src/agents/definitions/check-definition'
import { templates } from '../../../src/agents/definitions/templates'
import { createModelRegistry } from '../../../src/agents/models/registry'
import { isGranted } from '../../../src/mcp-servers/gateway/decide'
import { listKnownTools } from '../../../src/mcp-servers/gateway/known-tools'
import { namedServers } from '../../../src/mcp-servers/servers'
import { readSettings } from '../../../src/shared/settings'

const catalog = listKnownTools(namedServers)
const settings = { ROOKERY_ADMIN_KEY: 'test_admin_key_0123456789' }
const models = createModelRegistry(readSettings(settings))
const offer = {
  listModels: models.list,
  listServers: () => [...new Set(namedServers.map((server) => server.name))],
  hookNames: [],
  isGranted,
  isTooWide: catalog.isTooWide,
  hasTool: catalog.hasToolForPattern,
}

test('D1: every template loads without a problem or a warning, and its grants match tools', async () => {
  expect(templates.map(({ title }) => title)).toEqual([
    'My agent',
    'Researcher',
    'Archivist',
    'Meeting minutes',
    'Standup',
    'On-call triage',
    'Moderator’s helper',
    'Release notes',
    'Translator',
    'Coding agent',
  ])
  for (const { name, files } of templates) {
    const check = await checkDefinition(files, offer)
    expect(check, name).toMatchObject({ ok: true, facts: { name, warnings: [] } })
    if (!check.ok) continue
    const policy = { requested: null, allowed: check.facts.grants, denied: [], isOwnCall: true }
    expect(check.facts.grants.length, name).toBeGreaterThan(0)
    for (const grant of check.facts.grants) {
      const isKnown = catalog.servers.some(({ tools }) =>
        tools.some((tool) => isGranted({ ...policy, allowed: [grant] }, tool.grant)),
      )
      expect(isKnown, `${name}: ${grant}`).toBe(true)
    }
  }
})

test('D1 X11: the example in docs/coding-agents.md loads without a problem or a warning', async () => {
  const config = /```yaml\n([\s\S]*?)```/.exec(codingAgents)?.[1] ?? ''
  expect(config).toMatch(/^type: \w.*^workspace:\n {2}repository: \w/ms)
  const files = { 'config.yaml': config, 'system-prompt.md': 'You change code.' }
  const { list } = createModelRegistry(readSettings({ ...settings, ANTHROPIC_API_KEY: 'sk-ant-1' }))
  const check = await checkDefinition(files, { ...offer, listModels: list })
  expect(check).toMatchObject({ ok: true, facts: { name: 'coder', warnings: [] } })
})
