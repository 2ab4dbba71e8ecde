import * as z from 'zod'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import { personAnswer } from '../rules/people'
import type { CaseRow, ImportedLine, SetRow } from './set-actions'
import { caseCheck } from './set-inputs'

export const setAnswer = z
  .object({
    id: z.string(),
    agent: personAnswer.describe('The agent whose runs it has.'),
    name: z.string(),
    case_count: countAnswer,
    is_gate: z
      .boolean()
      .describe('Whether changes of the agent have to pass a trial on it before they are active.'),
    created_at: timeAnswer,
  })
  .meta({ id: 'CaseSet' })

export const caseAnswer = z
  .object({
    id: z.string(),
    activation_id: z.string(),
    is_visible: z
      .boolean()
      .describe(
        'Whether you see all of the run; without it question, answer, checks and note are empty.',
      ),
    question: z.string().describe('The beginning of what the run was asked.'),
    answer: z.string().describe('The beginning of what it answered.'),
    checks: z.array(caseCheck).describe('What the answer must do.'),
    note: z.string().describe('What would have been right.'),
    created_at: timeAnswer,
  })
  .meta({ id: 'Case' })

/** A line of an export. */
export const exportAnswer = z.object({
  activation_id: z.string(),
  checks: z.array(caseCheck),
  note: z.string(),
})

export const importAnswer = z.object({
  added: countAnswer,
  kept: countAnswer,
  refused: countAnswer,
  lines: z.array(
    z.object({
      line: countAnswer.describe('From 1.'),
      result: z.enum(['added', 'kept', 'refused']).describe('kept: the set has a case of the run.'),
      case_id: z.string().nullable(),
      message: z.string().describe('Why it was refused; empty otherwise.'),
    }),
  ),
})

export const presentSet = ({
  id,
  agent,
  name,
  cases,
  isGate,
  createdAt,
}: SetRow): z.input<typeof setAnswer> => ({
  id,
  agent,
  name,
  case_count: cases,
  is_gate: isGate,
  created_at: presentTime(createdAt),
})

export const presentCase = (row: CaseRow): z.input<typeof caseAnswer> => ({
  id: row.id,
  activation_id: row.activationId,
  is_visible: row.isVisible,
  question: row.question,
  answer: row.answer,
  checks: row.checks,
  note: row.note,
  created_at: presentTime(row.createdAt),
})

export function presentImport(lines: ImportedLine[]): z.input<typeof importAnswer> {
  const count = (wanted: ImportedLine['result']) =>
    lines.filter(({ result }) => result === wanted).length
  return {
    added: count('added'),
    kept: count('kept'),
    refused: count('refused'),
    lines: lines.map(({ line, result, caseId, message }) => ({
      line,
      result,
      case_id: caseId,
      message,
    })),
  }
}
