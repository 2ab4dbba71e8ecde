import { trialLimits } from '../../shared/config'
import { toIssuePath } from '../../shared/known-fields'
import { toStorableJson } from '../../shared/texts'
import { type CaseInput, caseInput } from './set-inputs'

/** A line of an import: a case, or why it is none. */
export type ImportLine = { line: number } & ({ input: CaseInput } | { problem: string })

/** Returns the lines of an import that are not empty, counted from 1. */
export function readLines(text: string): ImportLine[] {
  return (
    text
      .replace(/^\ufeff/, '')
      .split('\n')
      .map((content, index) => ({ line: index + 1, content }))
      .filter(({ content }) => content.trim() !== '')
      // one more than an import may have: whoever asked for it refuses it
      .slice(0, trialLimits.importLinesMax + 1)
      .map(({ line, content }): ImportLine => ({ line, ...readLine(content) }))
  )
}

function readLine(content: string): { input: CaseInput } | { problem: string } {
  let value: unknown
  try {
    value = toStorableJson(JSON.parse(content))
  } catch {
    return { problem: 'The line is not JSON.' }
  }
  const parsed = caseInput.safeParse(value)
  if (parsed.success) return { input: parsed.data }
  const [issue] = parsed.error.issues
  const path = issue ? toIssuePath(issue).join('.') : ''
  return { problem: `${path && `${path}: `}${issue?.message ?? 'The line is not a case.'}` }
}

/** Returns a case as a line of an export. */
export const formatLine = ({
  activationId,
  checks,
  note,
}: {
  activationId: string
  checks: CaseInput['checks']
  note: string
}): string => `${JSON.stringify({ activation_id: activationId, checks, note })}\n`
