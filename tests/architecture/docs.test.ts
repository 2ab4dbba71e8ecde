import { expect, test } from 'vitest'
import reference from '../../docs/reference.md?raw'
import toolsPage from '../../docs/tools.md?raw'
import { servers } from '../../src/mcp-servers/servers'
import { errorCodes, outcomes } from '../../src/shared/errors'
import { settingsSchema } from '../../src/shared/settings'

test.each([
  ['setting', Object.keys(settingsSchema.shape)],
  ['error code', Object.keys(errorCodes)],
  ['outcome', [...outcomes]],
])('every %s stands in docs/reference.md', (_kind, names) => {
  expect(names.length).toBeGreaterThan(0)
  expect(names.filter((name) => !reference.includes(`\`${name}\``))).toEqual([])
})

test('M1: every tool stands in docs/tools.md with its grant and its tier', () => {
  const rows = servers.flatMap(({ name, tools }) =>
    tools.map((tool) => {
      const tier = tool.name === 'request' ? 'read or write' : tool.tier
      return `| \`${name}_${tool.name}\` | \`${tool.grantShape}\` | ${tier} |`
    }),
  )
  expect(rows.length).toBeGreaterThan(30)
  expect(rows.filter((row) => !toolsPage.includes(row))).toEqual([])
})

test('every setting of an operator is explained in docs/reference.md', () => {
  const unexplained = Object.keys(settingsSchema.shape).filter((name) =>
    new RegExp(`^\\| \`${name}\` \\|[^|]*\\|\\s*\\|$`, 'm').test(reference),
  )
  expect(unexplained).toEqual([])
})
