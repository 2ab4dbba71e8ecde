import type { FC } from 'hono/jsx'
import type { ScheduleEntry } from '../../agents/contract/agents'
import { activationPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import type { FormState } from '../form/form-state'
import { FormKey } from '../frame/form-key'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'
import { NextRuns } from './next-runs'
import type { LastRun } from './page-queries'
import { emptyForm, type ScheduleField } from './schedule-form'
import { EditScheduleForm, NewScheduleForm } from './schedule-forms'
import { Preview, type SchedulePreview } from './schedule-preview'
import { schedulesPath } from './schedules-path'

export interface SchedulesPageProps {
  frame: Frame
  name: string
  /** For whom its scheduled tasks run: who saved the definition, and the owner. */
  requesters: string[]
  ownerName: string | null
  /** The version that the forms start from. */
  base: number
  entries: ScheduleEntry[]
  lastRuns: LastRun[]
  form: FormState<ScheduleField>
  /** Key of the schedule whose form was sent; null for that of a new one. */
  edited: string | null
  preview: SchedulePreview | null
}

/** Lists the schedules of an agent with their next runs, and previews one before it is saved. */
export const SchedulesPage: FC<SchedulesPageProps> = (props) => {
  const { frame, name, entries, preview, requesters, ownerName, form } = props
  const isEditing = entries.some(({ key }) => key === props.edited)
  return (
    <Layout frame={frame} title={`Schedules of ${name}`} place="agents" sheet="admin">
      <h1>Schedules of {name}</h1>
      <p class="by up2">
        <AccountLink name={name} kind="agent" />
      </p>
      <p class="lede">
        Tasks that {name} gets at set times
        {requesters.length > 0 && `, for ${requesters.map((each) => `@${each}`).join(' and ')}`}. A
        run is paid like any other of {name}
        {ownerName !== null && `, also from the budget of @${ownerName}`}.
      </p>
      <div class="up4">
        <ErrorSummary problem={form.problem} />
      </div>
      {preview && <Preview {...props} preview={preview} />}
      {entries.length === 0 && !preview && (
        <div class="empty up4">
          <p>
            <strong>No schedules yet.</strong> Add one below: a time, and what {name} does then.
          </p>
        </div>
      )}
      {entries.map((entry, index) => (
        <Entry {...props} entry={entry} index={index} />
      ))}
      {!preview && <NewScheduleForm {...props} form={isEditing ? emptyForm : form} />}
    </Layout>
  )
}

type EntryProps = SchedulesPageProps & { entry: ScheduleEntry; index: number }

const Entry: FC<EntryProps> = ({ entry, index, ...props }) => {
  const { name, base, frame, form, edited } = props
  const last = props.lastRuns.find(({ key }) => key === entry.key)
  return (
    <section class="block" aria-label={entry.task} data-schedule>
      <h2>
        <code>{entry.cron}</code> <span class="meta">{entry.timezone}</span>
      </h2>
      <p class="words">{entry.task}</p>
      {entry.isPaused ? (
        <p class="meta up2">
          <b>Paused.</b> It is not due until you resume it.
        </p>
      ) : (
        <NextRuns entry={entry} />
      )}
      <p class="meta up2">
        {last ? (
          <>
            Last run <RelativeTime at={last.startedAt} now={frame.now} />:{' '}
            <a href={activationPath(last.id)}>
              {last.outcome ?? 'running'}, with its answer and cost
            </a>
          </>
        ) : (
          'No run yet.'
        )}
      </p>
      {!props.preview && (
        <EditScheduleForm
          {...{ name, base, entry, index }}
          form={entry.key === edited ? form : null}
        />
      )}
      <form class="acts up2" method="post" action={schedulesPath(name)}>
        <FormKey />
        <input type="hidden" name="base" value={String(base)} />
        <input type="hidden" name="key" value={entry.key} />
        <button type="submit" class="btn" name="do" value={entry.isPaused ? 'resume' : 'pause'}>
          {entry.isPaused ? 'Resume' : 'Pause'}
          <span class="vh"> {entry.task}</span>
        </button>
        <button type="submit" class="btn" name="do" value="delete">
          Delete<span class="vh"> {entry.task}</span>
        </button>
      </form>
    </section>
  )
}
