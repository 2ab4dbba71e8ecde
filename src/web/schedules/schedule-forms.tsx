import type { FC } from 'hono/jsx'
import type { ScheduleEntry } from '../../agents/contract/agents'
import { Field } from '../form/field'
import type { FormState } from '../form/form-state'
import { FormKey } from '../frame/form-key'
import { formOf, type ScheduleField } from './schedule-form'
import { schedulesPath } from './schedules-path'

interface FormProps {
  name: string
  /** The version that the form starts from. */
  base: number
  form: FormState<ScheduleField>
}

export const NewScheduleForm: FC<FormProps> = (props) => (
  <section class="block" aria-label="New schedule">
    <h2>New schedule</h2>
    <ScheduleForm {...props} edited={null} prefix="" />
  </section>
)

interface EditScheduleFormProps extends Omit<FormProps, 'form'> {
  entry: ScheduleEntry
  /** Place of the entry in the list. */
  index: number
  /** What was typed into the form; null shows the schedule as it is. */
  form: FormState<ScheduleField> | null
}

/** The form that changes a schedule, closed until it is opened or was rejected. */
export const EditScheduleForm: FC<EditScheduleFormProps> = ({ entry, index, form, ...props }) => (
  <details class="up2" open={form !== null}>
    <summary class="meta">
      Edit<span class="vh"> {entry.task}</span>
    </summary>
    <ScheduleForm
      {...props}
      form={form ?? formOf(entry)}
      edited={entry.key}
      prefix={`edit-${index}-`}
    />
  </details>
)

interface ScheduleFormProps extends FormProps {
  /** Key of the schedule that the form changes; null for a new one. */
  edited: string | null
  /** Begins the ids of the fields. */
  prefix: string
}

const ScheduleForm: FC<ScheduleFormProps> = ({ name, base, form, edited, prefix }) => (
  <form class="form up2" method="post" action={schedulesPath(name)}>
    <FormKey />
    <input type="hidden" name="base" value={String(base)} />
    {edited !== null && <input type="hidden" name="key" value={edited} />}
    <Field
      form={form}
      name="cron"
      id={`${prefix}cron`}
      label="When"
      required
      maxlength={100}
      autocomplete="off"
      autocapitalize="none"
      hint="Minute, hour, day, month, weekday. 0 9 * * 1-5 is 9:00 from Monday to Friday; @daily and @hourly work too."
    />
    <Field
      form={form}
      name="timezone"
      id={`${prefix}timezone`}
      label="Time zone"
      required
      maxlength={60}
      autocomplete="off"
      autocapitalize="none"
      hint="Such as Europe/Berlin, America/New_York or UTC."
    />
    <Field
      form={form}
      as="textarea"
      name="task"
      id={`${prefix}task`}
      label="Task"
      rows={4}
      required
      maxlength={2000}
      hint="What to do, and where to publish: the final answer of a scheduled run is not posted by itself."
    />
    <div>
      <button type="submit" class="btn go" name="do" value="preview">
        Preview
      </button>
    </div>
  </form>
)
