import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import * as z from 'zod'
import type {
  DefinitionFacts,
  DefinitionFiles,
  Rehearsal,
  ScheduleEdit,
  ScheduleEntry,
} from '../../agents/contract/agents'
import { countedRunsMax } from '../../agents/contract/definitions'
import { readFiles, saveDefinition } from '../../hub/agents/definition-actions'
import { type DefinitionRow, selectDefinition } from '../../hub/agents/definition-queries'
import { definitionErrors, OtherHeldError, requireEditor } from '../../hub/agents/definition-rules'
import type { Saver } from '../../hub/agents/hold-definition'
import { grantErrors } from '../../hub/grants/actions'
import { findNotGranted } from '../../hub/grants/preview'
import { selectPolicies, toEffectivePolicy } from '../../hub/grants/queries'
import { type HubEnv, requireViewer, toAppError } from '../../hub/http/page-entry'
import { run } from '../../shared/db/batch'
import { AppError } from '../../shared/errors'
import { formatMoney, formatPlural } from '../../shared/format'
import { activationPath } from '../../shared/paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  describeText,
  type FormDefinition,
  type FormState,
  readFormWith,
  toProblem,
  toSentence,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { FormKey, readForm, runFormOnce } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AccountLink, TextLink } from '../parts/links'
import { NextRuns, RelativeTime } from '../parts/times'
import { heldPath, schedulesPath } from './agent-paths'
import { formatRunCost, ReachNote, whereAnswersGo } from './edit-page'
import { type LastRun, selectLastRuns, selectScheduleNames } from './schedule-queries'

type Form = FormState<ScheduleField>

/** Registers `/a/:name/schedules` with its forms. */
export function registerSchedulePages(app: Hono<HubEnv>): void {
  app.get('/a/:name/schedules', page(show))
  app.post('/a/:name/schedules', page(submit))
}

const nameOf = (c: PageContext): string => c.req.param('name') ?? ''

interface Shown {
  form: Form
  /** Key of the schedule that the form changes; absent for a new one. */
  edited?: string | null
  /** The version that the author started from; absent: the current one. */
  base?: number
  /** The change to show before it is saved. */
  preview?: ScheduleEdit
}

async function show(
  c: PageContext,
  shown: Shown = { form: emptyForm },
  status = 200,
): Promise<Response> {
  const { form, edited = null } = shown
  const name = nameOf(c)
  const { frame, answers } = await readPage(c, {
    definition: selectDefinition({ name }),
    names: selectScheduleNames({ name }),
    lastRuns: selectLastRuns({ name }),
  })
  const { definition, names, lastRuns } = answers
  if (!frame.viewer) throw grantErrors.signIn()
  requireEditor(frame.viewer, definition?.ownerId ?? null)
  if (!definition) throw definitionErrors.notFound()
  const { agents } = c.var.context
  const files = await readFiles(c.var.context, name, definition)
  const props = {
    frame,
    name: definition.name,
    form,
    edited,
    lastRuns,
    base: shown.base ?? definition.version,
    requesters: names?.requesters ?? [],
    ownerName: names?.ownerName ?? null,
    entries: agents.schedules.list(files, frame.now),
    preview: shown.preview
      ? await preview(c, definition, files, shown.preview, frame.viewer.name)
      : null,
  }
  return sendPage(c, <SchedulesPage {...props} />, status)
}

/** Returns what a valid change of a schedule does, by the definition that has it. */
async function preview(
  c: PageContext,
  definition: DefinitionRow,
  files: DefinitionFiles,
  edit: ScheduleEdit,
  savedBy: string,
): Promise<SchedulePreview | null> {
  if (!('task' in edit)) return null
  const { cron, timezone, task } = edit
  const { agents, clock, db, tools } = c.var.context
  const changed = agents.schedules.edit(files, edit)
  const checked = changed && (await agents.checkDefinition(changed))
  const entry =
    changed &&
    agents.schedules
      .list(changed, clock.now())
      .findLast((each) => each.cron === cron && each.timezone === timezone && each.task === task)
  if (!checked?.ok || !entry) return null
  const rehearsal = await agents.schedules.rehearse(changed, { task, savedBy })
  // Read for a preview only: policies are rows of all agents.
  const policies = await run(db, selectPolicies({ name: definition.name }))
  const policy = policies.find(({ id }) => id === definition.agentId)
  const notGranted = policy ? findNotGranted(toEffectivePolicy(policy), tools) : []
  return { entry, facts: checked.facts, notGranted, rehearsal }
}

async function submit(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const read = await readForm(c)
  const definition = await run(c.var.context.db, selectDefinition({ name: nameOf(c) }))
  requireEditor(viewer, definition?.ownerId ?? null)
  if (!definition) throw definitionErrors.notFound()
  const [action, key, base] = [read('do'), read('key'), Number(read('base')) || 0]
  const edit = readEdit(action, key)
  if (edit) return save(c, viewer, definition, { edit, form: emptyForm, base })
  const sent = readFormWith(scheduleInput, read, scheduleForm)
  const edited = key === '' ? null : key
  if (action === 'edit') return show(c, { form: { ...sent.form, problem: null }, edited, base })
  if (!sent.isValid) return show(c, { form: sent.form, edited, base }, 400)
  const change: ScheduleEdit =
    edited === null ? { kind: 'add', ...sent.value } : { kind: 'change', key, ...sent.value }
  const isPreview = action !== 'save'
  return save(c, viewer, definition, { edit: change, form: sent.form, edited, base, isPreview })
}

interface Sent {
  edit: ScheduleEdit
  form: Form
  edited?: string | null
  /** The version that the form started from. */
  base: number
  isPreview?: boolean
}

/** Saves the definition with a changed schedule, or shows it before. */
async function save(
  c: PageContext,
  editor: Saver,
  definition: DefinitionRow,
  { isPreview = false, ...sent }: Sent,
): Promise<Response> {
  const { context } = c.var
  const { name } = definition
  const { agents } = context
  const { edit, base } = sent
  const files = await readFiles(context, name, definition)
  const change = (): DefinitionFiles => {
    const changed = agents.schedules.edit(files, edit)
    if (changed) return changed
    throw scheduleGone()
  }
  try {
    if (!isPreview) {
      const { isHeld } = await runFormOnce(c, editor, 'schedules.save', async () => {
        const options = { baseVersion: base, allowGrants: [] }
        const { held } = await saveDefinition(context, editor, name, change(), options)
        return { isHeld: held !== null }
      })
      return c.redirect(isHeld ? heldPath(name) : schedulesPath(name), 303)
    }
    const checked = await agents.checkDefinition(change())
    if (!checked.ok) throw definitionErrors.invalid(name, checked.problems)
    return show(c, { ...sent, preview: edit })
  } catch (error) {
    return showRejected(c, sent, error)
  }
}

const scheduleGone = () =>
  new AppError('TOO_LATE', 'This schedule is not in the definition any more.')

/** Shows that the schedule is gone; what was typed is in the form of a new one. */
function showGone(c: PageContext, { edit, form }: Sent): Promise<Response> {
  const kept = edit.kind === 'change' ? ' What you typed is in the form for a new schedule.' : ''
  const problem = {
    message: scheduleGone().message,
    hint: `Somebody changed it since you opened the page. The list below is current.${kept}`,
  }
  return show(c, { form: { ...form, problem } }, 409)
}

function readEdit(action: string, key: string): ScheduleEdit | null {
  if (action === 'pause' || action === 'resume' || action === 'delete') return { kind: action, key }
  return null
}

/** Shows the form again: with the problem at its field, or above it. */
function showRejected(c: PageContext, sent: Sent, error: unknown): Promise<Response> {
  const { form, edited = null, base } = sent
  const { code, details = [], status } = toAppError(error)
  if (code === 'TOO_LATE') return showGone(c, sent)
  if (error instanceof OtherHeldError) {
    const { message, hint } = error
    return show(c, { form: { ...form, problem: { message, hint } }, edited }, status)
  }
  if (code === 'CONFLICT') {
    const problem = {
      message: 'Somebody else changed the definition.',
      hint: 'Look at the list, then save again.',
    }
    return show(c, { form: { ...form, problem }, edited }, status)
  }
  if (code !== 'INVALID_DEFINITION') throw error
  const errors = Object.fromEntries(
    details.flatMap(({ path, message }) => {
      const field = /\.schedule\.\d+\.(cron|timezone|task)$/.exec(path)?.[1]
      return field === undefined ? [] : [[field, toSentence(message)]]
    }),
  )
  const problem =
    Object.keys(errors).length > 0
      ? { message: scheduleForm.rejected, hint: 'Correct the marked field below.' }
      : toProblem(error)
  return show(c, { form: { ...form, errors, problem }, edited, base }, 400)
}

interface SchedulesPageProps {
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
const SchedulesPage: FC<SchedulesPageProps> = (props) => {
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
          name={name}
          base={base}
          entry={entry}
          index={index}
          form={entry.key === edited ? form : null}
        />
      )}
      <form class="acts up2" method="post" action={schedulesPath(name)}>
        <FormKey />
        <input type="hidden" name="base" value={String(base)} />
        <input type="hidden" name="key" value={entry.key} />
        <Submit name="do" value={entry.isPaused ? 'resume' : 'pause'}>
          {entry.isPaused ? 'Resume' : 'Pause'}
          <span class="vh"> {entry.task}</span>
        </Submit>
      </form>
      <DeleteScheduleForm name={name} base={base} entry={entry} />
    </section>
  )
}

const DeleteScheduleForm: FC<{ name: string; base: number; entry: ScheduleEntry }> = ({
  name,
  base,
  entry,
}) => (
  <details class="danger up2">
    <summary>
      Delete<span class="vh"> {entry.task}</span>
    </summary>
    <form class="up2" method="post" action={schedulesPath(name)}>
      <FormKey />
      <input type="hidden" name="base" value={String(base)} />
      <input type="hidden" name="key" value={entry.key} />
      <p class="meta">{name} is not given this task again. Its earlier runs stay.</p>
      <Submit class="up2" name="do" value="delete">
        Delete schedule<span class="vh"> {entry.task}</span>
      </Submit>
    </form>
  </details>
)

interface FormProps {
  name: string
  /** The version that the form starts from. */
  base: number
  form: FormState<ScheduleField>
}

const NewScheduleForm: FC<FormProps> = (props) => (
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
const EditScheduleForm: FC<EditScheduleFormProps> = ({ entry, index, form, ...props }) => (
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
      hint="What to do, and where to publish. If the run writes in no thread, its final answer goes to the inbox of whoever saved the schedule."
    />
    <div>
      <Submit isMain name="do" value="preview">
        Preview
      </Submit>
    </div>
  </form>
)

const taskCharsMax = 2_000

const scheduleInput = z.object({
  cron: z.string().trim().min(1).max(100),
  timezone: z.string().trim().min(1).max(60),
  task: z.string().trim().min(1).max(taskCharsMax),
})

type ScheduleField = keyof z.output<typeof scheduleInput>

const scheduleForm: FormDefinition<ScheduleField> = {
  rejected: 'The schedule was not saved.',
  fields: {
    cron: { message: 'Enter five fields, such as 0 9 * * 1-5, or @daily.' },
    timezone: { message: 'Enter a time zone, such as Europe/Berlin.' },
    task: { message: describeText('The task', taskCharsMax) },
  },
}

/** Returns the form of a schedule as it is. */
const formOf = ({
  cron,
  timezone,
  task,
}: Record<ScheduleField, string>): FormState<ScheduleField> => createForm({ cron, timezone, task })

/** The form of a new schedule. */
const emptyForm = formOf({ cron: '', timezone: 'UTC', task: '' })

/** A schedule that is shown before it is saved. */
interface SchedulePreview {
  entry: ScheduleEntry
  facts: DefinitionFacts
  notGranted: string[]
  rehearsal: Rehearsal | null
}

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

interface PreviewProps {
  name: string
  /** The version that the author started from. */
  base: number
  form: FormState<ScheduleField>
  /** Key of the schedule that would change; null for a new one. */
  edited: string | null
  preview: SchedulePreview
}

/** Shows what a schedule would do and cost, with the form that saves it. */
const Preview: FC<PreviewProps> = ({ name, base, form, edited, preview }) => {
  const { entry, facts, rehearsal } = preview
  return (
    <section class="block" id="preview" aria-label="Preview of the schedule">
      <h2>Before you save</h2>
      <p class="words">{entry.task}</p>
      {entry.isPaused && (
        <p class="meta up2">
          <b>Paused.</b> It stays paused. These are its next runs if you resume it.
        </p>
      )}
      <NextRuns entry={entry} />
      <dl class="def up3">
        <dt>Model</dt>
        <dd>{facts.model}</dd>
        <dt>One run at most</dt>
        <dd>{formatRunCost(facts)}</dd>
        <dt>Next 24 hours at most</dt>
        <dd>{formatDayMost(preview)}</dd>
      </dl>
      <ReachNote facts={facts} notGranted={preview.notGranted} />
      {rehearsal && <RehearsalBlock rehearsal={rehearsal} />}
      <form class="acts up3" method="post" action={schedulesPath(name)}>
        <FormKey />
        <input type="hidden" name="base" value={String(base)} />
        {edited !== null && <input type="hidden" name="key" value={edited} />}
        {(Object.keys(form.typed) as ScheduleField[]).map((field) => (
          <input type="hidden" name={field} value={form.typed[field]} />
        ))}
        <Submit isMain name="do" value="save">
          Save schedule
        </Submit>
        <Submit name="do" value="edit">
          Change
        </Submit>
        <TextLink href={schedulesPath(name)}>Cancel</TextLink>
      </form>
    </section>
  )
}

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
    <li>{whereAnswersGo} Only its tools post.</li>
  </ol>
)
