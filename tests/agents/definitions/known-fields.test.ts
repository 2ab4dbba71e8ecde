import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { createConfigReference } from '../../../src/agents/definitions/config-reference'
import { configSchema, createConfigJsonSchema } from '../../../src/agents/definitions/config-schema'
import { fieldNotes, formatExample } from '../../../src/agents/definitions/field-notes'
import { problemsOf, warningsOf } from './read-files'

/** Lists the fields of the schema by path; `[]` stands for the items of a list. */
function listFields(node: unknown, path = ''): string[] {
  const { properties, items } = node as { properties?: object; items?: { properties?: object } }
  if (properties) {
    return Object.entries(properties).flatMap(([name, each]) =>
      listFields(each, path === '' ? name : `${path}.${name}`),
    )
  }
  return items?.properties ? listFields(items, `${path}[]`) : [path]
}

test('D1: every field has a note with a default and an example, and no note is left of a field', () => {
  expect(Object.keys(fieldNotes).sort()).toEqual(listFields(createConfigJsonSchema()).sort())
})

test('D1: the reference has every field once, with type, default, example and what it does', () => {
  const { parts, examples } = createConfigReference()
  const fields = parts.flatMap(({ name, fields }) =>
    fields.map((field) => ({ ...field, name: name === '' ? field.name : `${name}.${field.name}` })),
  )
  expect(fields.map(({ name }) => name).sort()).toEqual(Object.keys(fieldNotes).sort())
  for (const { name, type, default: usual, example, what } of fields) {
    expect(
      [type, usual, example, what].filter((text) => text === ''),
      name,
    ).toEqual([])
  }
  const find = (name: string) => fields.find((field) => field.name === name)
  expect(find('brain.max_cost_per_day')).toMatchObject({
    type: 'number from 0 to 1000000',
    unit: 'US dollars a day',
    example: '0.50',
  })
  expect(find('behavior.discovery.frequency')?.type).toBe('one of staleness, hourly, daily')
  expect(examples.map(({ config }) => parse(config).name)).toContain('coder')
})

test('D1: every example is valid as it is written', () => {
  for (const path of Object.keys(fieldNotes)) {
    const example = parse(formatExample(path))
    const [entry] = example.behavior?.schedule ?? []
    if (entry) Object.assign(entry, { cron: '@daily', task: 'Count', ...entry })
    if (path.startsWith('trial.')) example.trial.set ??= 'Bad answers'
    if (path.startsWith('workspace.')) example.workspace.repository ??= 'github:octo/parser'
    const parsed = configSchema.safeParse({ name: 'scout', ...example })
    expect(parsed.success, `${path}: ${parsed.error?.message}`).toBe(true)
  }
})

test('D2: what people write is answered with the right field and an example', () => {
  const cost =
    'Use brain.max_cost_per_day, such as brain: { max_cost_per_day: 0.50 } (US dollars a day)'
  const model = 'Use brain.model, such as brain: { model: claude-sonnet-4-5 }'
  const schedule =
    'Use behavior.schedule.cron, such as behavior: { schedule: [{ cron: "0 9 * * 1-5" }] }'
  const wanted: [string, string][] = [
    ['budget: 5 cents', cost],
    ['max_cost: 1', cost],
    ['brain: { max_cost: 1 }', cost],
    ['Daily-Budget: 1', cost],
    ['model: gpt-5', model],
    ['llm: gpt-5', model],
    ['temperature: 0.2', 'Use brain.temperature, such as brain: { temperature: 0.3 }'],
    ['prompt: You are it', 'Write it into the file system-prompt.md'],
    ['behavior: { instructions: Be kind }', 'Write it into the file system-prompt.md'],
    ['schedule: hourly', schedule],
    [
      'tools: [search]',
      'Use capabilities.grants, such as capabilities: { grants: [hub:read, hub:write] }',
    ],
    [
      'grants: [hub:read]',
      'Use capabilities.grants, such as capabilities: { grants: [hub:read, hub:write] }',
    ],
    [
      'respond_to_dms: false',
      'Use behavior.respond_to_dms, such as behavior: { respond_to_dms: false }',
    ],
    [
      'max_turns: 3',
      'Use behavior.max_iterations, such as behavior: { max_iterations: 8 } (model calls)',
    ],
    ['behaviour: {}', 'Did you mean behavior?'],
    [
      'behavior: { schedule: [{ cron: "@daily", task: x, tz: UTC }] }',
      'Use behavior.schedule.timezone, such as behavior: { schedule: [{ timezone: Europe/Berlin }] }',
    ],
  ]
  for (const [line, answer] of wanted) {
    const [warning = ''] = warningsOf(`name: scout\n${line}\n`)
    expect(warning, line).toContain('Ignored: unknown field. ')
    expect(warning.endsWith(answer), `${line}: ${warning}`).toBe(true)
  }
})

test('D3: a value of the wrong type is answered with how the field is written', () => {
  const wanted: [string, string][] = [
    ['behavior: { schedule: hourly }', 'behavior: { schedule: [{ cron: "0 9 * * 1-5" }] }'],
    ['capabilities: { tools: [hub_search] }', 'capabilities: { tools: { allow: [hub_search] } }'],
    ['capabilities: { grants: hub:read }', 'capabilities: { grants: [hub:read, hub:write] }'],
    ['brain: gpt-5', 'brain: { model: claude-sonnet-4-5 }'],
    [
      'brain: { max_cost_per_day: 5 cents }',
      'brain: { max_cost_per_day: 0.50 } (US dollars a day)',
    ],
    ['behavior: { discovery: hourly }', 'behavior: { discovery: { frequency: hourly } }'],
    [
      'behavior: { schedule: [{ cron: 9, task: x }] }',
      'behavior: { schedule: [{ cron: "0 9 * * 1-5" }] }',
    ],
    ['workspace: github:octo/parser', 'workspace: { repository: github:octo/parser }'],
  ]
  for (const [line, answer] of wanted) {
    const [problem = ''] = problemsOf(`name: scout\n${line}\n`)
    expect(problem.endsWith(answer), `${line}: ${problem}`).toBe(true)
  }
})
