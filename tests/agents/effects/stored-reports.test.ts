import { expect, test } from 'vitest'
import { splitReports, toStoredReports } from '../../../src/agents/effects/split-reports'
import { convertReports } from '../../../src/agents/run/convert-program'
import { PlanRevisions } from '../../../src/agents/run/plan-revisions'
import { codingAgents } from '../../../src/shared/config'
import type { RunReport } from '../../../src/shared/runner-protocol'

const text = { kind: 'text', text: 'x'.repeat(20_000) } as const
const plan = {
  kind: 'plan',
  steps: Array.from({ length: 100 }, () => ({ title: 'y'.repeat(500), status: 'running' as const })),
} as const
const tool = {
  ...{ kind: 'tool', call_id: 'c', title: 'z'.repeat(500), status: 'completed', is_builtin: true },
} as const
const end = {
  ...{ kind: 'ended', end: 'end_turn', detail: null, is_success: true, answer: 'Done.' },
  ...{ session_id: null, changes: null },
} as const

test.each([
  ['texts', text],
  ['plans', plan],
  ['tool calls', tool],
] as const)(
  'X12: %s beyond what a run may write are counted and not stored, within one frame too',
  (_, report) => {
    const reports: RunReport[] = [...Array.from({ length: 3_000 }, () => report), end]
    const stored = toStoredReports(reports, 0)
    expect(stored).toHaveLength(reports.length)
    const longest = codingAgents.outputChars + JSON.stringify(report).length
    expect(JSON.stringify(stored).length).toBeLessThan(longest * 1.2)
    expect(stored[0]).toEqual(report)
    expect(stored.at(-1)).toEqual(end)
    expect(splitReports(stored).flat()).toEqual(stored)
    const event = { type: 'program_reported', at: 1, attempt: 1, first: 1 } as const
    const whole = { ...event, reports: stored.slice(-2) }
    expect(convertReports(whole, new PlanRevisions())).toMatchObject({ text: '', notes: [] })
    expect(toStoredReports([report], codingAgents.outputChars + 1)).not.toEqual([report])
  },
)
