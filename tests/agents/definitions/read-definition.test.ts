import { describe, expect, test } from 'vitest'
import committedSchema from '../../../src/agents/definitions/config.schema.json'
import { createConfigJsonSchema } from '../../../src/agents/definitions/config-schema'
import { readDefinition } from '../../../src/agents/definitions/read-definition'
import { definitionOf, problemsOf, warningsOf } from './read-files'

test('D1: the JSON Schema for editors is the one of the code', () => {
  expect(committedSchema).toEqual(createConfigJsonSchema())
})

describe('broken files', () => {
  test('D3: a wrong type names file, line and field', () => {
    const config =
      'name: scout\n\nbrain:\n  # how hot\n  temperature: warm\nbehavior:\n  max_iterations: 0.5\n'
    expect(problemsOf(config)).toEqual([
      expect.stringMatching(/^config\.yaml:5:brain\.temperature .*expected number/),
      expect.stringMatching(/^config\.yaml:7:behavior\.max_iterations .*expected int/),
    ])
  })

  test.each([
    ['description: x', /^config\.yaml:1:name Required/],
    ['name: Scout!', /^config\.yaml:1:name 2 to 32 characters/],
    ['name: 7', /^config\.yaml:1:name .*expected string/],
    ['name: a1\ntype: robot', /^config\.yaml:2:type .*native/],
    [
      'name: a1\ncapabilities:\n  grants:\n    - hub:read\n    - 3',
      /^config\.yaml:5:capabilities\.grants\.1 /,
    ],
    ['name: a1\ncapabilities:\n  grants: hub:read', /^config\.yaml:3:capabilities\.grants .*array/],
    [
      'name: a1\ncapabilities: { mcp_servers: [{ url: "https://x" }] }',
      /^config\.yaml:2:capabilities\.mcp_servers\.0 Must be the name of a server/,
    ],
    ['name: a1\nbrain: { api_base: "file:///etc" }', /^config\.yaml:2:brain\.api_base /],
    ['name: a1\nname: a2', /^config\.yaml:2:yaml .*unique/],
    ['name: [a1\nbrain: {', /^config\.yaml:\d:yaml /],
    ['just a text', /^config\.yaml:1: Expected fields/],
    ['- a\n- list', /^config\.yaml:1: Expected fields/],
    ['[]', /^config\.yaml:1: /],
    [
      'a: &a [x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nname: [*c, *c, *c]',
      /^config\.yaml:1:yaml /,
    ],
  ])('D3: %j is a problem with a location', (config, expected) => {
    expect(problemsOf(config)[0]).toMatch(expected)
  })

  test.each([
    ['[ x 5,000', '['.repeat(5_000)],
    ['[ and ] x 4,000', `${'['.repeat(4_000)}${']'.repeat(4_000)}`],
    ['maps x 1,500', '{a: '.repeat(1_500)],
    ['keys x 4,000', '? '.repeat(4_000)],
    ['items x 4,000', '- '.repeat(4_000)],
    ['[ and ] x 60', `${'['.repeat(60)}${']'.repeat(60)}`],
    ['items x 60', `${'- '.repeat(60)}x`],
  ])('D3: too deep nesting is one problem with a location: %s', (_, config) => {
    expect(problemsOf(`name: a1\nx:\n ${config}`)).toEqual([
      'config.yaml:3:yaml Nested more than 50 deep',
    ])
  })

  test('D3: moderate nesting is accepted', () => {
    expect(warningsOf(`name: a1\nx: ${'['.repeat(40)}${']'.repeat(40)}`)).toEqual([
      'config.yaml:2:x Ignored: unknown field',
    ])
  })

  test.each([
    ['keys', Array.from({ length: 9_000 }, (_, index) => `k${index}:`).join('\n')],
    ['items', `x: [${'1,'.repeat(60_000)}]`],
    ['empty items', `x:\n${'-\n'.repeat(9_000)}`],
    ['empty keys', `x:\n${':\n'.repeat(9_000)}`],
    ['levels', `x:\n ${'['.repeat(100_000)}`],
    ['comments', '#\n'.repeat(9_000)],
  ])('D3: too many %s are one problem, found quickly', (_, config) => {
    expect(problemsOf(`name: a1\n${config}`)).toEqual([
      expect.stringMatching(/^config\.yaml:\d+:yaml Too long: .* at most 10000 words and marks$/),
    ])
  })

  test('D3: a name that cannot be mentioned is a problem', () => {
    expect(problemsOf('name: a--b')[0]).toMatch(/^config\.yaml:1:name 2 to 32 characters/)
    expect(definitionOf('name: a-b-c').name).toBe('a-b-c')
  })

  test('D3: a missing or empty file is named', () => {
    const found = readDefinition({ 'config.yaml': 'name: a1', 'system-prompt.md': ' \n' })
    expect(found).toMatchObject({ ok: false, problems: [{ path: 'system-prompt.md:1:' }] })
    expect(readDefinition({})).toMatchObject({
      ok: false,
      problems: [{ path: 'config.yaml:1:' }, { path: 'system-prompt.md:1:' }],
    })
  })

  test('D3: problems of several files are reported together', () => {
    const problems = problemsOf('nam: x', 'Hi', { 'skills/post/SKILL.md': 'no front matter' })
    expect(problems).toEqual([
      expect.stringMatching(/^config\.yaml:1:name Required/),
      expect.stringMatching(/^skills\/post\/SKILL\.md:1:front matter /),
    ])
  })
})

describe('compatibility', () => {
  test('D2: unknown fields warn with their line and change nothing', () => {
    const config = 'name: a1\nmood: sunny\nbrain:\n  model: claude-x\n  thinking: { budget: 1 }\n'
    expect(warningsOf(config)).toEqual([
      'config.yaml:2:mood Ignored: unknown field',
      'config.yaml:5:brain.thinking Ignored: unknown field',
    ])
    expect(definitionOf(config).brain).toEqual({ model: 'claude-x' })
  })

  test('D2: an unknown field of an entry in a list warns too, and the entry keeps its meaning', () => {
    const config = [
      'name: a1',
      'behavior:',
      '  schedule:',
      '    - { cron: "0 9 * * *", task: standup }',
      '    - cron: "0 10 * * *"',
      '      task: lunch',
      '      label: noon',
    ].join('\n')
    expect(warningsOf(config)).toEqual([
      'config.yaml:7:behavior.schedule.1.label Ignored: unknown field',
    ])
  })

  test('D2: fields that need a local machine warn with an alternative', () => {
    const config = [
      'name: a1',
      'runs_on: gpu',
      'shell: { allowed: true }',
      'capabilities:',
      '  filesystem: [/tmp]',
      '  grants: [hub:read, shell:exec, not a grant]',
      '  mcp_servers:',
      '    - hub',
      '    - name: files',
      '      command: npx',
      '      args: [-y, some-server]',
      'brain: { api_key_env: ROOKERY_ADMIN_KEY }',
    ].join('\n')
    expect(warningsOf(config)).toEqual([
      expect.stringMatching(/^config\.yaml:2:runs_on No effect: only coding agents .*claude-code/),
      expect.stringMatching(/^config\.yaml:3:shell Ignored: .*no shell .*Use grants/),
      expect.stringMatching(/^config\.yaml:5:capabilities\.filesystem Ignored: .*no disk/),
      expect.stringMatching(/^config\.yaml:6:capabilities\.grants\.2 Ignored: not a grant/),
      expect.stringMatching(/^config\.yaml:12:brain\.api_key_env Ignored: /),
    ])
    expect(definitionOf(config).grants).toEqual(['hub:read', 'shell:exec'])
    expect(definitionOf(config).brain).toEqual({})
  })

  test('D2: a field without a value counts as missing', () => {
    const config = 'name: a1\ndescription:\nbrain:\n  model:\ncapabilities:\n  skills:\n'
    expect(warningsOf(config)).toEqual([])
    expect(definitionOf(config).description).toBe('')
  })

  test('D2: unsupported fields warn, and supported ones do not', () => {
    const config = [
      'name: a1',
      'behavior:',
      '  respond_to_dms: true',
      '  notifications: { respond_to_dms: true }',
      '  schedule:',
      '    - { cron: "0 9 * * *", task: standup }',
      '  discovery: { enabled: true }',
      'memory: { enabled: true }',
      'interests: { topics: [rust] }',
      'observability: { post_errors: false, post_summaries: true, post_learnings: true }',
    ].join('\n')
    const unsupported = 'No effect: this version does not support the field yet'
    expect(warningsOf(config)).toEqual([
      `config.yaml:10:observability.post_errors ${unsupported}`,
      `config.yaml:10:observability.post_summaries ${unsupported}`,
      `config.yaml:10:observability.post_learnings ${unsupported}`,
    ])
    const usual = 'name: a1\nobservability: { post_errors: true, post_summaries: false }'
    expect(warningsOf(usual)).toEqual([])
  })

  test('D3: a context too small for any answer is an error that names its line', () => {
    expect(problemsOf('name: a1\nbrain:\n  max_context_tokens: 10\n')).toEqual([
      expect.stringMatching(/^config\.yaml:3:brain\.max_context_tokens .*4000/),
    ])
    expect(definitionOf('name: a1\nbrain: { max_context_tokens: 4000 }').brain).toEqual({
      contextTokens: 4000,
    })
  })
})

describe('templates', () => {
  const config =
    'name: a1\ndescription: "Says {{name}}"\ninterests: { communities: [m/rust, m/go] }'

  test('D4: fields are filled in, once', () => {
    const prompt =
      '{{name}} {{ description }} {{communities}} {{interests.communities}} {{display_name}}'
    expect(definitionOf(config, prompt).systemPrompt).toBe(
      'a1 Says {{name}} m/rust, m/go m/rust, m/go a1',
    )
    expect(definitionOf('name: a1', '[{{description}}{{topics}}]').systemPrompt).toBe('[]')
  })

  test('D4: an unknown template is an error that names its line', () => {
    expect(problemsOf(config, 'Hi\n\n{{ nam }} {{constructor}} {{}}')).toEqual([
      expect.stringMatching(
        /^system-prompt\.md:3:\{\{ nam \}\} Unknown template. Use one of name, /,
      ),
      expect.stringMatching(/^system-prompt\.md:3:\{\{constructor\}\} Unknown/),
      expect.stringMatching(/^system-prompt\.md:3:\{\{\}\} Unknown/),
    ])
  })
})

describe('skills', () => {
  const skill = [
    '---',
    'name: hub-post',
    'description: How to write a post',
    'requires_grants: [hub:write]',
    'triggers: { keywords: [post] }',
    '---',
    '',
    '# Posting',
    '---',
    'Short.',
  ].join('\n')

  test('D5: front matter and body are read', () => {
    const files = { 'skills/hub-post/SKILL.md': skill.replaceAll('\n', '\r\n') }
    expect(definitionOf('name: a1', 'Hi', files).skills).toEqual([
      {
        name: 'hub-post',
        description: 'How to write a post',
        requiresGrants: ['hub:write'],
        triggers: { keywords: ['post'], communities: [] },
        body: '# Posting\n---\nShort.',
      },
    ])
  })

  test('D5: name and description are required, and their line is reported', () => {
    const broken = { 'skills/x/SKILL.md': '---\nname: 3\n---\nbody' }
    expect(problemsOf('name: a1', 'Hi', broken)).toEqual([
      expect.stringMatching(/^skills\/x\/SKILL\.md:2:name /),
      expect.stringMatching(/^skills\/x\/SKILL\.md:2:description /),
    ])
  })

  test('D5: a blank keyword is rejected: it would match every text', () => {
    const blank = skill.replace('[post]', '["  "]')
    expect(problemsOf('name: a1', 'Hi', { 'skills/hub-post/SKILL.md': blank })).toEqual([
      expect.stringMatching(/^skills\/hub-post\/SKILL\.md:5:triggers/),
    ])
  })

  test('D5: an unlisted skill is not used, and warns', () => {
    const files = {
      'skills/hub-post/SKILL.md': skill,
      'skills/other/SKILL.md': skill.replace('hub-post', 'other'),
    }
    const config = 'name: a1\ncapabilities:\n  skills: [other]'
    expect(definitionOf(config, 'Hi', files).skills.map(({ name }) => name)).toEqual(['other'])
    expect(warningsOf(config, 'Hi', files)).toEqual([
      'config.yaml:3:capabilities.skills skills/hub-post is not used: it is not in this list',
    ])
  })

  test('D5: a listed skill without a file warns', () => {
    const config = 'name: a1\ncapabilities:\n  skills: [hub-post, github-pr]'
    expect(warningsOf(config, 'Hi', { 'skills/hub-post/SKILL.md': skill })).toContain(
      'config.yaml:3:capabilities.skills.1 Ignored: skills/github-pr/SKILL.md does not exist',
    )
  })
})
