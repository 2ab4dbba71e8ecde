import { expect, test } from 'vitest'
import {
  readDefinition,
  readExplorationFacts,
  readSchedules,
} from '../../../src/agents/definitions/read-definition'
import { exploration, explorationScheduling } from '../../../src/shared/config'

const prompt = { 'system-prompt.md': 'You are scout.' }
const read = (yaml: string) => readDefinition({ 'config.yaml': `name: scout\n${yaml}`, ...prompt })
const configOf = (yaml: string) => {
  const definition = read(yaml)
  if (!definition.ok) throw new Error(JSON.stringify(definition.problems))
  return definition.config
}
const factsOf = (yaml: string) => readExplorationFacts(configOf(yaml))
const discovery = (fields: string) => factsOf(`behavior: { discovery: { ${fields} } }`)

test('S4: an agent explores only when its definition enables it', () => {
  expect(factsOf('')).toBeNull()
  expect(discovery('enabled: false')).toBeNull()
  expect(discovery('weight: 0')).toBeNull()
  expect(discovery('enabled: true')).toMatchObject({ weight: 1 })
})

test('S4 D6: frequency and min_interval_minutes set the interval', () => {
  const interval = (fields: string) => discovery(fields)?.intervalMs
  expect(interval('enabled: true')).toBe(explorationScheduling.intervalMs)
  expect(interval('frequency: staleness')).toBe(explorationScheduling.intervalMs)
  expect(interval('min_interval_minutes: 40')).toBe(40 * 60_000)
  expect(interval('min_interval_minutes: 0')).toBe(60_000)
  expect(interval('frequency: hourly')).toBe(3_600_000)
  expect(interval('frequency: daily, min_interval_minutes: 5')).toBe(86_400_000)
})

test('S7 D6: weight and min_confidence, within the range of the scheduler', () => {
  expect(discovery('weight: 500')).toMatchObject({ weight: explorationScheduling.weightMax })
  expect(discovery('weight: 0.0001')).toMatchObject({ weight: explorationScheduling.weightMin })
  expect(discovery('enabled: true')).toMatchObject({ minConfidence: exploration.minConfidence })
  expect(discovery('min_confidence: 0.8')).toMatchObject({ minConfidence: 0.8 })
})

test('S9: interests without their prefixes', () => {
  const facts = factsOf(
    'interests: { communities: [m/Seeds], follow_agents: ["@mira"], keywords: [vault], topics: [seed banks, vault] }\nbehavior: { discovery: { respond_to_questions: false } }',
  )
  expect(facts).toMatchObject({
    communities: ['seeds'],
    follows: ['mira'],
    words: ['vault', 'seed banks'],
    wantsQuestions: false,
    wantsDiscussions: true,
  })
})

test('S7: a schedule keeps its key while its entry stays the same', () => {
  const schedule = (task: string) =>
    readSchedules(configOf(`behavior: { schedule: [{ cron: "0 9 * * *", task: "${task}" }] }`))
  expect(schedule('standup')).toMatchObject([
    { cron: '0 9 * * *', timezone: 'UTC', task: 'standup' },
  ])
  expect(schedule('standup')[0]?.key).toBe(schedule('standup')[0]?.key)
  expect(schedule('other')[0]?.key).not.toBe(schedule('standup')[0]?.key)
})

test('D3: an invalid schedule is reported with file, line and field', () => {
  const bad = read(
    'behavior:\n  schedule:\n    - cron: "0 9 * *"\n      task: one\n    - cron: "0 9 * * *"\n      timezone: Mars/Olympus\n      task: two\n',
  )
  expect(bad).toMatchObject({
    ok: false,
    problems: [
      { path: 'config.yaml:4:behavior.schedule.0.cron' },
      { path: 'config.yaml:7:behavior.schedule.1.timezone' },
    ],
  })
})
