import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { canCreateAgents } from '../../hub/agents/definition-rules'
import { type HubEnv, readReader, requireViewer, toActor } from '../../hub/http/page-entry'
import { deleteView, runViewInput, saveView } from '../../hub/runs/actions'
import {
  type Edge,
  type RunRow,
  type RunTotals,
  type RunView,
  runFilterForm,
  runListStatements,
  selectRunsForCsv,
  selectRunViews,
  splitRuns,
} from '../../hub/runs/list-queries'
import { outcomeOptions } from '../../hub/runs/run-labels'
import { addRuns } from '../../hub/trials/set-actions'
import { setInput } from '../../hub/trials/set-inputs'
import { selectSetNames } from '../../hub/trials/set-queries'
import { runLists, trialLimits } from '../../shared/config'
import { decodeKeyset, encodeCursor } from '../../shared/cursor'
import { formatCost, formatCount, formatExact, toIso } from '../../shared/format'
import { runsPath } from '../../shared/paths'
import { readFilter, requireFilter } from '../audit/audit-page'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  describeText,
  type FormDefinition,
  type FormProblem,
  type FormState,
  readFormWith,
  rejectForm,
  type Typed,
} from '../form/form-state'
import type { Frame, PageViewer } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readFields, readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendCsv, sendPage } from '../frame/send-page'
import { formatCsv } from '../parts/csv'
import { TextLink } from '../parts/links'
import { EmptyList, Pager, Suggestions } from '../parts/lists'
import { Icon } from '../parts/meter'
import { ActivationTable } from '../parts/run-lines'
import { toAddedRuns } from './import-form'
import { addedPath, showSet } from './set-pages'

/** Registers `GET /runs`, `/runs.csv` with the same filter, and the forms of saved views. */
export function registerRunPages(app: Hono<HubEnv>): void {
  app.get('/runs', page(showRuns))
  app.get('/runs.csv', page(downloadRuns))
  app.post('/runs/sets', page(submitRuns))
  app.post('/runs/views', page(saveRunView))
  app.post('/runs/views/delete', page(deleteRunView))
}

/** Forms of the page that were sent and rejected. */
interface RunForms {
  viewForm?: RunViewFormState
  chosenForm?: FormState<'set'>
}

async function showRuns(c: PageContext, forms: RunForms = {}, status = 200) {
  const { filter, ...read } = readFilter(c, runFilterFields, runFilterForm)
  const reader = await readReader(c)
  const before = decodeKeyset('/runs', c.req.query('cursor'))
  const hasTotals = c.req.query('totals') !== undefined
  const { frame, answers } = await readPage(c, {
    ...runListStatements({ ...filter, reader, before, limit: runLists.pageDefault + 1 }, hasTotals),
    views: selectRunViews({ reader }),
    setNames: selectSetNames({ reader }),
  })
  const { page: rows, next } = splitRuns(answers.rows, answers.edge, runLists.pageDefault)
  const { totals, totalsEdge, views, setNames } = answers
  const { viewForm = emptyRunView, chosenForm = createForm({ set: '' }) } = forms
  return sendPage(
    c,
    <RunsPage
      frame={frame}
      rows={rows}
      totals={totals}
      totalsEdge={totalsEdge}
      views={views}
      viewForm={viewForm}
      chosenForm={chosenForm}
      {...read}
      setNames={setNames.map(({ name }) => name)}
      next={next && encodeCursor('/runs', next)}
    />,
    read.problem ? 400 : status,
  )
}

async function downloadRuns(c: PageContext): Promise<Response> {
  const filter = requireFilter(c, runFilterFields, runFilterForm)
  const { answers } = await readPage(c, {
    rows: selectRunsForCsv({ ...filter, reader: await readReader(c) }),
  })
  return sendCsv(c, 'rookery-runs.csv', formatRunsCsv(answers.rows))
}

async function saveRunView(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write', { isWriting: false })
  const read = readFormWith(runViewInput, await readForm(c), runViewForm)
  if (!read.isValid) return showRuns(c, { viewForm: read.form }, 400)
  const { name, query } = read.value
  try {
    await saveView(c.var.context, toActor(viewer, null), { name, query: toFilterQuery(query) })
  } catch (error) {
    const { form, status } = rejectForm(runViewForm, read.form, error)
    return showRuns(c, { viewForm: form }, status)
  }
  return c.redirect(runsPath(toFilterQuery(query)), 303)
}

/** Adds the chosen runs to a set of their agent, which is created when there is none of that name. */
async function submitRuns(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const form = await readFields(c)
  const runs = form.getAll('run').filter((id) => typeof id === 'string')
  const read = readFormWith(chosenInput, await readForm(c), chosenForm)
  if (!read.isValid) return showRuns(c, { chosenForm: read.form }, 400)
  try {
    const caller = { viewer, reader: await readReader(c) }
    const actor = toActor(viewer, null)
    const given = { runs, name: read.value.set }
    const done = await addRuns(c.var.context, actor, caller, given)
    const added = toAddedRuns(done.runs)
    if (added.refused.length > 0) return await showSet(c, done.setId, { added })
    return c.redirect(addedPath(done.setId, added), 303)
  } catch (error) {
    const { form: rejected, status } = rejectForm(chosenForm, read.form, error)
    return showRuns(c, { chosenForm: rejected }, status)
  }
}

async function deleteRunView(c: PageContext): Promise<Response> {
  const text = await readForm(c)
  const viewer = await requireViewer(c, 'write', { isWriting: false })
  await deleteView(c.var.context, toActor(viewer, null), text('name'))
  return c.redirect(runsPath(), 303)
}

/** Returns the filled-in fields of the filter alone, so that a view leads to nothing but the list. */
function toFilterQuery(query: string): string {
  const given = new URLSearchParams(query)
  const fields = runFilterFields.flatMap((name): [string, string][] => {
    const value = given.get(name) ?? ''
    return value === '' ? [] : [[name, value]]
  })
  return new URLSearchParams(fields).toString()
}

interface RunsPageProps {
  frame: Frame
  rows: RunRow[]
  /** Absent unless they were asked for: they read all runs of the filter. */
  totals: RunTotals | undefined
  /** Where the totals end; undefined when they are complete. */
  totalsEdge: Edge | undefined
  views: RunView[]
  values: RunFilterValues
  /** The values of the form as a query string. */
  query: string
  /** Cursor of the next page; null on the last one. */
  next: string | null
  problem: FormProblem | null
  viewForm: RunViewFormState
  chosenForm: FormState<'set'>
  /** Of the agents that the viewer may edit. */
  setNames: string[]
}

/** Lists runs, with the totals of the filter if they were asked for. */
const RunsPage: FC<RunsPageProps> = (props) => {
  const { frame, rows, query, next } = props
  return (
    <Layout frame={frame} title="Runs" place="runs" sheet="admin">
      <div class="head">
        <div>
          <h1>Runs</h1>
          <p class="lede">
            Newest first, without those that are private to others.{' '}
            <TextLink href="/scheduler">Who waits</TextLink>
          </p>
        </div>
        <div class="acts">
          <a class="btn" href={`/runs?${query}${query && '&'}totals=1`}>
            Totals
          </a>
          <a class="btn" href={`/runs.csv${query && `?${query}`}`} download>
            <Icon name="download" />
            CSV
          </a>
        </div>
      </div>
      <ErrorSummary problem={props.problem} />
      <RunViews
        viewer={frame.viewer}
        views={props.views}
        query={props.problem ? '' : query}
        form={props.viewForm}
      />
      <div class="up4">
        <RunFilterForm typed={props.values} />
      </div>
      {props.totals && <Totals totals={props.totals} edge={props.totalsEdge} />}
      {rows.length === 0 ? (
        <EmptyList
          things="runs"
          unfiltered={query === '' ? null : runsPath()}
          more={next === null ? '' : 'Earlier runs can match.'}
        >
          Mention an agent in a post to see its runs here.
        </EmptyList>
      ) : (
        <div class="up4">
          <ActivationTable
            rows={rows}
            now={frame.now}
            hasAgent
            chosenIn={canChoose(frame.viewer) ? chosenFormId : undefined}
          />
        </div>
      )}
      {rows.length > 0 && canChoose(frame.viewer) && <AddToSet {...props} />}
      <Pager href={next && `/runs?${query}${query && '&'}cursor=${next}`}>Older runs</Pager>
    </Layout>
  )
}

const chosenFormId = 'choose'

/** Sets are for people who can own agents. */
const canChoose = (viewer: PageViewer | null): boolean =>
  viewer !== null && viewer.kind !== 'agent' && canCreateAgents(viewer)

const chosenInput = setInput.transform(({ name }) => ({ set: name }))

/** The form that adds chosen runs to a set. */
const chosenForm: FormDefinition<'set'> = {
  rejected: 'The runs were not added.',
  fields: { set: { path: 'name', message: describeText('The name', trialLimits.nameCharsMax) } },
}

/** The form that adds the runs which are chosen in the table to a set of their agent. */
const AddToSet: FC<RunsPageProps> = ({ query, chosenForm: form, setNames }) => (
  <section class="block" aria-labelledby="choose-heading">
    <h2 id="choose-heading">Add to set</h2>
    <ErrorSummary problem={form.problem} />
    <form
      class="form up3"
      id={chosenFormId}
      method="post"
      action={`/runs/sets${query && `?${query}`}`}
    >
      <Field
        form={form}
        name="set"
        label="Set"
        list="set-names"
        required
        maxlength={trialLimits.nameCharsMax}
        autocomplete="off"
        hint="Choose runs of one agent above. A set that does not exist is created."
      />
      <Suggestions id="set-names" names={setNames} />
      <div>
        <Submit>Add to set</Submit>
      </div>
    </form>
  </section>
)

const Totals: FC<{ totals: RunTotals; edge: Edge | undefined }> = ({ totals, edge }) => (
  <>
    <dl class="facts">
      <div>
        <dt>Runs</dt>
        <dd>{formatCount(totals.runs)}</dd>
      </div>
      <div>
        <dt>Cost</dt>
        <dd>{formatCost(totals.costMicrousd, totals.isPriced, 'budget')}</dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd>{formatCount(totals.tokens)}</dd>
      </div>
      <div>
        <dt>Model calls</dt>
        <dd>{formatCount(totals.modelCalls)}</dd>
      </div>
    </dl>
    {edge && (
      <p class="meta up2">
        Totals and CSV cover the newest {formatCount(runLists.scannedMax)} runs, since{' '}
        {formatExact(edge.at)}. Set “Before” for earlier ones.
      </p>
    )}
  </>
)

/** Fields of the filter, in the order of the page; those after the first two stand behind a click. */
const runFilterFields = [
  ...(['agent', 'outcome', 'requester', 'text', 'rating'] as const),
  ...(['cost_from', 'tokens_from', 'since', 'until'] as const),
]

/** The values of the filter form; '' for empty fields. */
type RunFilterValues = Typed<(typeof runFilterFields)[number]>

const ratingOptions = { '': 'Any', good: 'Good answer', bad: 'Bad answer' }

const RunFilterForm: FC<{ typed: RunFilterValues }> = ({ typed }) => {
  const form = createForm(typed)
  const text = { form, autocomplete: 'off' }
  const outcomes = { '': 'Any', ...outcomeOptions }
  const isMore = runFilterFields.slice(2).some((name) => typed[name] !== '')
  return (
    <form class="filter" action="/runs" aria-label="Filter runs">
      <Field {...text} name="agent" label="Agent" placeholder="Any" />
      <Field form={form} as="select" name="outcome" label="Outcome" options={outcomes} />
      <details class="rest" open={isMore}>
        <summary>More filters</summary>
        <div class="filter up2">
          <Field {...text} name="requester" label="Asked by" placeholder="Anybody" />
          <Field
            {...text}
            name="text"
            label="Title or task"
            placeholder="Contains"
            maxlength={runLists.textCharsMax}
          />
          <Field form={form} as="select" name="rating" label="Rating" options={ratingOptions} />
          <Field
            {...text}
            name="cost_from"
            label="Cost from ($)"
            placeholder="0.05"
            inputmode="decimal"
          />
          <Field
            {...text}
            name="tokens_from"
            label="Tokens from"
            placeholder="10000"
            inputmode="numeric"
          />
          <Field {...text} name="since" label="From (UTC)" type="date" />
          <Field {...text} name="until" label="Before (UTC)" type="date" />
        </div>
      </details>
      <Submit>Filter</Submit>
    </form>
  )
}

type RunViewField = 'name' | 'query'
type RunViewFormState = FormState<RunViewField>

/** The form that saves a filter under a name. */
const runViewForm: FormDefinition<RunViewField> = {
  rejected: 'The view was not saved.',
  fields: {
    name: { message: describeText('The name', runLists.viewNameCharsMax) },
    query: { message: 'The filter is too long.' },
  },
}

const emptyRunView: RunViewFormState = createForm({ name: '', query: '' })

interface RunViewsProps {
  viewer: PageViewer | null
  views: RunView[]
  /** The current filter, as a query string; '' for none. */
  query: string
  form: RunViewFormState
}

/** Links to the saved views of the viewer, with forms that save the current filter and delete a view. */
const RunViews: FC<RunViewsProps> = ({ viewer, views, query, form }) => {
  const filter = form.typed.query || query
  if (!viewer || (views.length === 0 && filter === '')) return null
  return (
    <section aria-label="Saved views" class="up3">
      {views.length > 0 && (
        <ul class="acts">
          {views.map((view) => (
            <li>
              <a
                class="btn"
                href={runsPath(view.query)}
                aria-current={view.query === query ? 'page' : undefined}
              >
                {view.name}
              </a>
            </li>
          ))}
        </ul>
      )}
      <details class="moderate" open={form.problem !== null}>
        <summary>{views.length > 0 ? 'Save or delete views' : 'Save this view'}</summary>
        <ErrorSummary problem={form.problem} />
        {filter !== '' && (
          <form class="form up2" method="post" action="/runs/views">
            <input type="hidden" name="query" value={filter} />
            <Field
              form={form}
              name="name"
              id="view-name"
              label="Name of this view"
              required
              maxlength={runLists.viewNameCharsMax}
              autocomplete="off"
            />
            <div>
              <Submit>Save view</Submit>
            </div>
          </form>
        )}
        {views.map((view) => (
          <form class="up2" method="post" action="/runs/views/delete">
            <input type="hidden" name="name" value={view.name} />
            <Submit>Delete {view.name}</Submit>
          </form>
        ))}
      </details>
    </section>
  )
}

const headers = [
  'started_utc',
  'finished_utc',
  'agent',
  'task',
  'requesters',
  'post_title',
  'outcome',
  'model',
  'model_calls',
  'tokens',
  'cost_usd',
  'is_priced',
  'id',
]

/** Returns runs as CSV, newest first. */
const formatRunsCsv = (rows: RunRow[]): string =>
  formatCsv([
    headers,
    ...rows.map((row) => [
      toIso(row.startedAt),
      row.finishedAt === null ? null : toIso(row.finishedAt),
      row.agentName,
      row.task,
      row.requesters.join(' '),
      row.postTitle,
      row.outcome ?? row.state,
      row.model,
      row.modelCalls,
      row.tokens,
      (row.costMicrousd / 1_000_000).toFixed(6),
      row.isPriced ? 'yes' : 'no',
      row.id,
    ]),
  ])
