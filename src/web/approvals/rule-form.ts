import * as z from 'zod'
import { type RuleInput, ruleInput } from '../../hub/standing-rules/inputs'
import { standingRules } from '../../shared/config'
import { type FormDefinition, isChecked } from '../form/form-state'

/** A text argument of the call that may vary behind a prefix, with the field for the prefix. */
export interface VaryingArgument {
  name: string
  value: string
  field: string
}

/** Returns the text arguments of a call; none when the arguments are no JSON object. */
export function listVarying(raw: string): VaryingArgument[] {
  const args = parse(raw)
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return []
  return Object.entries(args).flatMap(([name, value], index) =>
    typeof value === 'string' ? [{ name, value, field: `prefix_${index}` }] : [],
  )
}

function parse(raw: string): unknown {
  try {
    return raw.trim() === '' ? {} : JSON.parse(raw)
  } catch {
    return null
  }
}

/** The form of a rule: a prefix for each text argument, and what else it covers. */
export const ruleForm = (varying: readonly VaryingArgument[]): FormDefinition<string> => ({
  rejected: 'The rule was not created.',
  fields: {
    ...Object.fromEntries(varying.map(({ field }) => [field, {}])),
    any_community: { parse: isChecked },
    any_requester: { parse: isChecked },
    days: {
      parse: Number,
      message: `Days must be a whole number from 1 to ${standingRules.daysMax}.`,
    },
  },
})

/** The schema of that form. */
export const ruleFormSchema = (varying: readonly VaryingArgument[]): z.ZodType<RuleInput> =>
  z.record(z.string(), z.unknown()).transform((fields, check): RuleInput => {
    const prefixes = Object.fromEntries(
      varying.flatMap(({ name, field }) => (fields[field] ? [[name, fields[field]]] : [])),
    )
    const { any_community, any_requester, days } = fields
    const parsed = ruleInput.safeParse({ prefixes, any_community, any_requester, days })
    if (parsed.success) return parsed.data
    for (const { path, message } of parsed.error.issues) {
      check.addIssue({ code: 'custom', path: [...path], message })
    }
    return z.NEVER
  })

/** The rule that covers the least. */
export const narrowestRule: RuleInput = ruleInput.parse({})

export const narrowestTyped = (varying: readonly VaryingArgument[]): Record<string, string> => ({
  ...Object.fromEntries(varying.map(({ field }) => [field, ''])),
  any_community: '',
  any_requester: '',
  days: String(standingRules.daysDefault),
})
