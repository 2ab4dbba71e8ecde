import { expect, test } from 'vitest'
import reference from '../../docs/reference.md?raw'
import { errorCodes, outcomes } from '../../src/errors'
import { servers } from '../../src/mcp-servers/servers'
import { settingsSchema } from '../../src/settings'

const tools = servers.flatMap(({ name, tools }) => tools.map((tool) => `${name}_${tool.name}`))

test.each([
  ['setting', Object.keys(settingsSchema.shape)],
  ['error code', Object.keys(errorCodes)],
  ['outcome', [...outcomes]],
  ['tool', tools],
])('every %s stands in docs/reference.md', (_kind, names) => {
  expect(names.length).toBeGreaterThan(0)
  expect(names.filter((name) => !reference.includes(`\`${name}\``))).toEqual([])
})

test('every setting of an operator is explained in docs/reference.md', () => {
  const unexplained = Object.keys(settingsSchema.shape).filter((name) =>
    new RegExp(`^\\| \`${name}\` \\|[^|]*\\|\\s*\\|$`, 'm').test(reference),
  )
  expect(unexplained).toEqual([])
})
