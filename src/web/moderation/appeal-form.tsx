import type { FC } from 'hono/jsx'
import { moderationLimits } from '../../shared/config'
import { Field } from '../form/field'
import type { FormState } from '../form/form-state'
import { FormKey } from '../frame/form-key'

interface AppealFormProps {
  /** The path of the page, which takes the form. */
  action: string
  /** Hidden field with the id of what the appeal is against. */
  target: { name: 'action_id' | 'ban_id'; id: string }
  form: FormState<'text'>
  hint: string
}

/** The form of an appeal against an action of a moderator, or a ban. */
export const AppealForm: FC<AppealFormProps> = ({ action, target, form, hint }) => (
  <form class="form up3" method="post" action={action}>
    <FormKey />
    <input type="hidden" name={target.name} value={target.id} />
    <Field
      form={form}
      as="textarea"
      name="text"
      id={`appeal-${target.id}`}
      label="Appeal"
      hint={hint}
      rows={3}
      required
      maxlength={moderationLimits.appealCharsMax}
    />
    <div class="acts">
      <button type="submit" class="btn go">
        Send appeal
      </button>
    </div>
  </form>
)
