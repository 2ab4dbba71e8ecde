import { expect, test } from 'vitest'
import { editSchedules } from '../../../src/agents/definitions/agent-form'
import { readDefinition } from '../../../src/agents/definitions/read-definition'
import { definitionLimits } from '../../../src/shared/config'
import { measureLeastMs } from '../../support/measure-least'
import { definitionOf, problemsOf, warningsOf } from './read-files'

const { filesMax, fileCharsMax, charsMax, linesMax, detailsMax, skillTermsMax } = definitionLimits

/** Returns the files of skills that are valid but for what is put into them. */
const skillsOf = (count: number, put: { head?: string; body?: string } = {}) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `skills/s${index}/SKILL.md`,
      `---\nname: s${index}\ndescription: Does it.\n${put.head ?? ''}---\n${put.body ?? 'Do it.'}`,
    ]),
  )

test('D3: a definition has no other files, and the error names those that it can have', () => {
  const others = { 'README.md': 'x', 'skills/../SKILL.md': 'x', 'skills/a/notes.md': 'x' }
  expect(problemsOf('name: a1', 'Hi', others)).toEqual(
    Object.keys(others).map(
      (path) =>
        `${path}:1: Not a file of a definition. Remove it: a definition has config.yaml, system-prompt.md and skills/<name>/SKILL.md`,
    ),
  )
})

test('T14: the files, characters and lines of a definition are counted together', () => {
  const wholeOf = (more: Record<string, string>) => problemsOf('name: a1', 'Hi', more)
  expect(wholeOf(skillsOf(filesMax - 2))).toEqual([])
  expect(wholeOf(skillsOf(filesMax - 1))).toEqual([
    `files ${filesMax + 1} files: the maximum is ${filesMax}. Shorten the definition`,
  ])
  expect(wholeOf(skillsOf(5, { body: 'x'.repeat(charsMax / 5) }))).toEqual([
    expect.stringMatching(/^files \d+ characters in all files: the maximum is 524288/),
  ])
  expect(wholeOf(skillsOf(60, { body: '\n'.repeat(linesMax / 60) }))).toEqual([
    expect.stringMatching(/^files \d+ lines in all files: the maximum is 10000/),
  ])
  expect(wholeOf(skillsOf(1, { body: 'x'.repeat(fileCharsMax) }))).toEqual([
    `skills/s0/SKILL.md:1: Too large: the maximum is ${fileCharsMax} characters`,
  ])
})

test('T14: the YAML of all skills is counted together', () => {
  const head = `metadata: [${'1,'.repeat(70)}]\n`
  expect(problemsOf('name: a1', 'Hi', skillsOf(10, { head }))).toEqual([])
  expect(problemsOf('name: a1', 'Hi', skillsOf(62, { head }))[0]).toMatch(
    /^skills\/s\d+\/SKILL\.md:\d+:yaml Too long: the YAML of a definition/,
  )
})

test('T14: what skills name is counted together', () => {
  const head = 'triggers: { keywords: [a, b, c, d, e, f, g, h, i, j] }\n'
  expect(problemsOf('name: a1', 'Hi', skillsOf(skillTermsMax / 10, { head }))).toEqual([])
  expect(problemsOf('name: a1', 'Hi', skillsOf(skillTermsMax / 10 + 1, { head }))).toEqual([
    expect.stringMatching(/^skills The skills name 510 grants, keywords and communities: .* 500/),
  ])
})

test('T14: templates do not make a prompt larger than a file can be', () => {
  const grants = Array.from({ length: 100 }, (_, index) => `${'x'.repeat(90)}:${index}`)
  const config = `name: a1\ncapabilities:\n  grants: [${grants.map((grant) => `"${grant}"`)}]`
  expect(definitionOf(config, '{{grants}}').systemPrompt).toHaveLength(9_488)
  expect(problemsOf(config, '{{grants}}'.repeat(5_000))).toEqual([
    `system-prompt.md:1: Too large with its templates filled in: the maximum is ${fileCharsMax} characters`,
  ])
})

test('T14: of many problems or warnings the first are listed, with how many more there are', () => {
  const more = /^files \d+ more are not listed$/
  const wrong = skillsOf(62, { head: 'requires_grants: [1, 2, 3]\n' })
  const problems = problemsOf('name: a1', 'Hi', wrong)
  expect(problems).toHaveLength(detailsMax + 1)
  expect(problems.at(-1)).toMatch(more)
  expect(problemsOf('name: a1', '{{a}}'.repeat(20_000))).toHaveLength(detailsMax)
  const fields = Array.from({ length: 900 }, (_, index) => `${'field'.repeat(10)}${index}: 1`)
  expect(warningsOf(`name: a1\n${fields.join('\n')}`)).toHaveLength(detailsMax)
})

test('T14: schedules that are never due are found in few of them', () => {
  const entries = Array.from(
    { length: 20 },
    (_, index) => `    - { cron: "${index} 0 31 2,4,6,9,11 *", task: x, timezone: Europe/Berlin }`,
  )
  const problems = problemsOf(`name: a1\nbehavior:\n  schedule:\n${entries.join('\n')}`)
  expect(problems).toHaveLength(3)
  expect(problems[0]).toMatch(/Never due\. Check the day and the month$/)
})

test('D3: a blocked pattern that is a regular expression is an error that says what to write', () => {
  const config = (pattern: string) =>
    `name: a1\ncapabilities:\n  tools:\n    blocked_patterns:\n      - ok\n      - '${pattern}'`
  expect(problemsOf(config('rm *-rf'))).toEqual([])
  for (const [pattern, mark] of [
    ['rm\\s+-rf|DROP TABLE', '\\'],
    ['DROP TABLE|DELETE', '|'],
    ['secret.*key', '.*'],
  ] as const) {
    expect(problemsOf(config(pattern))).toEqual([
      `config.yaml:6:capabilities.tools.blocked_patterns.1 Must be a text, not a regular expression: write * in place of ${mark}, which matches any characters, and each alternative as an entry of its own`,
    ])
  }
})

test('T14: schedules of a stored definition beyond its limits are not edited', () => {
  const entry = { cron: '0 9 * * *', timezone: 'UTC', task: 'x' }
  const files = { 'config.yaml': `name: a1\nx:\n${':\n'.repeat(60_000)}`, 'system-prompt.md': 'Hi' }
  expect(editSchedules(files, { kind: 'add', ...entry })).toBe(files)
})

/** A definition as large as one request can bring, for each kind of work that its author chooses. */
const hostile: [string, Record<string, string>][] = [
  ['empty keys', skillsOf(15, { head: ':\n'.repeat(60_000) })],
  ['empty items', skillsOf(15, { head: `x:\n${'-\n'.repeat(60_000)}` })],
  [
    'keys',
    skillsOf(62, { head: Array.from({ length: 2_400 }, (_, at) => `k${at}: 1\n`).join('') }),
  ],
  ['wrong items', skillsOf(62, { head: `requires_grants: [${'1,'.repeat(2_400)}]\n` })],
  ['keywords', skillsOf(62, { head: `triggers: { keywords: [${'"a a",'.repeat(100)}] }\n` })],
  ['templates', { 'system-prompt.md': '{{a}}'.repeat(26_000) }],
  [
    'aliases',
    { 'config.yaml': `name: a1\na: &a [${'1,'.repeat(2_000)}]\nb: [${'*a,'.repeat(19)}]` },
  ],
]

test.each(hostile)('T14: reading a definition of many %s is bounded', (_what, files) => {
  const read = () =>
    readDefinition({ 'config.yaml': 'name: a1', 'system-prompt.md': 'Hi', ...files })
  expect(measureLeastMs(read, 5_000)).toBeLessThan(5_000)
})
