import type { Child } from 'hono/jsx'
import { type FormState, isChecked } from './form-state'

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
