import type * as z from 'zod'
import { limitMax } from '../../hub/budgets/inputs'
import { listDetails, toAppError } from '../../hub/http/page-entry'
import { DatabaseFault } from '../../shared/db/database-fault'
import { AppError, type ErrorDetail } from '../../shared/errors'
import { capitalize } from '../../shared/format'
import { showsText } from '../../shared/texts'

/** Why a form was rejected: what happened, and what to do. */
export interface FormProblem {
  message: string
  hint: string | null
}

/** The text of each field. */
export type Typed<Name extends string> = Record<Name, string>
/** Error messages by field. */
export type FieldErrors<Name extends string> = Partial<Record<Name, string>>

/** What a form shows: the text of its fields, and why it was rejected. */
export interface FormState<Name extends string> {
  typed: Typed<Name>
  errors: FieldErrors<Name>
  /** The error above the form. */
  problem: FormProblem | null
}

/** Returns a form that has not been submitted. */
export const createForm = <Name extends string>(typed: Typed<Name>): FormState<Name> => ({
  typed,
  errors: {},
  problem: null,
})

/** Returns whether a checkbox was checked. */
export const isChecked = (text: string): boolean => text === 'on'

/** Returns the text of a checkbox. */
export const toCheckboxText = (isOn: boolean): string => (isOn ? 'on' : '')

/** Returns the values of a field that has one on each line. */
export const toLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** Returned by the `parse` of a field for text that it can't convert. */
export const invalidText = Symbol('invalid text')

/** How the text of a field becomes a value of the schema. */
export interface FormField<Name extends string> {
  /** Key in the schema's input: the field's name unless given; null for a field that is not in it. */
  path?: string | null
  /** Converts the text; undefined leaves the key out. Without it the value is the text. */
  parse?(text: string, typed: Typed<Name>): unknown
  /** The error of an invalid value; the schema's message unless given. */
  message?: string | ((text: string, typed: Typed<Name>) => string)
  /** True for a field that is shown empty again, such as a key. */
  isSecret?: boolean
}

/** A form: its fields in the order of the page. */
export interface FormDefinition<Name extends string> {
  /** Message above a form with invalid fields, such as "The task was not saved." */
  rejected: string
  fields: Record<Name, FormField<Name>>
  /** Returns errors that the schema can't find, by field. */
  check?(typed: Typed<Name>): FieldErrors<Name>
  /** Formats an error at a path such as `denied.2`; the message alone unless given. */
  formatDetail?(detail: { path: string; message: string }): string
}

/** Returns the fields of a form in the order of the page. */
export const listFields = <Name extends string>({ fields }: FormDefinition<Name>): Name[] =>
  Object.keys(fields) as Name[]

/** Returns the error of a required text field: empty, or too long. */
export const describeText =
  (subject: string, charsMax: number) =>
  (text: string): string =>
    !showsText(text)
      ? `${subject} must not be empty.`
      : `${subject} can have at most ${charsMax.toLocaleString('en-US')} characters.`

/** A submitted form: the parsed value, or the errors to show it again with. */
type FormRead<Value, Name extends string> =
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

/** Returns the text of each field. */
export const mapFields = <Name extends string>(
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
function assignErrors<Name extends string>(
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
export const toSentence = (text: string): string =>
  `${capitalize(text)}${/[.!?]$/.test(text) ? '' : '.'}`

/** A form whose answer showed a secret, which is not stored, is sent again. */
const alreadySent = () =>
  new AppError(
    'IDEMPOTENCY_CONFLICT',
    'This form was already sent, and what it asks for was created once.',
    {
      hint: 'Its secret is shown only in the first answer. If you did not see it, delete what was created and send the form again.',
    },
  )

/** Returns an error as pages show it: what the API says of keys of requests is said of forms. */
export function toPageError(error: unknown): AppError {
  const appError = toAppError(error)
  return appError.code === 'IDEMPOTENCY_CONFLICT' ? alreadySent() : appError
}

/**
 * Converts an error to the problem of a form, with its details as the hint.
 *
 * @param labels what the page calls the fields that the details name
 * @throws DatabaseFault as it is: the page of the form cannot be read then, and the page of the error keeps
 * what was typed
 */
export function toProblem(
  error: unknown,
  labels: Readonly<Record<string, string>> = {},
): FormProblem & { status: number } {
  if (error instanceof DatabaseFault) throw error
  const appError = toPageError(error)
  if (appError.code === 'UNAUTHORIZED') {
    return {
      message: 'Your session has ended.',
      hint: 'Sign in in another tab, then submit this form again. Your text is still here.',
      status: appError.status,
    }
  }
  const details = (appError.details ?? []).map(({ path, message }) => {
    const field = path.replace(/^body\./, '')
    return `${Object.hasOwn(labels, field) ? labels[field] : field}: ${message}`
  })
  const hint = details.length > 0 ? details.join('; ') : appError.hint
  return { message: appError.message, hint, status: appError.status }
}

/** Returns the form with the error of its action: at the fields that its details name, else above the form. */
export function rejectForm<Name extends string>(
  definition: FormDefinition<Name>,
  { typed }: FormState<Name>,
  error: unknown,
): { form: FormState<Name>; status: number } {
  const { status, ...problem } = toProblem(error)
  const { details = [], message, hint } = toPageError(error)
  const { errors: found, other } = assignErrors(definition, typed, details, 'action')
  const errors = sortErrors(definition, found)
  if (other.length > 0 || Object.keys(errors).length === 0) {
    return { form: { typed, errors, problem }, status }
  }
  // A hint that says what stands at a field would say it twice.
  const isAtField = hint !== null && Object.values(errors).includes(toSentence(hint))
  const marked = { message, hint: hint === null || isAtField ? formatMarkedHint(errors) : hint }
  return { form: { typed, errors, problem: marked }, status }
}

const MICROUSD = 1_000_000
/** A number with a decimal point or comma, and one with groups of thousands, of which another mark may end the last. */
const plain = /^(\d{1,10})(?:[.,](\d{1,6}))?$/
const grouped = /^(\d{1,3}(?:,\d{3})+)(?:\.(\d{1,6}))?$|^(\d{1,3}(?:\.\d{3})+)(?:,(\d{1,6}))?$/
/** `1.000` is one dollar in some countries and a thousand in others. */
const ambiguous = /^[1-9]\d{0,2}[.,]\d{3}$/

/** Returns what was typed without the sign of dollars and the spaces around it. */
const toDigits = (text: string): string => text.trim().replace(/^\$\s*(?=\d)|(?<=\d)\s*\$$/, '')

/** Parses dollars into whole micro-dollars; null for an empty field. A comma is read as a point where it can be one. */
export function parseDollars(text: string): number | null | typeof invalidText {
  const digits = toDigits(text)
  if (digits === '') return null
  if (ambiguous.test(digits)) return invalidText
  const [, whole, rest, dotted, behind] = plain.exec(digits) ?? grouped.exec(digits) ?? []
  const dollars = (whole ?? dotted)?.replace(/\D/g, '')
  const microusd = Number(dollars) * MICROUSD + Number((rest ?? behind ?? '').padEnd(6, '0'))
  return dollars === undefined || microusd > limitMax ? invalidText : microusd
}

/**
 * Returns what to enter in place of a text that `parseDollars` does not read.
 *
 * @param wanted what the field takes
 */
export function describeDollars(text: string, wanted: string): string {
  const digits = toDigits(text)
  if (!ambiguous.test(digits)) return wanted
  const [whole = ''] = digits.split(/[.,]/)
  const thousands = digits.replace(/\D/g, '')
  return `${digits} can be read in two ways: enter ${whole}.${digits.slice(whole.length + 1)}0 or ${thousands}.`
}

/** Formats micro-dollars as `58.00` or `0.0005`, which `parseDollars` parses back. */
export function formatDollars(microusd: number | null): string {
  if (microusd === null) return ''
  const text = (microusd / MICROUSD).toFixed(6).replace(/0{1,4}$/, '')
  return ambiguous.test(text) ? `${text}0` : text
}
