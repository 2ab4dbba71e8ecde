import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import type {
  DefinitionFacts,
  DefinitionFiles,
  DefinitionTemplate,
  ScheduleEntry,
} from '../../agents/contract/agents'
import { deleteAsOwner, peopleErrors } from '../../hub/accounts/people-actions'
import {
  type DefinitionPreview,
  previewDefinition,
  saveDefinition,
} from '../../hub/agents/definition-actions'
import { selectDefinition, selectVersions } from '../../hub/agents/definition-queries'
import {
  definitionErrors,
  diffFiles,
  type FileDiff,
  formatTooDifferent,
  OtherHeldError,
  requireCreator,
  requireEditor,
} from '../../hub/agents/definition-rules'
import { type HeldDefinition, selectHeld } from '../../hub/agents/held-queries'
import type { Saver } from '../../hub/agents/hold-definition'
import { grantErrors } from '../../hub/grants/actions'
import { selectPolicies, toEffectivePolicy } from '../../hub/grants/queries'
import {
  type HubEnv,
  readReader,
  requireViewer,
  toActor,
  toAppError,
} from '../../hub/http/page-entry'
import { isOfflineModel } from '../../hub/runs/run-labels'
import { selectSets } from '../../hub/trials/set-queries'
import { readTrialDraft } from '../../hub/trials/trial-actions'
import type { Viewer } from '../../hub/viewers/queries'
import type { ErrorDetail } from '../../shared/errors'
import { formatCount, formatMoney } from '../../shared/format'
import { accountPath, trialPath } from '../../shared/paths'
import { Checkbox, ErrorSummary, Field, Submit } from '../form/fields'
import { createForm, type FormProblem, type FormState, toProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { FormKey, readForm, runFormOnce } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { DiffText } from '../parts/diff-text'
import { AccountLink, TextLink } from '../parts/links'
import { NextRuns } from '../parts/times'
import {
  AgentFields,
  type AgentFieldsProps,
  addSkill,
  type FilledForm,
  fillForm,
  findField,
  hasErrors,
  listModelChoices,
  listPaths,
  listToolChoices,
  packFiles,
  promptFile,
  readDefinitionForm,
  readList,
  type SubmittedDefinition,
  toFormState,
  unpackFiles,
} from './agent-form'
import { editPath, heldPath, newAgentPath, versionsPath } from './agent-paths'
import { HeldNote } from './held-note'
import { ProblemList } from './problem-list'
import {
  ChosenSetNote,
  type OfferedSets,
  offerSets,
  readSaveTrial,
  readSetChoice,
  type SaveTrial,
  SaveTrialNote,
  type SetChoice,
  startTrialOf,
  TryOnSet,
} from './try-on-set'

/** Registers `/agents/new` and `/a/:name/edit` with their forms, and the form that deletes an agent. */
export function registerEditPages(app: Hono<HubEnv>): void {
  app.get(newAgentPath, page(showNew))
  app.post(
    newAgentPath,
    page((c) => submit(c, null)),
  )
  app.get(
    '/a/:name/edit',
    page(async (c) =>
      show(c, nameOf(c), {
        ...(await readTried(c, nameOf(c))),
        ...readChosenSet(c),
        isForm: c.req.query('view') !== 'files',
      }),
    ),
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
  const { templates, forms } = c.var.context.agents
  const chosen = templates.find(({ name }) => name === c.req.query('template'))
  if (chosen) {
    const { files } = chosen
    const given = (c.req.query('name') ?? '').trim()
    const form = forms.read(files)
    if (given === '' || !form) return show(c, null, { files })
    const name = toAgentName(given) || given
    const renamed = { ...form, name, ...(name !== given && { displayName: given.slice(0, 60) }) }
    return show(c, null, {
      files: forms.write(files, renamed),
      nameNote: describeName(given, name),
    })
  }
  const { frame } = await readPage(c, {})
  if (!frame.viewer) throw grantErrors.signIn()
  requireCreator(frame.viewer)
  return sendPage(c, <TemplatesPage frame={frame} templates={templates} />)
}

/** Returns the draft of the trial in the address, to go on with it; nothing without one. */
async function readTried(c: PageContext, name: string): Promise<Pick<Shown, 'files'>> {
  const trial = c.req.query('trial')
  if (c.req.query('held') !== undefined) return readHeldFiles(c, name)
  if (trial === undefined) return {}
  const { frame } = await readPage(c, {})
  if (!frame.viewer) throw grantErrors.signIn()
  const caller = { viewer: frame.viewer, reader: await readReader(c) }
  return { files: await readTrialDraft(c.var.context, caller, trial, name) }
}

/** Returns the set in the address, on which the change is to be tried; nothing without one. */
function readChosenSet(c: PageContext): Pick<Shown, 'choice'> {
  const setId = c.req.query('set')
  return setId === undefined ? {} : { choice: { setId, repeats: 1 } }
}

/** Returns the change that waits for its trial; nothing without one. */
async function readHeldFiles(c: PageContext, name: string): Promise<Pick<Shown, 'files'>> {
  const { frame, answers } = await readPage(c, { held: selectHeld({ name }) })
  const { held } = answers
  if (!frame.viewer) throw grantErrors.signIn()
  requireEditor(frame.viewer, held?.ownerId ?? null)
  const files = held && (await c.var.context.agents.readDefinition(name, held.etag))
  return files ? { files } : {}
}

/** Returns a text as the name of an agent; empty when nothing of it can stand in one. */
const toAgentName = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 32)
    .replace(/-$/, '')

const describeName = (given: string, name: string): string | undefined =>
  given === name
    ? undefined
    : `People mention it as @${name}: names have a-z, 0-9 and - only. It is shown as ${given}.`

/** What the form shows besides the saved definition. */
interface Shown {
  /** What became of the name that was typed for a new agent; absent: it is as it was. */
  nameNote?: string | undefined
  /** Whether the files are shown as a form, where they can be. Default: true */
  isForm?: boolean
  /** What was typed into the form, with its errors; absent: what the files say. */
  filled?: FilledForm
  /** Absent: those of the current version. */
  files?: DefinitionFiles
  /** The version that the author started from; absent: the current one. */
  base?: number
  problems?: ErrorDetail[]
  problem?: FormProblem
  isConflict?: boolean
  /** The set on which the draft is to be tried. */
  choice?: SetChoice
}

/** Reads what the form needs, for admins and the owner. @param name null for a new agent */
async function readEditor(c: PageContext, name: string | null, isConflict: boolean) {
  const { frame, answers } = await readPage(c, {
    definition: name === null ? null : selectDefinition({ name }),
    versions: name !== null && isConflict ? selectVersions({ name }) : null,
    policies: selectPolicies({ name }),
    connections: c.var.context.models.selectConnections(),
    held: name === null ? null : selectHeld({ name }),
    sets: name === null ? null : selectSets({ agent: name }),
  })
  const { definition = null, versions, policies, connections, held, sets } = answers
  if (!frame.viewer) throw grantErrors.signIn()
  if (name === null) requireCreator(frame.viewer)
  else requireEditor(frame.viewer, definition?.ownerId ?? null)
  if (name !== null && !definition) throw definitionErrors.notFound()
  return {
    frame,
    definition,
    versions: versions ?? [],
    policies,
    connections,
    held: held ?? null,
    sets: sets ?? [],
  }
}

/** Checks files that were submitted; saved files have been checked. */
async function check(c: PageContext, { files, filled, problems = [] }: Shown) {
  if (!files || problems.length > 0 || hasErrors(filled)) return { facts: null, problems }
  const result = await c.var.context.agents.checkDefinition(files)
  return result.ok ? { facts: result.facts, problems } : { facts: null, problems: result.problems }
}

type Editor = Awaited<ReturnType<typeof readEditor>>

/** Returns the files as a form; null when they are shown as text, or have no form. */
async function toFields(
  { context }: PageContext['var'],
  files: DefinitionFiles,
  { policies, connections, sets }: Pick<Editor, 'policies' | 'connections' | 'sets'>,
) {
  const agent = context.agents.forms.read(files)
  if (!agent) return null
  const [row] = policies
  if (row) await context.tools.refresh(toEffectivePolicy(row))
  return {
    agent,
    models: listModelChoices(context.agents.models, connections, agent.model),
    tools: listToolChoices(context.tools.servers, agent.grants),
    programs: context.agents.forms.programs,
    sets: sets.map(({ name }) => name),
  }
}

/** Returns what a draft can be tried on, and the trial that saving it starts. */
async function readTrials(
  c: PageContext,
  { frame: { viewer }, definition, sets }: Pick<Editor, 'frame' | 'definition' | 'sets'>,
  draft: { files: DefinitionFiles; facts: DefinitionFacts | null; choice: SetChoice | null },
): Promise<Pick<EditPageProps, 'offered' | 'saveTrial'>> {
  if (!definition || !viewer) return { offered: null, saveTrial: null }
  const { files, facts, choice } = draft
  const gate = facts && definition.gate
  const isOffline = facts?.isOffline ?? isOfflineModel(definition.model)
  const sent = c.req.method === 'POST' ? files : null
  return {
    offered: { ...(await offerSets(c, viewer, sets, sent, choice)), isOffline },
    saveTrial: gate && (await readSaveTrial(c, viewer, sets, files, gate)),
  }
}

/** @param name null for a new agent */
async function show(
  c: PageContext,
  name: string | null,
  shown: Shown,
  status = 200,
): Promise<Response> {
  const { isConflict = false, isForm = true, filled } = shown
  const { agents, clock } = c.var.context
  const { frame, definition, versions, policies, connections, held, sets } = await readEditor(
    c,
    name,
    isConflict,
  )
  const read = (version: { etag: string } | undefined | null) =>
    name !== null && version ? agents.readDefinition(name, version.etag) : null
  const current = await read(definition)
  const { facts, problems } = await check(c, shown)
  const files = shown.files ?? current ?? {}
  const fields = isForm ? await toFields(c.var, files, { policies, connections, sets }) : null
  const latest = definition?.version ?? 0
  const { base = latest } = shown
  const started = await read(versions.find(({ version }) => version === base))
  const request = facts && { current, files, facts, policies }
  const choice = shown.choice ?? null
  const trials = await readTrials(c, { frame, definition, sets }, { files, facts, choice })
  return sendPage(
    c,
    <EditPage
      frame={frame}
      name={definition?.name ?? null}
      base={isConflict ? latest : base}
      files={files}
      form={toFormState(files, fields?.agent ?? null, { ...shown, problems })}
      fields={fields}
      nameNote={shown.nameNote}
      held={held}
      entries={facts ? agents.schedules.list(files, clock.now()) : []}
      problems={problems}
      warnings={facts?.warnings ?? []}
      isSaved={c.req.method === 'GET' && c.req.query('saved') !== undefined}
      preview={request && (await previewDefinition(c.var.context, request))}
      {...trials}
      conflict={started && current && { from: base, diffs: diffFiles(started, current) }}
    />,
    (problems.length > 0 || hasErrors(filled)) && status === 200 ? 422 : status,
  )
}

/** Reads what was sent: files as they were typed, or a form that is written into the files that it showed. */
function readSubmitted(
  c: PageContext,
  name: string | null,
  read: (name: string) => string,
): SubmittedDefinition & Pick<Shown, 'isForm' | 'filled'> {
  const sent = readDefinitionForm(read)
  if (read('view') !== 'form') return { ...sent, isForm: false }
  const shown = unpackFiles(read('files'), read(promptFile))
  const options = { isNew: name === null, offered: readList(read('offered')) }
  const filled = fillForm(c.var.context.agents.forms, shown, read, options)
  return filled
    ? { ...sent, files: filled.files, isForm: true, filled }
    : { ...sent, files: shown, isForm: false }
}

/** Handles the form: adds a skill, checks, or saves. */
async function submit(c: PageContext, name: string | null): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  if (name === null) requireCreator(viewer)
  const read = await readForm(c)
  const submitted = readSubmitted(c, name, read)
  const { files, base, filled } = submitted
  const action = read('do')
  if (action === 'add_skill') {
    const added = addSkill(files, read('new_skill').trim())
    const isForm = false
    if ('files' in added) return show(c, name, { files: added.files, base, isForm })
    const problem = { message: 'The skill was not added.', hint: added.error }
    return show(c, name, { files, base, problem, isForm }, 400)
  }
  if (hasErrors(filled)) return show(c, name, submitted)
  if (action === 'files' || action === 'form') {
    return show(c, name, { files, base, isForm: action === 'form' })
  }
  if (action === 'try') return show(c, name, { ...submitted, choice: readSetChoice(read) })
  if (action === 'start_trial') return submitTrial(c, name, viewer, submitted, readSetChoice(read))
  if (action !== 'save') return show(c, name, submitted)
  try {
    const saved = await runFormOnce(c, viewer, 'definitions.save', () =>
      save(c, viewer, name, submitted),
    )
    const { isHeld } = saved
    if (isHeld) return c.redirect(heldPath(saved.name), 303)
    return c.redirect(
      name === null ? accountPath(saved.name) : `${editPath(saved.name)}?saved`,
      303,
    )
  } catch (error) {
    return showRejected(c, name, submitted, error)
  }
}

/** Starts a trial of the draft and shows it; the form again with what was typed when it cannot start. */
async function submitTrial(
  c: PageContext,
  name: string | null,
  viewer: Viewer,
  submitted: ReturnType<typeof readSubmitted>,
  choice: SetChoice,
): Promise<Response> {
  try {
    return c.redirect(trialPath(await startTrialOf(c, viewer, submitted.files, choice)), 303)
  } catch (error) {
    const { code, status } = toAppError(error)
    if (!notStarted.includes(code)) throw error
    return show(c, name, { ...toKept(submitted), choice, problem: toProblem(error) }, status)
  }
}

const notStarted = ['CONFLICT', 'INVALID_DEFINITION', 'VALIDATION', 'NOT_FOUND', 'RATE_LIMITED']

/** Returns what was typed, to be shown again as it was. */
const toKept = ({ files, base, isForm, filled }: ReturnType<typeof readSubmitted>): Shown => ({
  files,
  base,
  ...(isForm && filled ? { filled } : { isForm: false }),
})

/** Saves a definition and returns its name, and whether it waits for a trial. */
async function save(
  c: PageContext,
  editor: Saver,
  name: string | null,
  { files, base, allowGrants }: SubmittedDefinition,
): Promise<{ name: string; isHeld: boolean }> {
  const { context } = c.var
  const options = { baseVersion: base, allowGrants }
  const target = name ?? (await readName(c, files))
  const saved = await saveDefinition(context, editor, target, files, options)
  return { name: saved.name, isHeld: saved.held !== null }
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
  submitted: ReturnType<typeof readSubmitted>,
  error: unknown,
): Promise<Response> {
  const { code, details = [], status } = toAppError(error)
  const kept = toKept(submitted)
  if (code === 'INVALID_DEFINITION') return show(c, name, { ...kept, problems: details }, status)
  if (code === 'CONFLICT' && name !== null && !(error instanceof OtherHeldError)) {
    const problem = {
      message: 'Somebody else saved this definition while you edited it.',
      hint: 'Compare the changes below, then save again. Your text replaces theirs.',
    }
    return show(c, name, { ...kept, problem, isConflict: true }, 409)
  }
  if (code === 'FORBIDDEN' && details.length > 0) {
    const problem = { message: toAppError(error).message, hint: toAppError(error).hint }
    return show(c, name, { ...kept, problems: details, problem }, status)
  }
  if (!['CONFLICT', 'VALIDATION', 'RATE_LIMITED'].includes(code)) throw error
  const { message, hint } = toProblem(error)
  return show(c, name, { ...kept, problem: { message, hint } }, status)
}

interface EditPageProps {
  frame: Frame
  /** Null for a new agent. */
  name: string | null
  /** The version that the form starts from. */
  base: number
  files: DefinitionFiles
  form: FormState<string>
  problems: ErrorDetail[]
  warnings: ErrorDetail[]
  preview: DefinitionPreview | null
  /** The schedules of the files, with their next times. */
  entries: ScheduleEntry[]
  /** The files as a form; null shows them as text. */
  fields: Pick<AgentFieldsProps, 'agent' | 'models' | 'tools' | 'programs' | 'sets'> | null
  /** What became of the name that was typed for a new agent. */
  nameNote: string | undefined
  /** What the draft can be tried on; null for a new agent. */
  offered: OfferedSets | null
  /** The trial that saving starts; null before the preview, and when changes are active at once. */
  saveTrial: SaveTrial | null
  /** A change that waits for its trial. */
  held: HeldDefinition | null
  /** The viewer has just saved the version. */
  isSaved: boolean
  /** What others changed since the author started; null without a conflict. */
  conflict: { from: number; diffs: FileDiff[] } | null
}

/** The editor of an agent's definition: a form, or a text field for each file. Works without scripts. */
const EditPage: FC<EditPageProps> = (props) => {
  const { frame, name, files, form, problems, warnings, conflict } = props
  const title = name === null ? 'New agent' : `Edit ${name}`
  return (
    <Layout frame={frame} title={title} place="agents" sheet="admin">
      <h1>{title}</h1>
      {name !== null && (
        <p class="by up2">
          <AccountLink name={name} kind="agent" /> version {props.base}{' '}
          <TextLink href={versionsPath(name)}>All versions</TextLink>
        </p>
      )}
      <div class="up4">
        <ErrorSummary problem={form.problem} />
        {props.nameNote && (
          <p class="note" role="status">
            {props.nameNote}
          </p>
        )}
        <HeldNote name={name ?? ''} held={props.held} />
        <ChosenSetNote offered={props.offered} />
        {props.isSaved && (
          <p class="note" role="status">
            Saved as version {props.base}. New runs use it.
          </p>
        )}
      </div>
      <ProblemList
        title="Problems"
        files={files}
        problems={problems.filter(({ path }) => !props.fields || findField(path) === null)}
        look="bad"
        isLinked={props.fields === null}
      />
      {conflict && (
        <section class="block" aria-label="Changes by others">
          <h2>
            Changed since you started: version {conflict.from} to {props.base}
          </h2>
          <FileDiffs of={conflict.diffs} none="The files of both versions are the same." />
        </section>
      )}
      <AdminFields of={props} />
      <ProblemList
        title="Warnings"
        files={files}
        problems={warnings}
        look="warn"
        isLinked={props.fields === null}
      />
      <DefinitionForm {...props} />
      {name !== null && (
        <details class="danger up6">
          <summary>Delete this agent</summary>
          <DeleteAgent name={name} />
        </details>
      )}
    </Layout>
  )
}

/** Says before saving which fields only an admin can set. */
const AdminFields: FC<{ of: EditPageProps }> = ({ of }) => {
  const { frame, preview, problems, files } = of
  const fields = preview?.adminFields ?? []
  if (frame.viewer?.isAdmin || problems.length > 0) return null
  const details = fields.map(({ path }) => ({ path, message: 'Only an admin can set this' }))
  return (
    <ProblemList
      title="Set by admins"
      files={files}
      problems={details}
      look="warn"
      isLinked={of.fields === null}
    />
  )
}

const DeleteAgent: FC<{ name: string }> = ({ name }) => (
  <form class="form up2" method="post" action={`${accountPath(name)}/delete`}>
    <p class="meta">
      {name} stops at once, and what it knows is gone. Its posts, comments and messages stay, shown
      as by a deleted account. This cannot be undone.
    </p>
    <Field
      form={createForm({ confirm: '' })}
      name="confirm"
      label="Name of the agent, to confirm"
      autocomplete="off"
      autocapitalize="none"
      required
    />
    <div>
      <Submit>Delete agent</Submit>
    </div>
  </form>
)

const fieldNotes: Readonly<Record<string, string>> = {
  'config.yaml': 'Name, model, grants, behavior and limits, as YAML.',
  'system-prompt.md':
    'Who the agent is and how it answers. {{name}} and other fields are filled in.',
}

const DefinitionForm: FC<EditPageProps> = ({ frame, ...props }) => {
  const { name, base, files, form, preview, entries, fields, offered } = props
  const trial = name !== null && offered && (
    <TryOnSet agent={name} files={files} offered={offered} shown={props.problems} />
  )
  return (
    <form
      class="form wide up4"
      method="post"
      action={name === null ? newAgentPath : editPath(name)}
    >
      <FormKey />
      <input type="hidden" name="base" value={String(base)} />
      {offered?.promise && trial}
      {preview && (
        <PreviewBlock
          preview={preview}
          form={form}
          isNew={name === null}
          canAllow={frame.viewer?.isAdmin ?? false}
          entries={entries}
        />
      )}
      {preview && <Actions {...props} />}
      {preview && !offered?.promise && trial}
      {fields ? (
        <>
          <input type="hidden" name="view" value="form" />
          <input type="hidden" name="files" value={packFiles(files)} />
          <AgentFields name={name} form={form} {...fields} />
        </>
      ) : (
        <FileFields files={files} form={form} />
      )}
      {(fields || !preview) && <Actions {...props} />}
      {!preview && !offered?.promise && trial}
    </form>
  )
}

/** A text field for each file of a definition, and one for the name of a new skill. */
export const FileFields: FC<Pick<EditPageProps, 'files' | 'form'>> = ({ files, form }) => (
  <>
    <input type="hidden" name="paths" value={JSON.stringify(listPaths(files))} />
    {listPaths(files).map((path) => (
      <Field
        form={form}
        as="textarea"
        name={path}
        label={path}
        rows={Math.min(30, Math.max(8, (files[path] ?? '').split('\n').length + 1))}
        class="code"
        spellcheck={path.endsWith('.md')}
        autocomplete="off"
        autocapitalize="none"
        hint={fieldNotes[path] ?? 'Empty the field to delete the file.'}
      />
    ))}
    <div>
      <Field
        form={form}
        name="new_skill"
        label="New skill"
        maxlength={64}
        autocomplete="off"
        autocapitalize="none"
        hint="A short name, such as release-checklist. The agent reads a skill when its trigger matches."
      />
      <p class="up2">
        <Submit name="do" value="add_skill">
          Add skill
        </Submit>
      </p>
    </div>
  </>
)

const Actions: FC<Pick<EditPageProps, 'preview' | 'name' | 'fields' | 'saveTrial'>> = (props) => {
  const { preview, name, fields, saveTrial } = props
  return (
    <>
      {preview && saveTrial && <SaveTrialNote trial={saveTrial} />}
      <div class="acts">
        <Submit isMain={!preview} name="do" value="preview">
          Check and preview
        </Submit>
        {preview && (
          <Submit isMain name="do" value="save">
            {saveTrial?.promise
              ? `Save and try on ${saveTrial.set}`
              : nameSaving(preview, name === null)}
          </Submit>
        )}
        <Submit name="do" value={fields ? 'files' : 'form'}>
          {fields ? 'Edit as files' : 'Edit as a form'}
        </Submit>
        <TextLink href={name === null ? '/agents' : accountPath(name)}>Cancel</TextLink>
      </div>
    </>
  )
}

/** Names what saving starts: work that nobody asks for costs money. */
function nameSaving({ before, after }: DefinitionPreview, isNew: boolean): string {
  const starts = [
    after.exploration && !before?.exploration ? 'start exploring' : null,
    after.schedules.length > 0 && (before?.schedules.length ?? 0) === 0
      ? 'start its schedule'
      : null,
  ].filter((each) => each !== null)
  return [isNew ? 'Create agent' : 'Save', ...starts].join(' and ')
}

/** Asks for a name and a template of a new agent. */
const TemplatesPage: FC<{ frame: Frame; templates: readonly DefinitionTemplate[] }> = (props) => (
  <Layout frame={props.frame} title="New agent" place="agents" sheet="admin">
    <h1>New agent</h1>
    <p class="lede">Choose what it starts from. You can change everything before it is created.</p>
    <form class="form up4" action={newAgentPath}>
      <Field
        form={createForm({ name: '' })}
        name="name"
        label="Name"
        maxlength={60}
        autocomplete="off"
        autocapitalize="none"
        hint="People mention it with @ and this name. Tea Bot becomes tea-bot. Empty: the name of the template."
      />
      <fieldset>
        <legend>Template</legend>
        {props.templates.map(({ name, title, summary }, index) => (
          <label class="check up2">
            <input type="radio" name="template" value={name} checked={index === 0} />
            <span>
              <b>{title}</b>
              <br />
              <span class="meta">{summary}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <div class="acts">
        <Submit isMain>Continue</Submit>
        <TextLink href="/agents">Cancel</TextLink>
      </div>
    </form>
  </Layout>
)

interface PreviewBlockProps {
  preview: DefinitionPreview
  form: FormState<string>
  /** True for a definition that creates its agent. */
  isNew: boolean
  /** False for members: only admins allow grants. */
  canAllow: boolean
  /** The schedules of the definition with their next times. */
  entries: ScheduleEntry[]
}

/** Shows what saving a definition changes: model, cost, grants, tools and lines. */
const PreviewBlock: FC<PreviewBlockProps> = ({ preview, form, isNew, canAllow, entries }) => {
  const { before, after } = preview
  return (
    <section class="block" id="changes" aria-label="Preview of changes">
      <h2>{isNew ? 'The new agent' : 'Changes after saving'}</h2>
      <dl class="def up3">
        <dt>Name</dt>
        <dd>@{after.name}</dd>
        <dt>Model</dt>
        <dd>
          <Change before={before?.model} after={after.model} />
        </dd>
        <dt>Budget a day</dt>
        <dd>
          <Change before={before && formatDayBudget(before)} after={formatDayBudget(after)} />
        </dd>
        <dt>One run at most</dt>
        <dd>
          <Change before={before && formatRunCost(before)} after={formatRunCost(after)} />
        </dd>
        <dt>Runs unasked</dt>
        <dd>
          <Change before={before && formatUnasked(before)} after={formatUnasked(after)} />
        </dd>
        <dt>Grants</dt>
        <dd>
          <Grants {...preview} />
        </dd>
        <dt>Tools</dt>
        <dd>
          <Tools {...preview} />
        </dd>
      </dl>
      <AllowGrants preview={preview} form={form} canAllow={canAllow} />
      {entries
        .filter(({ isPaused }) => !isPaused)
        .slice(0, schedulesShown)
        .map((entry) => (
          <NextRuns entry={entry} />
        ))}
      {entries.some(({ isPaused }) => !isPaused) && (
        <ReachNote
          facts={after}
          notGranted={canAllow ? preview.denied : [...preview.denied, ...preview.allowable]}
        />
      )}
      {!isNew && (
        <>
          <h3 class="up4">Changed lines</h3>
          <FileDiffs
            of={preview.diffs}
            none="The files are the same as those of the current version."
          />
        </>
      )}
    </section>
  )
}

/** Grants of the tools that post in this hub. */
const writeGrants = ['hub:write', 'hub:*', '*']

interface ReachNoteProps {
  facts: DefinitionFacts
  /** Requested grants that the policy does not grant. */
  notGranted: string[]
}

/** Where the final answer of a scheduled run is read. */
export const whereAnswersGo =
  'If the run writes in no thread, its final answer goes to the inbox of whoever saved the schedule, with a link to the run.'

/** Warns that an agent cannot post in a scheduled run, and says where its answer is read. */
export const ReachNote: FC<ReachNoteProps> = ({ facts, notGranted }) => {
  const { name, grants, isOffline } = facts
  const requested = grants.filter((grant) => writeGrants.includes(grant))
  const isGranted = requested.some((grant) => !notGranted.includes(grant))
  if (isGranted && !isOffline) return null
  return (
    <p class="note up3">
      {isGranted ? (
        'The offline model only finds and quotes posts'
      ) : (
        <>
          The {requested.length === 0 ? 'definition' : 'policy'} of {name} does not{' '}
          {requested.length === 0 ? 'request' : 'grant'} <code>hub:write</code>
        </>
      )}
      , so {name} posts nothing in this hub when its schedule is due. {whereAnswersGo}
    </p>
  )
}

/** Schedules whose next times are listed; `/schedules` lists them all. */
const schedulesShown = 3

const Change: FC<{ before: string | null | undefined; after: string }> = ({ before, after }) =>
  before === undefined || before === null || before === after ? (
    <span>{after}</span>
  ) : (
    <>
      <s>
        <span class="vh">before: </span>
        {before}
      </s>{' '}
      <b>
        <span class="vh">now: </span>
        {after}
      </b>
    </>
  )

const formatDayBudget = ({ budget: { costPerDayMicrousd } }: DefinitionFacts): string =>
  costPerDayMicrousd === null
    ? 'no limit of its own; the budget of the hub applies'
    : formatMoney(costPerDayMicrousd, 'budget')

function formatUnasked({ exploration, schedules }: DefinitionFacts): string {
  const causes = [
    exploration ? 'explores' : null,
    schedules.length > 0 ? `${schedules.length} scheduled` : null,
  ].filter((cause) => cause !== null)
  return causes.join(', ') || 'never'
}

const Grants: FC<DefinitionPreview> = ({ requestedMore, requestedLess, after }) => (
  <ul>
    {after.grants.length === 0 && requestedLess.length === 0 && <li>none requested</li>}
    {after.grants
      .filter((grant) => !requestedMore.includes(grant))
      .map((grant) => (
        <li>
          <code>{grant}</code>
        </li>
      ))}
    {requestedMore.map((grant) => (
      <li class="gain">
        requests <code>{grant}</code>
      </li>
    ))}
    {requestedLess.map((grant) => (
      <li class="loss">
        no longer requests <code>{grant}</code>
      </li>
    ))}
  </ul>
)

const Tools: FC<DefinitionPreview> = ({ tools: { gains, loses }, gainsIfAllowed }) => (
  <ul>
    {[gains, loses, gainsIfAllowed].every((list) => list.length === 0) && (
      <li>no tool gained or lost</li>
    )}
    {gains.map((tool) => (
      <li class="gain">
        can use <code>{tool}</code>
      </li>
    ))}
    {gainsIfAllowed.map((tool) => (
      <li>
        can use <code>{tool}</code> once its grant is allowed
      </li>
    ))}
    {loses.map((tool) => (
      <li class="loss">
        can no longer use <code>{tool}</code>
      </li>
    ))}
  </ul>
)

/** Offers to allow requested grants in the same step. */
const AllowGrants: FC<Omit<PreviewBlockProps, 'isNew' | 'entries'>> = ({
  preview,
  form,
  canAllow,
}) => (
  <>
    {preview.denied.length > 0 && (
      <p class="up3">
        <span class="warn">Requested but not granted:</span>{' '}
        <code>{preview.denied.join(', ')}</code>. The policy denies them, or they need a resource.
      </p>
    )}
    {preview.allowable.length > 0 && !canAllow && (
      <p class="up3">
        <span class="warn">Requested but not granted:</span>{' '}
        <code>{preview.allowable.join(', ')}</code>. An admin can allow them after you have saved.
      </p>
    )}
    {preview.allowable.length > 0 && canAllow && (
      <div class="up3">
        <input type="hidden" name="allow_grants" value={JSON.stringify(preview.allowable)} />
        <Checkbox
          form={form}
          name="allow"
          label={
            <span>
              Allow <code>{preview.allowable.join(', ')}</code>, which the policy does not allow{' '}
              {preview.after.name} yet
            </span>
          }
        />
        <p class="meta">The agent gets rules of its own with these grants added.</p>
      </div>
    )}
  </>
)

/** Shows the changed lines of files, each with a sign and a colour. */
export const FileDiffs: FC<{ of: FileDiff[]; none: string }> = ({ of, none }) => (
  <>
    {of.length === 0 && <p class="up2">{none}</p>}
    {of.map((diff) => (
      <figure class="up3">
        <figcaption>
          <code>{diff.path}</code>
        </figcaption>
        {diff.lines === null ? (
          <p class="meta">{formatTooDifferent(diff)}</p>
        ) : (
          <DiffText lines={diff.lines} />
        )}
      </figure>
    ))}
  </>
)

/** Returns the most that a run can cost by its definition: the tokens of a run, and not more than its budget a day. */
export function formatRunCost({
  runCostMaxMicrousd,
  activationTokensMax,
  budget: { costPerDayMicrousd },
}: DefinitionFacts): string {
  const tokens = `${formatCount(activationTokensMax)} tokens`
  if (runCostMaxMicrousd === null) return `${tokens}, of a model without a known price`
  if (costPerDayMicrousd !== null && costPerDayMicrousd < runCostMaxMicrousd) {
    return `${formatMoney(costPerDayMicrousd, 'budget')}, its budget a day, or ${tokens}`
  }
  return `${formatMoney(runCostMaxMicrousd, 'trace')} (${tokens})`
}
