import type * as z from 'zod'
import { listDetails } from '../../hub/http/page-entry'
import { assignErrors } from './assign-errors'
import {
  createForm,
  type FieldErrors,
  type FormDefinition,
  type FormState,
  invalidText,
  listFields,
  type Typed,
} from './form-state'

/** A submitted form: the parsed value, or the errors to show it again with. */
export type FormRead<Value, Name extends string> =
  | { isValid: true; value: Value; form: FormState<Name> }
  | { isValid: false; form: FormState<Name> }

/**
 * Parses a submitted form with the schema of the API route that does the same.
 *
 * @param read returns the text of a field, as `readForm` does
 */
export function readFormWith<Value, Name extends string>(
  schema: z.ZodType<Value>,
  read: (name: string) => string,
  definition: FormDefinition<Name>,
): FormRead<Value, Name> {
  const typed = mapFields(definition, (name) => read(name))
  const { input, invalid } = toInput(definition, typed)
  const parsed = schema.safeParse(input)
  const details = parsed.success ? [] : listDetails(parsed.error, '')
  const { errors: found, other } = assignErrors(definition, typed, details, 'schema')
  const errors = sortErrors(definition, { ...definition.check?.(typed), ...found, ...invalid })
  const shown = mapFields(definition, (name) =>
    definition.fields[name].isSecret ? '' : typed[name],
  )
  const isRejected = other.length > 0 || Object.keys(errors).length > 0
  if (parsed.success && !isRejected) {
    return { isValid: true, value: parsed.data, form: { typed: shown, errors, problem: null } }
  }
  const form = markFields(definition, createForm(shown), errors)
  if (other.length === 0) return { isValid: false, form }
  const problem = { message: definition.rejected, hint: other.join(' ') }
  return { isValid: false, form: { ...form, problem } }
}

/** Returns the form with errors at fields, and a hint above it. */
export const markFields = <Name extends string>(
  definition: FormDefinition<Name>,
  { typed }: FormState<Name>,
  errors: FieldErrors<Name>,
): FormState<Name> => ({
  typed,
  errors,
  problem: { message: definition.rejected, hint: formatMarkedHint(errors) },
})

/** Returns the hint above a form whose invalid fields are marked. */
export const formatMarkedHint = (errors: object): string =>
  `Correct the marked ${Object.keys(errors).length === 1 ? 'field' : 'fields'} below.`

const mapFields = <Name extends string>(
  definition: FormDefinition<Name>,
  toText: (name: Name) => string,
): Typed<Name> =>
  Object.fromEntries(listFields(definition).map((name) => [name, toText(name)])) as Typed<Name>

/**
 * Converts the text of the fields to the schema's input. A field that can't be converted is left out,
 * so that the schema still checks the others against each other.
 */
function toInput<Name extends string>(
  definition: FormDefinition<Name>,
  typed: Typed<Name>,
): { input: Record<string, unknown>; invalid: FieldErrors<Name> } {
  const input: Record<string, unknown> = {}
  const unreadable: { path: string; message: string }[] = []
  for (const name of listFields(definition)) {
    const { path = name, parse } = definition.fields[name]
    if (path === null) continue
    const value = parse ? parse(typed[name], typed) : typed[name]
    if (value === invalidText) unreadable.push({ path, message: 'is not valid' })
    else if (value !== undefined) input[path] = value
  }
  return { input, invalid: assignErrors(definition, typed, unreadable, 'schema').errors }
}

/** Returns the errors in the order of the fields, so that the first one gets the focus. */
const sortErrors = <Name extends string>(
  definition: FormDefinition<Name>,
  errors: FieldErrors<Name>,
): FieldErrors<Name> =>
  Object.fromEntries(
    listFields(definition).flatMap((name) =>
      errors[name] === undefined ? [] : [[name, errors[name]]],
    ),
  ) as FieldErrors<Name>
