import { expect, test } from 'vitest'
import type { ScheduleEdit } from '../../../src/agents/contract/definitions'
import { editSchedules, listSchedules } from '../../../src/agents/definitions/agent-form'

const toFiles = (yaml: string) => ({
  'config.yaml': `name: scout # kept\n${yaml}`,
  'system-prompt.md': 'You are scout.',
})

/** Returns the entries after a change, as task and whether it is paused, and the text. */
function edit(yaml: string, change: ScheduleEdit) {
  const files = editSchedules(toFiles(yaml), change)
  const entries = files && listSchedules(files, 0).map(({ task, isPaused }) => [task, isPaused])
  return { entries, text: files?.['config.yaml'] ?? '' }
}

const keyOf = (cron: string, task: string) => JSON.stringify([cron, 'UTC', task])
const added: ScheduleEdit = { kind: 'add', cron: '@weekly', timezone: 'UTC', task: 'Sum up' }

test('D6: a schedule is added where behavior or its list is empty', () => {
  for (const yaml of ['', 'behavior:\n', 'behavior: {}\n', 'behavior:\n  schedule:\n']) {
    const { entries, text } = edit(yaml, added)
    expect(entries, yaml).toEqual([['Sum up', false]])
    expect(text).toContain('# kept')
  }
})

test('D6: entries that are written once and referred to are changed as if each were written out', () => {
  const daily = { cron: '@daily', task: 'Count' }
  const all = `x-all: &all\n  - ${JSON.stringify(daily)}\nbehavior:\n  schedule: *all\n`
  expect(edit(all, added).entries).toEqual([
    ['Count', false],
    ['Sum up', false],
  ])
  const one = `x-one: &one ${JSON.stringify(daily)}\nbehavior:\n  schedule: [*one]\n`
  expect(edit(one, { kind: 'pause', key: keyOf('@daily', 'Count') }).entries).toEqual([
    ['Count', true],
  ])
  const text =
    'behavior:\n  schedule:\n    - { cron: "@daily", task: &t Count }\n    - { cron: "@hourly", task: *t }\n'
  const left = edit(text, { kind: 'delete', key: keyOf('@daily', 'Count') })
  expect(left.entries).toEqual([['Count', false]])
  expect(left.text).toContain('# kept')
  const whole = `x-b: &b { schedule: [${JSON.stringify(daily)}] }\nbehavior: *b\n`
  expect(edit(whole, { kind: 'delete', key: keyOf('@daily', 'Count') }).entries).toEqual([])
})

test('D6: a changed schedule keeps its place, its comments and its pause', () => {
  const yaml = `behavior:
  schedule:
    # Before the week.
    - cron: "@daily" # early
      task: |
        Count.
      paused: true
    - { cron: "@hourly", task: Weigh }
`
  const change = { cron: '@daily', timezone: 'UTC', task: 'Count: "all"\nof # them' }
  const { entries, text } = edit(yaml, {
    kind: 'change',
    key: keyOf('@daily', 'Count.\n'),
    ...change,
  })
  expect(entries).toEqual([
    [change.task, true],
    ['Weigh', false],
  ])
  for (const kept of ['# Before the week.', 'cron: "@daily" # early', '# kept'])
    expect(text).toContain(kept)
  expect(text).not.toContain('timezone')
  const moved = { ...change, cron: '0 9 * * *', timezone: 'Europe/Berlin' }
  const key = keyOf('@daily', 'Count.\n')
  expect(edit(yaml, { kind: 'change', key, ...moved }).text).toMatch(
    /cron: "?0 9 \* \* \*"? # early[^{]+timezone: Europe\/Berlin/,
  )
  expect(edit(yaml, { kind: 'change', key: keyOf('@weekly', 'Count.\n'), ...change }).text).toBe('')
})
