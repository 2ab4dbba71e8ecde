import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { grantErrors } from '../../hub/grants/actions'
import {
  type HubEnv,
  readReader,
  requireViewer,
  toActor,
  toAppError,
} from '../../hub/http/page-entry'
import type { Caller } from '../../hub/replays/actions'
import {
  addBadAnswer,
  type CaseRow,
  createSet,
  deleteCase,
  deleteSet,
  editCase,
  importCases,
  listSets,
  readSet,
  renameSet,
  type SetRow,
  type SetView,
} from '../../hub/trials/set-actions'
import { setInput } from '../../hub/trials/set-inputs'
import { type ListedTrial, listTrials, type TrialStatus } from '../../hub/trials/trial-actions'
import { trialLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import { formatCount, formatPlural } from '../../shared/format'
import { activationPath, setPath, setsPath, trialPath } from '../../shared/paths'
import { editPath, tryOnSetPath } from '../agents/agent-paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  describeText,
  type FormDefinition,
  type FormProblem,
  type FormState,
  readFormWith,
  rejectForm,
  toProblem,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { AccountLink, TextLink } from '../parts/links'
import { Icon } from '../parts/meter'
import { excerpt } from '../parts/prose'
import { RelativeTime } from '../parts/times'
import {
  type CaseForm,
  checkLabels,
  fillCaseForm,
  formatCheck,
  nameType,
  nameValue,
  readCaseForm,
} from './case-form'
import {
  type Added,
  AddedNote,
  ImportForm,
  importFormRule,
  listRefused,
  type ReadImport,
  readImport,
  toAddedLines,
} from './import-form'

/** Registers the pages of the sets of an agent and of their cases, with their forms. */
export function registerSetPages(app: Hono<HubEnv>): void {
  app.get('/a/:name/sets', page(showSets))
  app.post('/a/:name/sets', page(submitSet))
  app.get(
    '/sets/:id',
    page((c) => showSet(c, c.req.param('id') ?? '')),
  )
  app.post('/sets/:id/import', page(submitImport, importFormRule))
  app.post('/sets/:id/rename', page(submitName))
  app.post('/sets/:id/delete', page(submitSetDeletion))
  app.post('/sets/:id/cases/:case', page(submitCase))
  app.post('/cases/:id/delete', page(submitCaseDeletion))
  app.post('/activations/:id/case', page(submitBadAnswer))
}

type SetField = 'name'
type SetFormState = FormState<SetField>

const setForm: FormDefinition<SetField> = {
  rejected: 'The set was not created.',
  fields: { name: { message: describeText('The name', trialLimits.nameCharsMax) } },
}

const nameForm: FormDefinition<SetField> = { ...setForm, rejected: 'The set was not renamed.' }

const emptySetForm: SetFormState = createForm({ name: '' })

/** Returns who sends a form, with the reader of the request. */
const readCaller = async (
  c: PageContext,
): Promise<Caller & { viewer: Awaited<ReturnType<typeof requireViewer>> }> => ({
  viewer: await requireViewer(c, 'write'),
  reader: await readReader(c),
})

/** Returns who opens a page. @throws UNAUTHORIZED for a viewer who is not signed in */
async function readOpener(c: PageContext): Promise<{ frame: Frame; caller: Caller }> {
  const { frame } = await readPage(c, {})
  if (!frame.viewer) throw grantErrors.signIn()
  return { frame, caller: { viewer: frame.viewer, reader: await readReader(c) } }
}

async function showSets(
  c: PageContext,
  form: SetFormState = emptySetForm,
  status = 200,
): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const { frame, caller } = await readOpener(c)
  const sets = await listSets(c.var.context, caller, name)
  return sendPage(c, <SetsPage frame={frame} name={name} sets={sets} form={form} />, status)
}

async function submitSet(c: PageContext): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const caller = await readCaller(c)
  const read = readFormWith(setInput, await readForm(c), setForm)
  if (!read.isValid) return showSets(c, read.form, 400)
  try {
    const actor = await readFormActor(c, caller.viewer)
    const { answer } = await createSet(c.var.context, actor, caller, name, read.value)
    return c.redirect(setPath(answer.id), 303)
  } catch (error) {
    const { form, status } = rejectForm(setForm, read.form, error)
    return showSets(c, form, status)
  }
}

/** What came of a form of the page of a set. */
interface Submitted {
  /** The case whose form was rejected. */
  edited?: CaseForm & { id: string }
  /** What came of cases that were to be added. */
  added?: Added
  /** Lines to be imported again. */
  lines?: string
  /** The name that was rejected. */
  renamed?: SetFormState
  problem?: FormProblem
}

/** Shows the page of a set. */
export async function showSet(
  c: PageContext,
  id: string,
  submitted: Submitted = {},
  status = 200,
): Promise<Response> {
  const { frame, caller } = await readOpener(c)
  const [set, trials] = await Promise.all([
    readSet(c.var.context, caller, id),
    listTrials(c.var.context, caller, id),
  ])
  const chosen = set.rows.find((row) => row.isVisible && row.id === c.req.query('edit'))
  const edited =
    submitted.edited ?? (chosen ? { id: chosen.id, ...fillCaseForm(chosen) } : undefined)
  const added = submitted.added ?? readAdded(c)
  return sendPage(
    c,
    <SetPage
      frame={frame}
      set={set}
      trials={trials}
      {...submitted}
      added={added}
      edited={edited}
    />,
    status,
  )
}

/** Path of a set that says how many runs were added to it. */
export const addedPath = (set: string, { added, kept }: Added): string =>
  `${setPath(set)}?added=${added}&kept=${kept}`

/** Returns what the address says; undefined when it says nothing. */
function readAdded(c: PageContext): Added | undefined {
  const [added, kept] = [Number(c.req.query('added')), Number(c.req.query('kept'))]
  const isSaid = Number.isSafeInteger(added) && Number.isSafeInteger(kept)
  return isSaid ? { added, kept, refused: [] } : undefined
}

const casePath = (set: string, id: string): string => `${setPath(set)}#case-${id}`

async function submitCase(c: PageContext): Promise<Response> {
  const [set, id] = [c.req.param('id') ?? '', c.req.param('case') ?? '']
  const caller = await readCaller(c)
  const { isValid, ...read } = readCaseForm(await readForm(c))
  if (!isValid || !('value' in read)) return showSet(c, set, { edited: { id, ...read } }, 400)
  try {
    await editCase(c.var.context, toActor(caller.viewer, null), caller, id, read.value)
  } catch (error) {
    const { status, code } = toAppError(error)
    if (code !== 'VALIDATION') throw error
    const form = { ...read.form, problem: toProblem(error) }
    return showSet(c, set, { edited: { id, rows: read.rows, form } }, status)
  }
  return c.redirect(casePath(set, id), 303)
}

async function submitCaseDeletion(c: PageContext): Promise<Response> {
  const caller = await readCaller(c)
  await readForm(c)
  const actor = toActor(caller.viewer, null)
  const set = await deleteCase(c.var.context, actor, caller, c.req.param('id') ?? '')
  return c.redirect(setPath(set), 303)
}

async function submitSetDeletion(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const caller = await readCaller(c)
  await readForm(c)
  try {
    const { agentName } = await readSet(c.var.context, caller, id)
    await deleteSet(c.var.context, toActor(caller.viewer, null), caller, id)
    return c.redirect(setsPath(agentName), 303)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'CONFLICT') throw error
    return showSet(c, id, { problem: toProblem(error) }, error.status)
  }
}

async function submitImport(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const caller = await readCaller(c)
  let read: ReadImport | null = null
  try {
    read = await readImport(c)
    const actor = toActor(caller.viewer, null)
    const imported = await importCases(c.var.context, actor, caller, id, read.text)
    return await showSet(c, id, {
      added: toAddedLines(imported),
      lines: listRefused(read, imported),
    })
  } catch (error) {
    const { code, status } = toAppError(error)
    if (code !== 'TOO_LARGE' && code !== 'VALIDATION') throw error
    return showSet(c, id, { problem: toProblem(error), lines: read?.pasted ?? '' }, status)
  }
}

async function submitName(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const caller = await readCaller(c)
  const read = readFormWith(setInput, await readForm(c), nameForm)
  if (!read.isValid) return showSet(c, id, { renamed: read.form }, 400)
  try {
    await renameSet(c.var.context, toActor(caller.viewer, null), caller, id, read.value)
  } catch (error) {
    const { code } = toAppError(error)
    if (code !== 'CONFLICT' && code !== 'VALIDATION') throw error
    const { form, status } = rejectForm(nameForm, read.form, error)
    return showSet(c, id, { renamed: form }, status)
  }
  return c.redirect(setPath(id), 303)
}

/** Adds a run to the bad answers of its agent, with the viewer's own note, and shows the form of its case. */
async function submitBadAnswer(c: PageContext): Promise<Response> {
  const caller = await readCaller(c)
  await readForm(c)
  const id = c.req.param('id') ?? ''
  const actor = toActor(caller.viewer, null)
  const { setId, caseId } = await addBadAnswer(c.var.context, actor, caller, id)
  return c.redirect(`${setPath(setId)}?edit=${caseId}#case-${caseId}`, 303)
}

interface SetsPageProps {
  frame: Frame
  /** Of the agent. */
  name: string
  sets: SetRow[]
  form: SetFormState
}

/** Lists the sets of an agent, with the form that creates one. */
const SetsPage: FC<SetsPageProps> = ({ frame, name, sets, form }) => (
  <Layout frame={frame} title={`Test sets of ${name}`} place="agents" sheet="admin">
    <h1>Test sets</h1>
    <p class="by up2">
      <AccountLink name={name} kind="agent" />
    </p>
    <p class="lede up3">
      A set has recorded runs with what a good answer does. Try a change of {name} on all of them
      before you save it.
    </p>
    {sets.length === 0 ? (
      <div class="empty">
        <p>
          <strong>No sets yet.</strong>
          Create one, or choose runs in the{' '}
          <TextLink href={`/runs?agent=${encodeURIComponent(name)}`}>list of runs</TextLink>.
        </p>
      </div>
    ) : (
      <ul class="list up4">
        {sets.map((set) => (
          <li>
            <p>
              <a href={setPath(set.id)}>
                <bdi>{set.name}</bdi>
              </a>{' '}
              <span class="meta">{formatPlural(set.cases, 'case', 'cases')}</span>
            </p>
          </li>
        ))}
      </ul>
    )}
    <Block title="New set">
      <ErrorSummary problem={form.problem} />
      <form class="form up3" method="post" action={setsPath(name)}>
        <FormKey />
        <NameField form={form} />
        <div>
          <Submit>Create set</Submit>
        </div>
      </form>
    </Block>
  </Layout>
)

interface SetPageProps extends Omit<Submitted, 'edited' | 'added'> {
  frame: Frame
  added: Added | undefined
  set: SetView
  trials: ListedTrial[]
  edited: (CaseForm & { id: string }) | undefined
}

/** Shows a set: its cases with their checks, its trials, and the forms that change it. */
const SetPage: FC<SetPageProps> = (props) => {
  const { frame, set, trials, edited } = props
  return (
    <Layout frame={frame} title={set.name} place="agents" sheet="admin">
      <div class="head">
        <div>
          <p class="meta">
            <a href={setsPath(set.agentName)}>Test sets</a>
          </p>
          <h1 class="up">
            <bdi>{set.name}</bdi>
          </h1>
          <p class="by up2">
            <AccountLink name={set.agentName} kind="agent" />
            <span>{formatPlural(set.cases, 'case', 'cases')}</span>
          </p>
        </div>
        <div class="acts">
          <a class="btn go" href={tryOnSetPath(set.agentName, set.id)}>
            Try a change on this set
          </a>
          <a class="btn" href={`/api/v1${setPath(set.id)}/export`} download={`${set.id}.jsonl`}>
            <Icon name="download" />
            Export
          </a>
        </div>
      </div>
      <ErrorSummary problem={props.problem ?? null} />
      <GateNote set={set} />
      {props.added && <AddedNote {...props.added} />}
      {props.lines && (
        <p class="up2">
          <TextLink href="#import">Correct the lines and import them again</TextLink>
        </p>
      )}
      <Block title="Cases">
        {set.rows.length === 0 ? (
          <div class="empty">
            <p>
              <strong>No cases yet.</strong>
              Choose runs in the{' '}
              <TextLink href={`/runs?agent=${encodeURIComponent(set.agentName)}`}>
                list of runs
              </TextLink>{' '}
              and add them to this set.
            </p>
          </div>
        ) : (
          <ul class="list tall">
            {set.rows.map((row) => (
              <li id={`case-${row.id}`}>
                <Case
                  set={set}
                  row={row}
                  now={frame.now}
                  edited={edited?.id === row.id ? edited : null}
                />
              </li>
            ))}
          </ul>
        )}
      </Block>
      <Trials trials={trials} now={frame.now} />
      <Manage
        set={set}
        renamed={props.renamed ?? createForm({ name: set.name })}
        lines={props.lines ?? ''}
      />
    </Layout>
  )
}

/** Says whether changes of the agent have to pass a trial on a set, and where to change that. */
const GateNote: FC<{ set: SetView }> = ({ set: { agentName, isGate } }) => (
  <p class="note up3">
    {isGate
      ? `Each change of ${agentName} has to pass a trial on this set before it is active.`
      : `Each change of ${agentName} can be tried on this set before it is active.`}{' '}
    <a href={`${editPath(agentName)}#trial`}>
      {isGate ? 'Edit what it has to pass' : 'Choose this set in the editor'}
    </a>
  </p>
)

/** Characters of a question and an answer that the list shows. */
const excerptChars = { question: 200, answer: 400 } as const

interface CaseProps {
  set: SetView
  row: CaseRow
  now: number
  /** Its form, while it is edited. */
  edited: CaseForm | null
}

const Case: FC<CaseProps> = ({ set, row, now, edited }) => (
  <div>
    <p>
      <a href={activationPath(row.activationId)}>
        <bdi>{excerpt(row.question, excerptChars.question) || 'Run without a question'}</bdi>
      </a>
    </p>
    {row.isVisible ? (
      <>
        <p class="meta up">
          <bdi>{excerpt(row.answer, excerptChars.answer) || 'No answer.'}</bdi>
        </p>
        {edited ? (
          <EditCase set={set} row={row} {...edited} />
        ) : (
          <>
            <CaseChecks row={row} />
            {row.note !== '' && (
              <p class="up2">
                <span class="meta">Right would have been:</span> <bdi>{row.note}</bdi>
              </p>
            )}
          </>
        )}
      </>
    ) : (
      <p class="meta up">You can’t see this run. Its case counts in trials of those who can.</p>
    )}
    <div class="acts up2">
      {row.isVisible && !edited && (
        <TextLink href={`${setPath(set.id)}?edit=${row.id}#case-${row.id}`}>
          Edit<span class="vh"> the case</span>
        </TextLink>
      )}
      <form method="post" action={`/cases/${encodeURIComponent(row.id)}/delete`}>
        <Submit>
          Remove<span class="vh"> the case</span>
        </Submit>
      </form>
      <span class="meta">
        added <RelativeTime at={row.createdAt} now={now} />
      </span>
    </div>
  </div>
)

const CaseChecks: FC<{ row: CaseRow }> = ({ row: { checks } }) =>
  checks.length === 0 ? (
    <p class="meta up2">No checks. People or a judge compare the answers.</p>
  ) : (
    <ul class="up2">
      {checks.map((check) => (
        <li>
          <bdi>{formatCheck(check)}</bdi>
        </li>
      ))}
    </ul>
  )

const checkOptions: [string, string][] = [['', 'No check'], ...Object.entries(checkLabels)]

const EditCase: FC<{ set: SetView; row: CaseRow } & CaseForm> = ({ set, row, form, rows }) => (
  <form
    class="form up3"
    method="post"
    action={`${setPath(set.id)}/cases/${encodeURIComponent(row.id)}`}
  >
    <ErrorSummary problem={form.problem} />
    {rows.map((number) => (
      <fieldset>
        <legend class="vh">Check {number + 1}</legend>
        <Field
          form={form}
          as="select"
          name={nameType(number)}
          label={`Check ${number + 1}`}
          options={checkOptions}
        />
        <Field
          form={form}
          name={nameValue(number)}
          label="Value"
          maxlength={trialLimits.checkCharsMax}
          autocomplete="off"
        />
      </fieldset>
    ))}
    <Field
      form={form}
      as="textarea"
      name="note"
      label="What would have been right (optional)"
      rows={3}
      maxlength={trialLimits.noteCharsMax}
      hint="A judge reads it, and people who compare answers. The agent does not see it."
    />
    <div class="acts">
      <Submit isMain>Save case</Submit>
      <TextLink href={casePath(set.id, row.id)}>Cancel</TextLink>
    </div>
  </form>
)

const trialStatusNames: Record<TrialStatus, string> = {
  queued: 'waits',
  running: 'running',
  done: 'done',
  cancelled: 'cancelled',
}

const countNames: [name: keyof ListedTrial['counts'], label: string][] = [
  ['better', 'better'],
  ['worse', 'worse'],
  ['same', 'same'],
  ['cannotTell', 'undecided'],
  ['waiting', 'waiting for people'],
]

/** Says how many cases came out how, such as `3 worse, 8 same`; '' before one is done. */
const formatCounts = (counts: ListedTrial['counts']): string =>
  countNames
    .filter(([name]) => counts[name] > 0)
    .map(([name, label]) => `${formatCount(counts[name])} ${label}`)
    .join(', ')

/** Lists the trials of a set with what they found, the newest first. */
const Trials: FC<{ trials: ListedTrial[]; now: number }> = ({ trials, now }) =>
  trials.length === 0 ? null : (
    <Block title="Trials">
      <ul class="list">
        {trials.map(({ id, status, requestedBy, createdAt, counts }) => (
          <li>
            <p class="by">
              <TextLink href={trialPath(id)}>{formatCounts(counts) || 'No case compared'}</TextLink>
              <span>{trialStatusNames[status]}, asked by</span>
              <AccountLink {...requestedBy} />
              <RelativeTime at={createdAt} now={now} />
            </p>
          </li>
        ))}
      </ul>
    </Block>
  )

interface ManageProps {
  set: SetView
  renamed: SetFormState
  /** Lines that an import refused. */
  lines: string
}

/** The forms that import cases, rename the set and delete it. */
const Manage: FC<ManageProps> = ({ set, renamed, lines }) => (
  <section class="block">
    <h2 id="import">Import cases</h2>
    <ImportForm set={set.id} lines={lines} />
    {set.isGate ? (
      <p class="up4">
        Changes of {set.agentName} have to pass a trial on this set. To rename or delete it, first{' '}
        <a href={`${editPath(set.agentName)}#trial`}>choose another set or none</a>.
      </p>
    ) : (
      <RenameOrDelete set={set} renamed={renamed} />
    )}
  </section>
)

const RenameOrDelete: FC<Pick<ManageProps, 'set' | 'renamed'>> = ({ set, renamed }) => (
  <>
    <details class="moderate up4" open={renamed.problem !== null}>
      <summary>Rename this set</summary>
      <ErrorSummary problem={renamed.problem} />
      <form class="form up2" method="post" action={`${setPath(set.id)}/rename`}>
        <NameField form={renamed} />
        <div>
          <Submit>Rename set</Submit>
        </div>
      </form>
    </details>
    <details class="moderate">
      <summary>Delete this set</summary>
      <form class="form up2" method="post" action={`${setPath(set.id)}/delete`}>
        <p>Its cases and trials are deleted too. The runs stay.</p>
        <div>
          <Submit>Delete set</Submit>
        </div>
      </form>
    </details>
  </>
)

/** The name of a set. */
const NameField: FC<{ form: SetFormState; hint?: string }> = ({ form, hint }) => (
  <Field
    form={form}
    name="name"
    label="Name"
    required
    maxlength={trialLimits.nameCharsMax}
    autocomplete="off"
    {...(hint && { hint })}
  />
)
