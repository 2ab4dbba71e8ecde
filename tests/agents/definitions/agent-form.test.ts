import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import type { AgentForm } from '../../../src/agents/contract/definitions'
import { agentForms } from '../../../src/agents/definitions/agent-form'
import { templates } from '../../../src/agents/definitions/templates'
import { sampleSize } from '../../support/sample'

const toFiles = (config: string) => ({ 'config.yaml': config, 'system-prompt.md': 'You are it.' })
const read = (config: string): AgentForm => {
  const form = agentForms.read(toFiles(config))
  if (!form) throw new Error(`no form for ${config}`)
  return form
}
const write = (config: string, form: AgentForm) =>
  agentForms.write(toFiles(config), form)['config.yaml'] ?? ''
const change = (config: string, changed: Partial<AgentForm>) =>
  write(config, { ...read(config), ...changed })

type Field = Exclude<keyof AgentForm, 'scheduleCount'>
/** A line of a generated config, and the fields of the form whose change may change it. */
type Line = [text: string, ...fields: Field[]]

/** Ways to write each part: in lines or in braces, with comments, and with fields that the form does not know. */
const parts: Record<string, Line[][]> = {
  brain: [
    [],
    [['brain:', 'model', 'costPerDayMicrousd']],
    [
      ['# What it thinks with.'],
      ['brain: # the brain'],
      ['  provider: anthropic  # a key is needed', 'model'],
      ['  temperature:   0.30'],
      ['  # Ask before you raise it.'],
      ['  max_cost_per_day: 0.50   # US dollars', 'costPerDayMicrousd'],
      ["  model: 'claude-sonnet-4-5'", 'model'],
      ['  x_note: |'],
      ['    kept as'],
      ['      it is'],
    ],
    [['brain: {max_cost_per_day: 1,   provider: auto } # short', 'costPerDayMicrousd', 'model']],
  ],
  capabilities: [
    [],
    [
      ['capabilities:'],
      ['    # four columns'],
      ['    grants:', 'grants'],
      ['        # reads', 'grants'],
      ['        - hub:read # all of it', 'grants'],
      ['        - "github:read"', 'grants'],
      ['    mcp_servers: [hub, github]', 'grants'],
      ['    tools: {deny: [hub_vote]}'],
    ],
    [
      ['capabilities:'],
      ['  grants: [ "hub:read" , hub:write ]   # both', 'grants'],
      ['  x_limits: [ 1,2,  3 ]'],
    ],
    [
      ['capabilities:'],
      ['  grants: [', 'grants'],
      ['    hub:read, # reads', 'grants'],
      ['    memory:read', 'grants'],
      ['  ]', 'grants'],
    ],
    [['capabilities:'], ['  grants: []', 'grants']],
  ],
  behavior: [
    [],
    [['behavior:', 'answers', 'exploration', 'schedule']],
    [
      ['behavior:'],
      ['  max_iterations: 8'],
      ['  notifications: { respond_to_dms: false , x_sms: true}', 'answers'],
      ['  schedule:', 'schedule'],
      ['  # The daily one.', 'schedule'],
      ['  - cron: "0 9 * * 1-5" # early', 'schedule'],
      ['    task: >', 'schedule'],
      ['      Write the', 'schedule'],
      ['      standup.', 'schedule'],
      ['    paused: true', 'schedule'],
      ['  limits: {max_daily_posts: 1}'],
    ],
    [
      ['behavior:'],
      ['  respond_to_replies: false   # not yet', 'answers'],
      ['  respond_to_mentions: false', 'answers'],
      ['  discovery:', 'exploration'],
      ['    # Off for now.'],
      ['    enabled: false', 'exploration'],
      ['    frequency: daily # at most', 'exploration'],
      ['    min_interval_minutes: 60'],
    ],
  ],
  x_unknown: [
    [],
    [['x_unknown:   [a,  b] # theirs'], ['']],
    [['x_unknown: &all { a: 1 }'], ['x_more: 2']],
  ],
}

const config = fc
  .record({
    order: fc.shuffledSubarray(Object.keys(parts), { minLength: 4, maxLength: 4 }),
    choices: fc.array(fc.nat(4), { minLength: 4, maxLength: 4 }),
    isCrlf: fc.boolean(),
    hasEnd: fc.boolean(),
  })
  .map(({ order, choices, isCrlf, hasEnd }) => {
    const lines: Line[] = [
      ['# An agent.'],
      ['name: scout # the @name', 'name'],
      ['description: "Finds it"', 'description'],
      ['version: "1"'],
      ...order.flatMap((part, index) => {
        const ways = parts[part] ?? []
        return ways[(choices[index] ?? 0) % ways.length] ?? []
      }),
      ['x_last: 1'],
    ]
    const text = lines.map(([line]) => line).join('\n') + (hasEnd ? '\n' : '')
    return { lines, text: isCrlf ? text.replaceAll('\n', '\r\n') : text }
  })

const texts = fc.constantFrom(
  'a: b',
  'Do it, # now',
  '- x',
  "it's",
  '"quoted"',
  'a\nb',
  '{{name}}',
  'no',
  '{ a }',
  '1.0',
)
const changes = fc.oneof(
  texts.map((description) => ({ description })),
  texts.map((displayName) => ({ displayName })),
  fc
    .constantFrom('', 'openai', 'openai/gpt-5', 'workers-ai/@cf/meta/llama')
    .map((model) => ({ model })),
  fc.constantFrom(null, 0, 50_000, 2_000_000).map((costPerDayMicrousd) => ({ costPerDayMicrousd })),
  fc
    .subarray(['hub:read', 'hub:write', 'github:read', 'memory:read', 'aws:s3:read:a'])
    .map((grants) => ({ grants })),
  fc
    .constantFrom<AgentForm['exploration']>(null, 'staleness', 'hourly', 'daily')
    .map((exploration) => ({ exploration })),
  fc
    .option(
      fc.record({
        cron: fc.constantFrom('0 9 * * 1-5', '@daily', '*/5 * * * *'),
        timezone: fc.constantFrom('UTC', 'Europe/Berlin'),
        task: texts,
      }),
    )
    .map((schedule) => ({ schedule })),
  fc
    .record({
      mentions: fc.boolean(),
      replies: fc.boolean(),
      dms: fc.boolean(),
      followUps: fc.boolean(),
    })
    .map((answers) => ({ answers })),
)

test('D1: a form that is saved as it was shown changes no byte', () => {
  fc.assert(
    fc.property(config, ({ text }) => {
      expect(write(text, read(text))).toBe(text)
    }),
  )
  for (const { files } of templates) {
    const form = agentForms.read(files)
    expect(form && agentForms.write(files, form)).toEqual(files)
  }
})

test('D1: a change by the form changes only the lines of its field, and is what the form reads then', () => {
  fc.assert(
    fc.property(config, changes, ({ lines, text }, changed) => {
      const field = Object.keys(changed)[0] as Field
      const before = read(text)
      const written = change(text, changed)
      // Line by line: what is not of the field stands there as before, in the same order.
      const left = written.replaceAll('\r\n', '\n').split('\n')
      for (const [line, ...fields] of lines) {
        if (fields.includes(field)) continue
        const at = left.indexOf(line)
        expect(at, `${line}\nis gone from\n${written}`).toBeGreaterThanOrEqual(0)
        left.splice(0, at + 1)
      }
      if (text.includes('\r\n')) expect(written.replaceAll('\r\n', '')).not.toContain('\n')
      const wanted = { ...before, ...changed }
      const order = (grants: string[]) => grants.toSorted()
      const after = read(written)
      expect({ ...after, grants: order(after.grants), scheduleCount: 0 }).toEqual({
        ...wanted,
        grants: order(wanted.grants),
        scheduleCount: 0,
      })
      // Saved again without a change, it stays.
      expect(write(written, after)).toBe(written)
    }),
    { numRuns: sampleSize(80, 400) },
  )
})

test('D1: a grant is added and removed where the others stand, with its server where a list would exclude it', () => {
  const config = `name: scout
capabilities:
  grants:
    - hub:read # all
    # notes
    - memory:read
  mcp_servers: [hub, memory]
`
  expect(change(config, { grants: ['memory:read', 'acme:read'] })).toBe(`name: scout
capabilities:
  grants:
    # notes
    - memory:read
    - acme:read
  mcp_servers: [hub, memory, acme]
`)
  expect(parse(change(config, { grants: [] })).capabilities.grants).toEqual([])
})

test('D1: a model is written as provider and model, and no model at all is whichever the hub has', () => {
  const config = 'name: scout\nbrain: # it\n  temperature: 0.3 # calm\n'
  const chosen = change(config, { model: 'workers-ai/@cf/meta/llama' })
  expect(chosen).toBe(
    'name: scout\nbrain: # it\n  temperature: 0.3 # calm\n  provider: workers-ai\n  model: "@cf/meta/llama"\n',
  )
  expect(change(chosen, { model: '' })).toBe(config)
  expect(read('name: a1\nbrain: { provider: auto }\n').model).toBe('')
  expect(read('name: a1\nbrain: { model: openai/gpt-5 }\n').model).toBe('openai/gpt-5')
  for (const alone of [
    'name: p\nbrain:\n  provider: openai\n',
    'name: p\nbrain: {provider: openai}\n',
  ]) {
    expect(read(change(alone, { model: '' })).model).toBe('')
    expect(change(alone, { model: '' })).not.toContain('openai')
  }
})

test('D1: the form makes a coding agent and back, and a workspace goes with its repository', () => {
  const config = 'name: a1\ncapabilities:\n  grants: [hub:read] # reads\n'
  const coding = { program: 'codex', repository: 'github:octo/parser', ref: 'main' }
  expect(read(config)).toMatchObject({ program: 'native', repository: '', ref: '' })
  const made = change(config, coding)
  expect(parse(made)).toMatchObject({
    type: 'codex',
    workspace: { repository: 'github:octo/parser', ref: 'main' },
  })
  expect(made.startsWith(config)).toBe(true)
  expect(read(made)).toMatchObject(coding)
  const written = `${config}type: goose # or codex\nworkspace:\n  repository: github:octo/a # ours\n  push: ["x/*"]\n`
  expect(change(written, { repository: 'github:octo/b' })).toBe(written.replace('octo/a', 'octo/b'))
  const none = { program: 'native', repository: '', ref: '' }
  for (const text of [made, written]) expect(parse(change(text, none))).toEqual(parse(config))
})

test.each([
  ['an alias', 'base: &b { provider: openai, model: gpt-5 } # shared\nbrain: *b\n'],
  ['a merged key', '# first\nbrain: &b\n  provider: openai # it\n\nother: *b\n'],
  ['a list of maps', 'brain:\n  # one\n  - no field\n'],
  ['lines of text', 'description: |\n  one\n  two\nbrain: *none\n'.replace('*none', 'text')],
])('D1: a text with %s that is written again keeps its line ends', (_, text) => {
  for (const eol of ['\n', '\r\n']) {
    const config = `name: a1 # it\n${text}`.replaceAll('\n', eol)
    const written = change(config, { model: 'anthropic/claude-haiku-4-5' })
    expect(read(written).model).toBe('anthropic/claude-haiku-4-5')
    expect(written.replaceAll(eol, '')).not.toMatch(/[\r\n]/)
  }
})

test('D1: of several schedules none is changed, and one is added', () => {
  const config = `name: scout
behavior:
  schedule:
    - { cron: "@daily", task: Count } # one
    - { cron: "@hourly", task: Weigh } # two
`
  expect(read(config)).toMatchObject({ schedule: null, scheduleCount: 2 })
  expect(write(config, read(config))).toBe(config)
  const schedule = { cron: '0 9 * * *', timezone: 'UTC', task: 'Sum up' }
  const added = change(config, { schedule })
  expect(added.startsWith(config)).toBe(true)
  expect(parse(added).behavior.schedule[2]).toEqual(schedule)
})

test('D1: entries behind an alias are changed alone, and a text without fields has no form', () => {
  const config = 'name: scout\nx-brain: &b { max_cost_per_day: 1 } # kept\nbrain: *b\n'
  const written = change(config, { costPerDayMicrousd: 2_000_000 })
  expect(parse(written)).toMatchObject({
    'x-brain': { max_cost_per_day: 1 },
    brain: { max_cost_per_day: 2 },
  })
  expect(written).toContain('# kept')
  for (const text of ['', '- a\n', 'a: [', '"x"']) expect(agentForms.read(toFiles(text))).toBeNull()
})
