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
