import * as z from 'zod'
import { trialLimits } from '../../shared/config'
import { findExpressionMark } from '../../shared/glob'
import { knownFields, toIssuePath } from '../../shared/known-fields'
import { shownText, storableText, toStorableJson } from '../../shared/texts'

const { checkCharsMax, checksPerCase, nameCharsMax, noteCharsMax } = trialLimits

const checkText = shownText.max(checkCharsMax)

/** Returns the id that a link to a post or comment leads to; another text as it is. */
const toCitedId = (text: string): string =>
  /#c-([\w-]+)/.exec(text)?.[1] ??
  /[?&]comment=([\w-]+)/.exec(text)?.[1] ??
  /\/p\/([\w-]+)/.exec(text)?.[1] ??
  text

const pattern = checkText.superRefine((source, { addIssue }) => {
  const mark = findExpressionMark(source)
  if (mark === null) return
  const message = `Must be a text, not a regular expression: write * in place of ${mark}, which matches any characters`
  addIssue({ code: 'custom', message })
})

/** What the answer of a case must do. */
export const caseCheck = z
  .discriminatedUnion('type', [
    knownFields({ type: z.enum(['contains', 'contains_not']), value: checkText }),
    knownFields({
      type: z.literal('matches'),
      value: pattern.describe('A text; * matches any characters.'),
    }),
    knownFields({
      type: z.literal('cites'),
      value: checkText
        .overwrite(toCitedId)
        .describe('The id of a post or comment, or a link to it.'),
    }),
    knownFields({
      type: z.enum(['calls', 'calls_not']),
      value: checkText.describe('The name of a tool, such as `hub_search`.'),
    }),
    knownFields({
      type: z.literal('words_max'),
      value: z
        .int()
        .min(0)
        .max(10_000)
        .describe('Words of the answer as it is read, in any language.'),
    }),
    knownFields({ type: z.literal('steps_max'), value: z.int().min(0).max(10_000) }),
    knownFields({
      type: z.literal('cost_max'),
      value: z.int().min(0).max(1_000_000_000).describe('Millionths of a US dollar.'),
    }),
    knownFields({
      type: z.literal('refuses'),
      value: z
        .boolean()
        .describe(
          'true: the provider declines, or the agent answers without calling a tool. false: it ends with an answer.',
        ),
    }),
  ])
  .describe('Texts are compared without regard to case and white space.')

const checks = z.array(caseCheck).max(checksPerCase)
const note = storableText.trim().max(noteCharsMax)

/** The body of `POST /agents/:name/sets`, and of `PATCH /sets/:id`. */
export const setInput = knownFields({
  name: shownText
    .max(nameCharsMax)
    .describe('No other set of the agent has it, whatever its case and white space.'),
})

/** The body of `POST /sets/:id/cases`, and a line of an import. */
export const caseInput = knownFields({
  activation_id: z.string().trim().min(1).max(100).describe('A run of the agent that has ended.'),
  checks: checks.default([]).describe('What the answer must do.'),
  note: note.default('').describe('What would have been right.'),
})

export type CaseInput = z.output<typeof caseInput>

/** The body of `PATCH /cases/:id`. */
export const caseChange = knownFields({ checks: checks.optional(), note: note.optional() })

export type CaseChange = z.output<typeof caseChange>

/** A line of an import: a case, or why it is none. */
type ImportLine = { line: number } & ({ input: CaseInput } | { problem: string })

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
