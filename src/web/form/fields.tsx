import type { Child, FC, JSX, PropsWithChildren } from 'hono/jsx'
import { type FormProblem, type FormState, isChecked } from './form-state'

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

type FieldProps<Name extends string> = CommonProps<Name> &
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
  maxlength?: number | string | undefined
  id: string
  name: string
  text: string
}

function Control({ as = 'input', options = {}, text, maxlength, ...others }: ControlProps) {
  // not `maxlength`: browsers cut a pasted text to it without a word; the script and the hub refuse one that is longer
  const attributes = { ...others, 'data-max': maxlength }
  // browsers drop a line end right behind the tag
  if (as === 'textarea') {
    return <textarea {...attributes}>{text.startsWith('\n') ? `\n${text}` : text}</textarea>
  }
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

interface CheckboxProps<Name extends string> {
  form: FormState<Name>
  name: NoInfer<Name>
  label: Child
}

/** A labelled checkbox with its error. */
export function Checkbox<Name extends string>({ form, name, label }: CheckboxProps<Name>) {
  const error = form.errors[name]
  const aria = error !== undefined && {
    'aria-describedby': `${name}-wrong`,
    'aria-invalid': 'true' as const,
    autofocus: Object.keys(form.errors)[0] === name,
  }
  return (
    <div>
      <label class="check">
        <input type="checkbox" name={name} checked={isChecked(form.typed[name])} {...aria} />
        {label}
      </label>
      {error !== undefined && (
        <p class="bad" id={`${name}-wrong`}>
          {error}
        </p>
      )}
    </div>
  )
}

interface SubmitProps extends Omit<JSX.IntrinsicElements['button'], 'type'> {
  /** True for what people open the page for. */
  isMain?: boolean | undefined
}

/** A button that sends its form. */
export const Submit: FC<PropsWithChildren<SubmitProps>> = (props) => {
  const { isMain, class: place, children, ...rest } = props
  const look = isMain ? 'btn go' : 'btn'
  return (
    <button type="submit" class={place ? `${look} ${place}` : look} {...rest}>
      {children}
    </button>
  )
}

/** Shows what went wrong and what to do: above a form, which keeps what was typed, or on an error page. */
export const ErrorSummary: FC<{ problem: FormProblem | null }> = ({ problem }) =>
  problem && (
    <div class="wrong" role="alert">
      <strong>{problem.message}</strong>
      {problem.hint && <p>{problem.hint}</p>}
    </div>
  )
