import * as z from 'zod'
import { createForm, describeText, type FormDefinition, type FormState } from '../form/form-state'

const taskCharsMax = 2_000

export const scheduleInput = z.object({
  cron: z.string().trim().min(1).max(100),
  timezone: z.string().trim().min(1).max(60),
  task: z.string().trim().min(1).max(taskCharsMax),
})

export type ScheduleField = keyof z.output<typeof scheduleInput>

export const scheduleForm: FormDefinition<ScheduleField> = {
  rejected: 'The schedule was not saved.',
  fields: {
    cron: { message: 'Enter five fields, such as 0 9 * * 1-5, or @daily.' },
    timezone: { message: 'Enter a time zone, such as Europe/Berlin.' },
    task: { message: describeText('The task', taskCharsMax) },
  },
}

/** Returns the form of a schedule as it is. */
export const formOf = ({
  cron,
  timezone,
  task,
}: Record<ScheduleField, string>): FormState<ScheduleField> => createForm({ cron, timezone, task })

/** The form of a new schedule. */
export const emptyForm = formOf({ cron: '', timezone: 'UTC', task: '' })
