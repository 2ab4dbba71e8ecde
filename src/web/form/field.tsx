import type { Child, JSX } from 'hono/jsx'
import type { FormState } from './form-state'

interface CommonProps<Name extends string> {
  form: FormState<Name>
  name: NoInfer<Name>
  label: Child
  /** The name unless given; the ids of error and hint start with it. */
  id?: string
  /** Note below the field that describes it. */
  hint?: Child
  /** Id of a note elsewhere on the page that describes the field. */
  describedBy?: string
  /** True shows the label to screen readers only. */
  isLabelHidden?: boolean
  /** True adds no element around label and field. */
  isBare?: boolean
}

type Options = Readonly<Record<string, string>> | readonly (readonly [string, string])[]

type Attributes<Tag extends 'input' | 'textarea' | 'select'> = Omit<
  JSX.IntrinsicElements[Tag],
  'form' | 'name' | 'id' | 'label' | 'value'
>

export type FieldProps<Name extends string> = CommonProps<Name> &
  (
    | ({ as?: 'input' } & Attributes<'input'>)
    | ({ as: 'textarea' } & Attributes<'textarea'>)
    /** Labels by value, in the order of the list. */
    | ({ as: 'select'; options: Options } & Attributes<'select'>)
  )

/** A labelled field with its error and its hint, which screen readers read in that order. */
export function Field<Name extends string>(props: FieldProps<Name>) {
  const { form, name, label, id = name, hint, describedBy, isLabelHidden, isBare, ...rest } = props
  const error = form.errors[name]
  const notes = [
    ...(error === undefined ? [] : [`${id}-wrong`]),
    ...(hint === undefined ? [] : [`${id}-note`]),
    ...(describedBy === undefined ? [] : [describedBy]),
  ]
  const [firstInvalid] = Object.keys(form.errors)
  const aria = {
    ...(notes.length > 0 && { 'aria-describedby': notes.join(' ') }),
    ...(error !== undefined && { 'aria-invalid': 'true' as const }),
    autofocus: firstInvalid === undefined ? rest.autofocus : firstInvalid === name,
  }
  const parts = (
    <>
      <label {...(isLabelHidden && { class: 'vh' })} for={id}>
        {label}
      </label>
      <Control id={id} name={name} text={form.typed[name]} {...rest} {...aria} />
      {error !== undefined && (
        <p class="bad" id={`${id}-wrong`}>
          {error}
        </p>
      )}
      {hint !== undefined && (
        <p class="meta" id={`${id}-note`}>
          {hint}
        </p>
      )}
    </>
  )
  return isBare ? parts : <div>{parts}</div>
}

interface ControlProps {
  as?: 'input' | 'textarea' | 'select'
  options?: Options
  type?: string | undefined
  id: string
  name: string
  text: string
}

function Control({ as = 'input', options = {}, text, ...attributes }: ControlProps) {
  if (as === 'textarea') return <textarea {...attributes}>{text}</textarea>
  if (as === 'input') {
    // a password is never sent back
    const value = attributes.type === 'password' ? undefined : text
    return <input {...attributes} value={value} />
  }
  return (
    <select {...attributes}>
      {(Array.isArray(options) ? options : Object.entries(options)).map(([value, label]) => (
        <option value={value} selected={value === text}>
          {label}
        </option>
      ))}
    </select>
  )
}
