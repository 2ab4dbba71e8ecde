import type { Hono } from 'hono'
import type { DefinitionFiles, ScheduleEdit } from '../../agents/contract/agents'
import { definitionErrors } from '../../hub/definitions/errors'
import { requireEditor } from '../../hub/definitions/may-edit'
import { type DefinitionRow, selectDefinition } from '../../hub/definitions/queries'
import { readFiles, type Saver, saveDefinition } from '../../hub/definitions/save-definition'
import { grantErrors } from '../../hub/grants/errors'
import { type HubEnv, requireViewer, toAppError } from '../../hub/http/page-entry'
import { run } from '../../shared/db/batch'
import { AppError } from '../../shared/errors'
import type { FormState } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { toProblem } from '../form/to-problem'
import { readForm, runFormOnce } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { selectLastRuns, selectScheduleNames } from './page-queries'
import { emptyForm, type ScheduleField, scheduleForm, scheduleInput } from './schedule-form'
import type { SchedulePreview } from './schedule-preview'
import { SchedulesPage } from './schedules-page'
import { schedulesPath } from './schedules-path'

type Form = FormState<ScheduleField>

/** Registers `/a/:name/schedules` with its forms. */
export function registerSchedulePages(app: Hono<HubEnv>): void {
  app.get(
    '/a/:name/schedules',
    page((c) => show(c, { form: emptyForm })),
  )
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

async function show(c: PageContext, shown: Shown, status = 200): Promise<Response> {
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
    ...{ frame, name: definition.name, form, edited, lastRuns },
    base: shown.base ?? definition.version,
    requesters: names?.requesters ?? [],
    ownerName: names?.ownerName ?? null,
    entries: agents.schedules.list(files, frame.now),
    preview: shown.preview ? await preview(c, files, shown.preview) : null,
  }
  return sendPage(c, <SchedulesPage {...props} />, status)
}

/** Returns what a valid change of a schedule does, by the definition that has it. */
async function preview(
  c: PageContext,
  files: DefinitionFiles,
  edit: ScheduleEdit,
): Promise<SchedulePreview | null> {
  if (!('task' in edit)) return null
  const { cron, timezone, task } = edit
  const { agents, clock } = c.var.context
  const changed = agents.schedules.edit(files, edit)
  const checked = changed && (await agents.checkDefinition(changed))
  const entry =
    changed &&
    agents.schedules
      .list(changed, clock.now())
      .findLast((each) => each.cron === cron && each.timezone === timezone && each.task === task)
  if (!checked?.ok || !entry) return null
  return { entry, facts: checked.facts, rehearsal: await agents.schedules.rehearse(changed, task) }
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
      await runFormOnce(c, editor, 'schedules.save', async () => {
        const options = { baseVersion: base, allowGrants: [] }
        return (await saveDefinition(context, editor, name, change(), options)).version
      })
      return c.redirect(schedulesPath(name), 303)
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
      return field === undefined ? [] : [[field, `${message}.`]]
    }),
  )
  const problem =
    Object.keys(errors).length > 0
      ? { message: scheduleForm.rejected, hint: 'Correct the marked field below.' }
      : toProblem(error)
  return show(c, { form: { ...form, errors, problem }, edited, base }, 400)
}
