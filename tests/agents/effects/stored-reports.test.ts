import { expect, test } from 'vitest'
import { splitReports, toStoredReports } from '../../../src/agents/effects/program-desk'
import { PlanRevisions } from '../../../src/agents/run/plan'
import { convertReports } from '../../../src/agents/run/run-log'
import { codingAgents } from '../../../src/shared/config'
import type { RunReport } from '../../../src/shared/runner-protocol'

const text: RunReport = { kind: 'text', text: 'x'.repeat(20_000) }
const steps = Array.from({ length: 100 }, () => ({
  title: 'y'.repeat(500),
  status: 'running' as const,
}))
const tool: RunReport = {
  kind: 'tool',
  status: 'completed',
  call_id: 'c',
  title: 'z'.repeat(500),
  is_builtin: true,
}
const end: RunReport = {
  kind: 'ended',
  end: 'end_turn',
  detail: null,
  is_success: true,
  answer: 'Done.',
  session_id: null,
  changes: null,
}

test.each<[string, RunReport]>([
  ['texts', text],
  ['plans', { kind: 'plan', steps }],
  ['tool calls', tool],
])(
  'X12: %s beyond what a run may write are counted and not stored, within one frame too',
  (_, report) => {
    const reports = [...Array.from({ length: 3_000 }, () => report), end]
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
