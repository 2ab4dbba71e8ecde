import type { Hono } from 'hono'
import type { DefinitionFiles } from '../../agents/contract/agents'
import { diffFiles } from '../../hub/definitions/diff-files'
import { definitionErrors } from '../../hub/definitions/errors'
import { requireCreator, requireEditor } from '../../hub/definitions/may-edit'
import { previewDefinition } from '../../hub/definitions/preview-definition'
import { selectDefinition, selectVersions } from '../../hub/definitions/queries'
import { type Saver, saveDefinition } from '../../hub/definitions/save-definition'
import { grantErrors } from '../../hub/grants/errors'
import { selectPolicies } from '../../hub/grants/policy-queries'
import { type HubEnv, requireViewer, toActor, toAppError } from '../../hub/http/page-entry'
import { deleteAsOwner } from '../../hub/people/delete-account'
import { peopleErrors } from '../../hub/people/errors'
import type { ErrorDetail } from '../../shared/errors'
import { accountPath } from '../../shared/paths'
import type { FormProblem } from '../form/form-state'
import { toProblem } from '../form/to-problem'
import { readForm, runFormOnce } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { editPath, newAgentPath } from './agent-paths'
import {
  addSkill,
  readDefinitionForm,
  type SubmittedDefinition,
  toDefinitionForm,
} from './definition-form'
import { EditPage } from './edit-page'
import { TemplatesPage } from './templates-page'

/** Registers `/agents/new` and `/a/:name/edit` with their forms, and the form that deletes an agent. */
export function registerEditPages(app: Hono<HubEnv>): void {
  app.get(newAgentPath, page(showNew))
  app.post(
    newAgentPath,
    page((c) => submit(c, null)),
  )
  app.get(
    '/a/:name/edit',
    page((c) => show(c, nameOf(c), {})),
  )
  app.post(
    '/a/:name/edit',
    page((c) => submit(c, nameOf(c))),
  )
  app.post('/a/:name/delete', page(remove))
}

const nameOf = (c: PageContext): string => c.req.param('name') ?? ''

/** Shows the templates, then the form with the files of the chosen one. */
async function showNew(c: PageContext): Promise<Response> {
  const { templates } = c.var.context.agents
  const chosen = templates.find(({ name }) => name === c.req.query('template'))
  if (chosen) {
    const name = (c.req.query('name') ?? '').trim()
    return show(c, null, { files: name ? rename(chosen.files, name) : chosen.files })
  }
  const { frame } = await readPage(c, {})
  if (!frame.viewer) throw grantErrors.signIn()
  requireCreator(frame.viewer)
  return sendPage(c, <TemplatesPage frame={frame} templates={templates} />)
}

const rename = (files: DefinitionFiles, name: string): DefinitionFiles => ({
  ...files,
  'config.yaml': (files['config.yaml'] ?? '').replace(/^name: .*$/m, () => `name: ${name}`),
})

/** What the form shows besides the saved definition. */
interface Shown {
  /** Absent: those of the current version. */
  files?: DefinitionFiles
  /** The version that the author started from; absent: the current one. */
  base?: number
  problems?: ErrorDetail[]
  problem?: FormProblem
  isConflict?: boolean
}

/** Reads what the form needs, for admins and the owner. @param name null for a new agent */
async function readEditor(c: PageContext, name: string | null, isConflict: boolean) {
  const { frame, answers } = await readPage(c, {
    definition: name === null ? null : selectDefinition({ name }),
    versions: name !== null && isConflict ? selectVersions({ name }) : null,
    policies: selectPolicies(name),
  })
  const { definition = null, versions, policies } = answers
  if (!frame.viewer) throw grantErrors.signIn()
  if (name === null) requireCreator(frame.viewer)
  else requireEditor(frame.viewer, definition?.ownerId ?? null)
  if (name !== null && !definition) throw definitionErrors.notFound()
  return { frame, definition, versions: versions ?? [], policies }
}

/** Checks files that were submitted; saved files have been checked. */
async function check(c: PageContext, { files, problems = [] }: Shown) {
  if (!files || problems.length > 0) return { facts: null, problems }
  const result = await c.var.context.agents.checkDefinition(files)
  return result.ok ? { facts: result.facts, problems } : { facts: null, problems: result.problems }
}

/** @param name null for a new agent */
async function show(
  c: PageContext,
  name: string | null,
  shown: Shown,
  status = 200,
): Promise<Response> {
  const { isConflict = false } = shown
  const { frame, definition, versions, policies } = await readEditor(c, name, isConflict)
  const read = (version: { etag: string } | undefined | null) =>
    name !== null && version ? c.var.context.agents.readDefinition(name, version.etag) : null
  const current = await read(definition)
  const { facts, problems } = await check(c, shown)
  const files = shown.files ?? current ?? {}
  const latest = definition?.version ?? 0
  const { base = latest } = shown
  const started = await read(versions.find(({ version }) => version === base))
  const request = facts && { current, files, facts, policies }
  return sendPage(
    c,
    <EditPage
      frame={frame}
      name={definition?.name ?? null}
      base={isConflict ? latest : base}
      files={files}
      form={toDefinitionForm(files, problems, shown.problem ?? describeProblems(problems))}
      problems={problems}
      warnings={facts?.warnings ?? []}
      isSaved={c.req.method === 'GET' && c.req.query('saved') !== undefined}
      preview={request && (await previewDefinition(c.var.context, request))}
      conflict={started && current && { from: base, diffs: diffFiles(started, current) }}
    />,
    problems.length > 0 && status === 200 ? 422 : status,
  )
}

const describeProblems = (problems: ErrorDetail[]): FormProblem | null =>
  problems.length === 0
    ? null
    : {
        message: 'The definition is not valid.',
        hint: 'Correct the listed lines. Nothing has been saved.',
      }

/** Handles the form: adds a skill, checks, or saves. */
async function submit(c: PageContext, name: string | null): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  if (name === null) requireCreator(viewer)
  const read = await readForm(c)
  const submitted = readDefinitionForm(read)
  const { files, base } = submitted
  const action = read('do')
  if (action === 'add_skill') {
    const added = addSkill(files, read('new_skill').trim())
    if ('files' in added) return show(c, name, { files: added.files, base })
    const problem = { message: 'The skill was not added.', hint: added.error }
    return show(c, name, { files, base, problem }, 400)
  }
  if (action !== 'save') return show(c, name, { files, base })
  try {
    const saved = await runFormOnce(c, viewer, 'definitions.save', () =>
      save(c, viewer, name, submitted),
    )
    return c.redirect(name === null ? accountPath(saved) : `${editPath(saved)}?saved`, 303)
  } catch (error) {
    return showRejected(c, name, submitted, error)
  }
}

/** Saves a definition and returns its name. */
async function save(
  c: PageContext,
  editor: Saver,
  name: string | null,
  { files, base, allowGrants }: SubmittedDefinition,
): Promise<string> {
  const { context } = c.var
  const options = { baseVersion: base, allowGrants }
  const target = name ?? (await readName(c, files))
  const { name: saved } = await saveDefinition(context, editor, target, files, options)
  return saved
}

/** Returns the name in the files of a new agent. @throws INVALID_DEFINITION */
async function readName(c: PageContext, files: DefinitionFiles): Promise<string> {
  const check = await c.var.context.agents.checkDefinition(files)
  if (check.ok) return check.facts.name
  throw definitionErrors.invalid('the new agent', check.problems)
}

/** Deletes the agent after its name was typed to confirm. What it wrote stays. */
async function remove(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const read = await readForm(c)
  const name = nameOf(c)
  if (read('confirm').trim() !== name) throw peopleErrors.wrongConfirmation()
  await deleteAsOwner(c.var.context, viewer, toActor(viewer, null), name, { words: 'keep' })
  return c.redirect('/agents', 303)
}

/** Shows the form of a definition that was not saved, with what was typed. */
function showRejected(
  c: PageContext,
  name: string | null,
  { files, base }: SubmittedDefinition,
  error: unknown,
): Promise<Response> {
  const { code, details = [], status } = toAppError(error)
  if (code === 'INVALID_DEFINITION')
    return show(c, name, { files, base, problems: details }, status)
  if (code === 'CONFLICT' && name !== null) {
    const problem = {
      message: 'Somebody else saved this definition while you edited it.',
      hint: 'Compare the changes below, then save again. Your text replaces theirs.',
    }
    return show(c, name, { files, base, problem, isConflict: true }, 409)
  }
  if (code === 'FORBIDDEN' && details.length > 0) {
    const problem = { message: toAppError(error).message, hint: toAppError(error).hint }
    return show(c, name, { files, base, problems: details, problem }, status)
  }
  if (!['CONFLICT', 'VALIDATION', 'RATE_LIMITED'].includes(code)) throw error
  const { message, hint } = toProblem(error)
  return show(c, name, { files, base, problem: { message, hint } }, status)
}
