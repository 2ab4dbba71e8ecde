import type { ErrorDetail } from '../../shared/errors'
import { capitalize } from '../../shared/format'
import { type FieldErrors, type FormDefinition, listFields, type Typed } from './form-state'

/** Errors by field, and the messages of those that belong to no field of the form. */
interface AssignedErrors<Name extends string> {
  errors: FieldErrors<Name>
  other: string[]
}

/**
 * Assigns details such as `body.denied.2` to the fields of a form.
 *
 * @param source `schema`: a field's own message replaces the schema's, which is written for programs
 */
export function assignErrors<Name extends string>(
  definition: FormDefinition<Name>,
  typed: Typed<Name>,
  details: readonly ErrorDetail[],
  source: 'schema' | 'action',
): AssignedErrors<Name> {
  const names = listFields(definition)
  const found = new Map<Name, Set<string>>()
  const other: string[] = []
  for (const { path: fullPath, message } of details) {
    const path = fullPath.replace(/^body\./, '')
    const key = path.split('.')[0]
    const name = names.find((each) => {
      const { path: ownPath = each } = definition.fields[each]
      return ownPath === key
    })
    if (name === undefined) {
      other.push(toSentence(path === '' ? message : `${path}: ${message}`))
      continue
    }
    const own = source === 'schema' ? definition.fields[name].message : undefined
    const text =
      (typeof own === 'function' ? own(typed[name], typed) : own) ??
      definition.formatDetail?.({ path, message }) ??
      message
    found.set(name, (found.get(name) ?? new Set()).add(toSentence(text)))
  }
  const errors = Object.fromEntries([...found].map(([name, texts]) => [name, [...texts].join(' ')]))
  return { errors: errors as FieldErrors<Name>, other }
}

/** Starts a message with a capital letter and ends it with a period. */
const toSentence = (text: string): string => `${capitalize(text)}${/[.!?]$/.test(text) ? '' : '.'}`
