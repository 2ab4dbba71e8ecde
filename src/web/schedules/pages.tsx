import type { Hono } from 'hono'
import type { DefinitionFiles, ScheduleEdit } from '../../agents/contract/agents'
import { definitionErrors } from '../../hub/definitions/errors'
import { type Editor, requireEditor } from '../../hub/definitions/may-edit'
import { type DefinitionRow, selectDefinition } from '../../hub/definitions/queries'
import { readFiles, saveDefinition } from '../../hub/definitions/save-definition'
import { grantErrors } from '../../hub/grants/errors'
import { type HubEnv, requireViewer, toAppError } from '../../hub/http/page-entry'
import { run } from '../../shared/db/batch'
import { createForm, type FormState } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { toProblem } from '../form/to-problem'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { selectLastRuns, selectScheduleNames } from './page-queries'
import { type ScheduleField, scheduleForm, scheduleInput } from './schedule-form'
import { type SchedulePreview, SchedulesPage, schedulesPath } from './schedules-page'

type Form = FormState<ScheduleField>

const emptyForm = createForm<ScheduleField>({ cron: '', timezone: 'UTC', task: '' })

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
  /** Whether the form is shown as a preview. */
  isPreview?: boolean
}

async function show(c: PageContext, { form, isPreview }: Shown, status = 200): Promise<Response> {
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
  const checked = await agents.checkDefinition(files)
  const props = {
    ...{ frame, name: definition.name, base: definition.version, form, lastRuns },
    requesters: names?.requesters ?? [],
    ownerName: names?.ownerName ?? null,
    entries: agents.schedules.list(files, frame.now),
    facts: checked.ok ? checked.facts : null,
    preview: isPreview ? await preview(c, files, form) : null,
  }
  return sendPage(c, <SchedulesPage {...props} />, status)
}

/** Returns what a valid new schedule does, by the definition that has it. */
async function preview(
  c: PageContext,
  files: DefinitionFiles,
  { typed }: Form,
): Promise<SchedulePreview | null> {
  const { agents, clock } = c.var.context
  const changed = agents.schedules.edit(files, { kind: 'add', ...typed })
  const checked = changed && (await agents.checkDefinition(changed))
  const entry = changed && agents.schedules.list(changed, clock.now()).at(-1)
  if (!checked?.ok || !entry) return null
  return {
    entry,
    facts: checked.facts,
    rehearsal: await agents.schedules.rehearse(changed, typed.task),
  }
}

async function submit(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const read = await readForm(c)
  const definition = await run(c.var.context.db, selectDefinition({ name: nameOf(c) }))
  requireEditor(viewer, definition?.ownerId ?? null)
  if (!definition) throw definitionErrors.notFound()
  const action = read('do')
  const edit = readEdit(action, read('key'))
  if (edit) return save(c, viewer, definition, { edit, form: emptyForm, base: read('base') })
  const sent = readFormWith(scheduleInput, read, scheduleForm)
  if (action === 'edit') return show(c, { form: { ...sent.form, problem: null } })
  if (!sent.isValid) return show(c, { form: sent.form }, 400)
  const added = {
    edit: { kind: 'add' as const, ...sent.value },
    form: sent.form,
    base: read('base'),
  }
  return save(c, viewer, definition, { ...added, isPreview: action !== 'save' })
}

interface Sent {
  edit: ScheduleEdit
  form: Form
  /** The version that the form started from. */
  base: string
  isPreview?: boolean
}

/** Saves the definition with a changed schedule, or shows it before. */
async function save(
  c: PageContext,
  editor: Editor,
  definition: DefinitionRow,
  { edit, form, base, isPreview = false }: Sent,
): Promise<Response> {
  const { context } = c.var
  const { name } = definition
  const { agents } = context
  const changed = agents.schedules.edit(await readFiles(context, name, definition), edit)
  if (!changed) return show(c, { form: { ...form, problem: goneProblem } }, 409)
  try {
    if (!isPreview) {
      const options = { baseVersion: Number(base) || 0, allowGrants: [] }
      await saveDefinition(context, editor, name, changed, options)
      return c.redirect(schedulesPath(name), 303)
    }
    const checked = await agents.checkDefinition(changed)
    if (!checked.ok) throw definitionErrors.invalid(name, checked.problems)
    return show(c, { form, isPreview })
  } catch (error) {
    return showRejected(c, form, error)
  }
}

const goneProblem = {
  message: 'This schedule is not in the definition any more.',
  hint: 'Somebody changed it since you opened the page. The list below is current.',
}

function readEdit(action: string, key: string): ScheduleEdit | null {
  if (action === 'pause' || action === 'resume' || action === 'delete') return { kind: action, key }
  return null
}

/** Shows the form again: with the problem at its field, or above it. */
function showRejected(c: PageContext, form: Form, error: unknown): Promise<Response> {
  const { code, details = [], status } = toAppError(error)
  if (code === 'CONFLICT') {
    const problem = {
      message: 'Somebody else changed the definition.',
      hint: 'Look at the list, then save again.',
    }
    return show(c, { form: { ...form, problem } }, status)
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
  return show(c, { form: { ...form, errors, problem } }, 400)
}
