import { expect, test } from 'vitest'
import { checkDefinition } from '../../../src/agents/definitions/check-definition'
import { createModelRegistry } from '../../../src/agents/models/registry'
import { templates } from '../../../src/agents/templates/templates'
import { isGranted } from '../../../src/mcp-servers/gateway/decide'
import { listKnownTools } from '../../../src/mcp-servers/gateway/list-known-tools'
import { servers } from '../../../src/mcp-servers/servers'
import { readSettings } from '../../../src/shared/settings'

const catalog = listKnownTools(servers)
const models = createModelRegistry(readSettings({ ROOKERY_ADMIN_KEY: 'test_admin_key_0123456789' }))

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
  ])
  for (const { name, files } of templates) {
    const check = await checkDefinition(files, {
      listModels: models.list,
      listServers: () => [...new Set(servers.map((server) => server.name))],
      hookNames: [],
      isGranted,
      isTooWide: catalog.isTooWide,
      hasTool: catalog.hasToolForPattern,
    })
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
