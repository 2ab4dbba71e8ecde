import type { FC } from 'hono/jsx'
import type { DefinitionFacts, Rehearsal, ScheduleEntry } from '../../agents/contract/agents'
import { countedRunsMax } from '../../agents/contract/schedules'
import { formatMoney, formatPlural, toIso } from '../../shared/format'
import { activationPath } from '../../shared/paths'
import { formatRunCost } from '../agents/format-run-cost'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import type { FormState } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'
import type { LastRun } from './page-queries'
import type { ScheduleField } from './schedule-form'

/** A schedule that is shown before it is saved. */
export interface SchedulePreview {
  entry: ScheduleEntry
  facts: DefinitionFacts
  rehearsal: Rehearsal | null
}

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
  facts: DefinitionFacts | null
  form: FormState<ScheduleField>
  preview: SchedulePreview | null
}

export const schedulesPath = (name: string): string => `/a/${encodeURIComponent(name)}/schedules`

/** Lists the schedules of an agent with their next runs, and previews a new one before it is saved. */
export const SchedulesPage: FC<SchedulesPageProps> = (props) => {
  const { frame, name, entries, preview, requesters, ownerName } = props
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
      {preview && <Preview {...props} preview={preview} />}
      {entries.length === 0 && !preview && (
        <div class="empty up4">
          <p>
            <strong>No schedules yet.</strong> Add one below: a time, and what {name} does then.
          </p>
        </div>
      )}
      {entries.map((entry) => (
        <Entry {...props} entry={entry} />
      ))}
      {!preview && <NewScheduleForm {...props} />}
    </Layout>
  )
}

const Entry: FC<SchedulesPageProps & { entry: ScheduleEntry }> = ({ entry, ...props }) => {
  const { name, base, frame } = props
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
      <form class="acts up2" method="post" action={schedulesPath(name)}>
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

/** The next runs in the time zone of the schedule, which is named. */
const NextRuns: FC<{ entry: ScheduleEntry }> = ({ entry: { nextRuns, timezone } }) => (
  <>
    <h3 class="up3">Next runs ({timezone})</h3>
    <ol class="list">
      {nextRuns.map((at) => (
        <li>
          <span>{formatInZone(at, timezone)}</span>
          <span class="r meta">{toIso(at).slice(0, 16).replace('T', ' ')} UTC</span>
        </li>
      ))}
    </ol>
  </>
)

const formatInZone = (at: number, timeZone: string): string =>
  new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone, weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit' },
  }).format(at)

function formatDayMost({ entry, facts }: SchedulePreview): string {
  const runs = entry.runsInDay
  const count =
    runs >= countedRunsMax ? `${countedRunsMax} runs or more` : formatPlural(runs, 'run', 'runs')
  if (facts.runCostMaxMicrousd === null) return count
  const limit = facts.budget.costPerDayMicrousd
  const most = runs * facts.runCostMaxMicrousd
  return limit !== null && limit < most
    ? `${count}, ${formatMoney(limit, 'budget')}: the budget a day of the definition`
    : `${count}, ${formatMoney(most, 'trace')}`
}

const Preview: FC<SchedulesPageProps & { preview: SchedulePreview }> = (props) => {
  const { name, base, preview, form } = props
  const { entry, facts, rehearsal } = preview
  return (
    <section class="block" id="preview" aria-label="Preview of the schedule">
      <h2>Before you save</h2>
      <p class="words">{entry.task}</p>
      <NextRuns entry={entry} />
      <dl class="def up3">
        <dt>Model</dt>
        <dd>{facts.model}</dd>
        <dt>One run at most</dt>
        <dd>{formatRunCost(facts)}</dd>
        <dt>Next 24 hours at most</dt>
        <dd>{formatDayMost(preview)}</dd>
      </dl>
      {!facts.grants.some((grant) => writeGrants.includes(grant)) && (
        <p class="note up3">
          The definition of {name} does not request <code>hub:write</code>, so {name} posts nothing
          in this hub. Its answer is on the page of the run.
        </p>
      )}
      {rehearsal && <RehearsalBlock rehearsal={rehearsal} />}
      <form class="acts up3" method="post" action={schedulesPath(name)}>
        <input type="hidden" name="base" value={String(base)} />
        {(Object.keys(form.typed) as ScheduleField[]).map((field) => (
          <input type="hidden" name={field} value={form.typed[field]} />
        ))}
        <button type="submit" class="btn go" name="do" value="save">
          Save schedule
        </button>
        <button type="submit" class="btn" name="do" value="edit">
          Change
        </button>
        <a class="ul" href={schedulesPath(name)}>
          Cancel
        </a>
      </form>
    </section>
  )
}

/** Grants of the tools that post in this hub. */
const writeGrants = ['hub:write', 'hub:*', '*']

const RehearsalBlock: FC<{ rehearsal: Rehearsal }> = ({ rehearsal }) => (
  <>
    <h3 class="up3">Rehearsal</h3>
    <RehearsedSteps {...rehearsal} />
    <p class="meta up2">Nothing was spent, called or posted.</p>
    <details class="up2">
      <summary class="meta">Prompt of the first step, without memory and tools</summary>
      {rehearsal.prompt.map(({ role, text }) => (
        <>
          <h4>{role}</h4>
          <p class="words">{text}</p>
        </>
      ))}
    </details>
  </>
)

const NewScheduleForm: FC<SchedulesPageProps> = ({ name, base, form }) => (
  <section class="block" aria-label="New schedule">
    <h2>New schedule</h2>
    <ErrorSummary problem={form.problem} />
    <form class="form up2" method="post" action={schedulesPath(name)}>
      <input type="hidden" name="base" value={String(base)} />
      <Field
        form={form}
        name="cron"
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
  </section>
)

/** The steps of a run as far as they are known before it: later ones depend on what its tools return. */
const RehearsedSteps: FC<Rehearsal> = ({ firstStep, stepsMax, toolCallsMax }) => (
  <ol>
    <li>The model gets the task with the prompt below, its memory and its tools.</li>
    {'tool' in firstStep ? (
      <>
        <li>
          The built-in offline model begins with <code>{firstStep.tool}</code>{' '}
          <code>{firstStep.arguments}</code>. Another model may begin differently.
        </li>
        <li>
          The next steps depend on the results: at most{' '}
          {formatPlural(stepsMax - 1, 'further step', 'further steps')} and{' '}
          {formatPlural(toolCallsMax, 'tool call', 'tool calls')} in all.
        </li>
      </>
    ) : (
      <li>The built-in offline model answers: {firstStep.answer}</li>
    )}
    <li>The answer is on the page of the run. Only its tools post.</li>
  </ol>
)
