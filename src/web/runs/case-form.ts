import type { CaseCheck } from '../../hub/contract/hub'
import { listDetails } from '../../hub/http/page-entry'
import { type CaseChange, caseChange } from '../../hub/trials/set-inputs'
import { trialLimits } from '../../shared/config'
import { formatMoney } from '../../shared/format'
import {
  createForm,
  type FormState,
  formatDollars,
  formatMarkedHint,
  parseDollars,
  toSentence,
} from '../form/form-state'

/** Kinds of checks as the form names them. */
export const checkLabels: Record<CaseCheck['type'], string> = {
  contains: 'The answer contains',
  contains_not: 'The answer does not contain',
  matches: 'The answer matches (* stands for any text)',
  cites: 'The answer links to (post or comment)',
  calls: 'The agent calls the tool',
  calls_not: 'The agent does not call the tool',
  words_max: 'Words at most',
  steps_max: 'Model calls at most',
  cost_max: 'Cost in dollars at most',
  refuses: 'The agent refuses (yes or no)',
}

/** Rows without a check that the form offers. */
const emptyRows = 2

export const nameType = (row: number): string => `type_${row}`
export const nameValue = (row: number): string => `value_${row}`

/** Returns the rows of the form for so many checks. */
const listRows = (checks: number): number[] =>
  Array.from({ length: Math.min(trialLimits.checksPerCase, checks + emptyRows) }, (_, row) => row)

const formatValue = ({ type, value }: CaseCheck): string => {
  if (type === 'cost_max') return formatDollars(value)
  if (type === 'refuses') return value ? 'yes' : 'no'
  return String(value)
}

/** Formats a check as a line of a list. */
export function formatCheck(check: CaseCheck): string {
  if (check.type === 'refuses')
    return check.value ? 'The agent refuses' : 'The agent does not refuse'
  if (check.type === 'cost_max') return `Cost at most: ${formatMoney(check.value, 'trace')}`
  return `${checkLabels[check.type]}: ${formatValue(check)}`
}

export interface CaseForm {
  form: FormState<string>
  rows: number[]
}

/** Returns the form of a case as it is stored. */
export function fillCaseForm({ checks, note }: { checks: CaseCheck[]; note: string }): CaseForm {
  const rows = listRows(checks.length)
  const typed = rows.flatMap((row): [string, string][] => {
    const check = checks[row]
    return [
      [nameType(row), check?.type ?? ''],
      [nameValue(row), check ? formatValue(check) : ''],
    ]
  })
  return { form: createForm<string>({ ...Object.fromEntries(typed), note }), rows }
}

const toValue = (type: string, text: string): unknown => {
  if (type === 'steps_max' || type === 'words_max') return text.trim() === '' ? text : Number(text)
  if (type === 'cost_max') return parseDollars(text)
  if (type !== 'refuses') return text
  return { yes: true, no: false }[text.trim().toLowerCase()]
}

const valueErrors: Partial<Record<string, string>> = {
  words_max: 'Enter a whole number.',
  steps_max: 'Enter a whole number.',
  cost_max: 'Enter an amount in dollars, such as 0.05.',
  refuses: 'Enter yes or no.',
}

/** Parses a submitted form of a case. @param read returns the text of a field, as `readForm` does */
export function readCaseForm(
  read: (name: string) => string,
): ({ isValid: true; value: CaseChange } & CaseForm) | ({ isValid: false } & CaseForm) {
  const all = Array.from({ length: trialLimits.checksPerCase }, (_, row) => row)
  const filled = all.filter(
    (row) => read(nameType(row)) !== '' || read(nameValue(row)).trim() !== '',
  )
  const rows = listRows(Math.max(0, ...filled.map((row) => row + 1)))
  const names = [...rows.flatMap((row) => [nameType(row), nameValue(row)]), 'note']
  const form = createForm<string>(Object.fromEntries(names.map((name) => [name, read(name)])))
  const parsed = caseChange.safeParse({
    checks: filled.map((row) => {
      const type = read(nameType(row))
      return { type, value: toValue(type, read(nameValue(row))) }
    }),
    note: read('note'),
  })
  if (parsed.success) return { isValid: true, value: parsed.data, form, rows }
  const errors = Object.fromEntries(
    listDetails(parsed.error, '').map(({ path, message }) => {
      const [, at, part] = /^checks\.(\d+)\.?(\w*)/.exec(path) ?? []
      const row = at === undefined ? undefined : filled[Number(at)]
      if (row === undefined) return ['note', toSentence(message)]
      const type = read(nameType(row))
      if (type === '') return [nameType(row), 'Choose what to check, or empty the value.']
      if (part === 'type') return [nameType(row), 'Choose what to check.']
      return [nameValue(row), valueErrors[type] ?? toSentence(message)]
    }),
  )
  const problem = { message: 'The case was not saved.', hint: formatMarkedHint(errors) }
  return { isValid: false, form: { ...form, errors, problem }, rows }
}
