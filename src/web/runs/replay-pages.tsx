import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import type { DefinitionFiles, Parting } from '../../agents/contract/agents'
import { grantErrors } from '../../hub/grants/actions'
import {
  type HubEnv,
  readReader,
  requireViewer,
  toActor,
  toAppError,
} from '../../hub/http/page-entry'
import {
  cancelReplay,
  prepareReplay,
  type ReplayForm,
  type ReplayView,
  readReplay,
  startReplay,
  type ViewedLane,
} from '../../hub/replays/actions'
import type { ReplayRow, ReplayStatus } from '../../hub/replays/queries'
import { formatOutcome } from '../../hub/runs/run-labels'
import { replayLimits } from '../../shared/config'
import { createDiffBudget, diffLines, toHunks } from '../../shared/diff-lines'
import { toWordDiff } from '../../shared/diff-words'
import { AppError } from '../../shared/errors'
import { hasSameWords } from '../../shared/fold-text'
import { formatCount, formatMoney, formatPlural, formatSpan } from '../../shared/format'
import { activationPath, replayPath, trialCasePath, tryPath } from '../../shared/paths'
import { addSkill, readDefinitionForm } from '../agents/agent-form'
import { FileFields } from '../agents/edit-page'
import { ProblemList } from '../agents/problem-list'
import { ErrorSummary, Field, Submit } from '../form/fields'
import { createForm, type FormProblem, toProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AnswerText } from '../parts/answer-text'
import { Block } from '../parts/block'
import { DiffText } from '../parts/diff-text'
import { AccountLink, TextLink } from '../parts/links'
import { TableHead } from '../parts/lists'
import { RelativeTime } from '../parts/times'
import { describePromise, listRepeats, OfflineNote, toRepeats } from './replay-promise'

/** Registers the pages that try a change of an agent on one of its runs, and show what came of it. */
export function registerReplayPages(app: Hono<HubEnv>): void {
  app.get('/activations/:id/try', page(showTry))
  app.post('/activations/:id/try', page(submitTry))
  app.get('/replays/:id', page(showReplay))
  app.post('/replays/:id/cancel', page(submitCancel))
}

/** What was typed into the form, and what came of it. */
interface Tried {
  files?: DefinitionFiles
  repeats?: string
  problem?: FormProblem | null
}

async function showTry(c: PageContext, tried: Tried = {}, status = 200): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const { frame } = await readPage(c, {})
  const { viewer } = frame
  if (!viewer) throw grantErrors.signIn()
  const repeats = Number(tried.repeats ?? 1) || 1
  const caller = { viewer, reader: await readReader(c) }
  const input = { ...(tried.files && { files: tried.files }), repeats }
  const form = await prepareReplay(c.var.context, caller, id, input)
  return sendPage(
    c,
    <TryPage
      frame={frame}
      id={id}
      {...form}
      files={tried.files ?? form.files}
      repeats={String(repeats)}
      problem={tried.problem ?? null}
    />,
    status,
  )
}

/** Handles the form: shows what the draft would cost, or starts the replay. */
async function submitTry(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const viewer = await requireViewer(c, 'write')
  const read = await readForm(c)
  const { files } = readDefinitionForm(read)
  const repeats = read('repeats')
  if (read('do') === 'add_skill')
    return showTry(c, { repeats, ...withSkill(files, read('new_skill')) })
  if (read('do') !== 'start') return showTry(c, { files, repeats })
  try {
    const caller = { viewer, reader: await readReader(c) }
    const input = { files, repeats: toRepeats(repeats, replayLimits.repeatsMax) }
    const actor = await readFormActor(c, viewer)
    const { answer } = await startReplay(c.var.context, actor, caller, id, input)
    return c.redirect(replayPath(answer.id), 303)
  } catch (error) {
    const { code, status } = toAppError(error)
    if (!['CONFLICT', 'INVALID_DEFINITION', 'VALIDATION'].includes(code)) throw error
    return showTry(c, { files, repeats, problem: toProblem(error) }, status)
  }
}

/** Returns the files with a new skill to fill in, or why it was not added. */
function withSkill(files: DefinitionFiles, name: string): Pick<Tried, 'files' | 'problem'> {
  const added = addSkill(files, name.trim())
  return 'files' in added
    ? added
    : { files, problem: { message: 'The skill was not added.', hint: added.error } }
}

async function showReplay(c: PageContext): Promise<Response> {
  const { frame } = await readPage(c, {})
  const { viewer } = frame
  if (!viewer) throw grantErrors.signIn()
  const caller = { viewer, reader: await readReader(c) }
  const replay = await readReplay(c.var.context, caller, c.req.param('id') ?? '')
  return sendPage(c, <ReplayPage frame={frame} replay={replay} />)
}

/** Cancels a replay and shows it, also when it had already ended. */
async function submitCancel(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const viewer = await requireViewer(c, 'write')
  await readForm(c)
  try {
    const caller = { viewer, reader: await readReader(c) }
    await cancelReplay(c.var.context, toActor(viewer, null), caller, id)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'TOO_LATE') throw error
  }
  return c.redirect(replayPath(id), 303)
}

interface TryPageProps extends ReplayForm {
  frame: Frame
  /** Of the run. */
  id: string
  repeats: string
  problem: FormProblem | null
}

/** The form that replays a run with a draft of its definition. */
const TryPage: FC<TryPageProps> = (props) => {
  const { frame, id, agent, version, files, problem, promise, earlier } = props
  const form = createForm<string>({ ...files, repeats: props.repeats, new_skill: '' })
  const [blocking] = promise.problems.filter(({ path }) => path === 'activation')
  return (
    <Layout frame={frame} title={`Try a change of ${agent.name}`} sheet="admin">
      <p class="meta">
        <a href={activationPath(id)}>The run</a>
      </p>
      <h1 class="up">Try a change</h1>
      <p class="by up2">
        <AccountLink {...agent} /> definition {version}
      </p>
      <p class="lede up3">
        Change the definition and see what this run would have done. Nothing is posted, sent or
        saved.
      </p>
      <div class="up4">
        <ErrorSummary problem={problem} />
      </div>
      {blocking ? (
        <p class="note">{blocking.message}</p>
      ) : (
        <>
          <ProblemList
            title="Problems"
            files={files}
            problems={promise.problems}
            look="bad"
            isLinked
          />
          <form class="form wide up4" method="post" action={tryPath(id)}>
            <FormKey />
            {promise.isOffline && <OfflineNote />}
            <PromiseBlock {...props} />
            <FileFields files={files} form={form} />
          </form>
        </>
      )}
      <Earlier rows={earlier} now={frame.now} />
    </Layout>
  )
}

/** Says what the replay can cost and who pays, beside the button that starts it. */
const PromiseBlock: FC<TryPageProps> = ({ id, promise, repeats }) => (
  <section class="block" aria-label="What it costs">
    <Field
      form={createForm({ repeats })}
      as="select"
      name="repeats"
      label="How often the draft runs"
      options={listRepeats(replayLimits.repeatsMax)}
      hint="Models answer differently each time. The definition of the run is replayed once beside it."
    />
    {promise.problems.length === 0 && (
      <p class="up3">
        {describePromise(`It runs ${formatPlural(promise.lanes, 'time', 'times')}`, promise)}
      </p>
    )}
    <div class="acts up3">
      <Submit isMain name="do" value="start">
        Start replay
      </Submit>
      <Submit name="do" value="preview">
        Check and preview cost
      </Submit>
      <TextLink href={activationPath(id)}>Cancel</TextLink>
    </div>
  </section>
)

const statusNames: Record<ReplayStatus, string> = {
  queued: 'waits',
  running: 'running',
  done: 'done',
  cancelled: 'cancelled',
  failed: 'failed',
}

/** Lists the replays of a run. */
const Earlier: FC<{ rows: ReplayRow[]; now: number }> = ({ rows, now }) =>
  rows.length === 0 ? null : (
    <Block title="Earlier replays">
      <ul class="list">
        {rows.map(({ id, status, requestedBy, createdAt }) => (
          <li>
            <p class="by">
              <a href={replayPath(id)}>
                <RelativeTime at={createdAt} now={now} />
              </a>
              <span>{statusNames[status]}, asked by</span>
              <AccountLink {...requestedBy} />
            </p>
          </li>
        ))}
      </ul>
    </Block>
  )

interface ReplayPageProps {
  frame: Frame
  replay: ReplayView
}

const isOver = ({ row }: ReplayView): boolean => row.status !== 'queued' && row.status !== 'running'

/** Shows the lanes of a replay side by side: what they did, where they part, and how the answers differ. */
const ReplayPage: FC<ReplayPageProps> = (props) => {
  const { frame, replay } = props
  const { row, lanes, trial } = replay
  return (
    <Layout
      frame={frame}
      title="Replay"
      sheet="admin"
      {...(isOver(replay) ? {} : { scripts: ['follow'] })}
    >
      <p class="meta">
        {trial && (
          <>
            <a href={trialCasePath(trial.id, trial.caseId)}>
              Trial on <bdi>{trial.setName}</bdi>
            </a>
            {', '}
          </>
        )}
        <a href={activationPath(row.activationId)}>{trial ? 'its run' : 'The run'}</a>
      </p>
      <h1 class="up">Replay</h1>
      <p class="by up2">
        <span>asked by</span>
        <AccountLink {...row.requestedBy} />
        <RelativeTime at={row.createdAt} now={frame.now} />
      </p>
      {!isOver(replay) && <Progress {...props} />}
      <p class="lede up4">{describeResult(replay)}</p>
      <Partings replay={replay} />
      <LaneTable lanes={lanes} />
      <Answers lanes={lanes} />
      <Calls lanes={lanes} />
      <p class="up5">
        <a class="btn" href={tryPath(row.activationId)}>
          Try another change
        </a>
      </p>
      <p class="meta up3">
        Nothing of a replay is posted, sent or remembered. Tools answer from the record of the run,
        else from the hub as it was then.
      </p>
    </Layout>
  )
}

const Progress: FC<ReplayPageProps> = ({ replay }) => {
  const own = replay.lanes.filter(({ lane }) => lane !== 'observed')
  const done = own.filter(({ status }) => status !== 'queued' && status !== 'running').length
  return (
    <section class="live up4" data-running aria-label="Progress">
      <p class="do">
        {done} of {formatPlural(own.length, 'lane', 'lanes')} done
      </p>
      <progress value={done} max={own.length} aria-label="Lanes that are done" />
      <p class="meta up2">
        {formatMoney(replay.costMicrousd, 'trace')} so far, at most{' '}
        {formatMoney(replay.costMaxMicrousd, 'trace')}.
        <noscript> Reload the page to update it.</noscript>
      </p>
      <form class="stop" method="post" action={`${replayPath(replay.row.id)}/cancel`}>
        <Submit>Cancel replay</Submit>
      </form>
    </section>
  )
}

/** Says in one sentence what can be learned from a replay. */
function describeResult({ row, lanes, partsAt }: ReplayView): string {
  const incomplete = lanes.filter((lane) => lane.incomplete !== null)
  if (row.status === 'queued') return 'It starts when the hub has a free slot.'
  if (row.status === 'running') return 'The lanes run. What they did so far is below.'
  if (row.status === 'cancelled') return 'It was cancelled. Lanes that had ended are below.'
  if (row.status === 'failed') return 'A lane did not report how it ended.'
  if (incomplete.length > 0) {
    return 'It does not show all of what would have happened. The reasons are below.'
  }
  return describeDraft(lanes, partsAt !== null)
}

/** Says whether the draft gave another answer, and whether it came to the same one in another way. */
function describeDraft(lanes: ViewedLane[], isParted: boolean): string {
  const baseline = lanes.find(({ lane }) => lane === 'baseline')
  const drafts = lanes.filter(({ lane }) => lane === 'candidate')
  const others = drafts.filter(({ answer }) => !hasSameWords(answer, baseline?.answer ?? '')).length
  if (others > 0) {
    const times =
      drafts.length === 1 ? '' : ` in ${others} of ${formatPlural(drafts.length, 'run', 'runs')}`
    return `The draft gave another answer than the definition of the run${times}.`
  }
  if (!isParted) return 'The draft did the same as the definition of the run.'
  return baseline?.answer === ''
    ? 'The draft differs from the definition of the run, and neither gave an answer.'
    : 'The draft differs from the definition of the run, and gave the same answer.'
}

/** Where the draft parts from the definition of the run, and where that parts from what happened. */
const Partings: FC<{ replay: ReplayView }> = ({ replay: { partsAt, baselinePartsAt } }) =>
  partsAt === null && baselinePartsAt === null ? null : (
    <dl class="def up3">
      {partsAt && (
        <>
          <dt>The draft parts</dt>
          <dd>{describeParting(partsAt)}</dd>
        </>
      )}
      {baselinePartsAt && (
        <>
          <dt>Noise</dt>
          <dd>
            {describeParting(baselinePartsAt)}
            <p class="meta">
              The definition of the run did something else than then. A difference of this kind may
              not be one that the draft made.
            </p>
          </dd>
        </>
      )}
    </dl>
  )

const describeParting = ({ step, detail }: Parting): string => `at step ${step}: ${detail}`

const laneNames: Record<ViewedLane['lane'], string> = {
  observed: 'What happened',
  baseline: 'Same definition',
  candidate: 'Draft',
}

/** Names a lane, with the number of its repeat when there are several. */
const nameLane = ({ lane, sample }: ViewedLane, lanes: ViewedLane[]): string =>
  lanes.filter((each) => each.lane === lane).length > 1
    ? `${laneNames[lane]} ${sample}`
    : laneNames[lane]

/** Says that a lane has the result of an earlier replay, which has paid its cost. */
const Reused: FC<{ from: string | null }> = ({ from }) => (
  <p class="meta">
    Reused from{' '}
    {from === null ? 'a deleted replay' : <a href={replayPath(from)}>an earlier replay</a>}, which
    paid for it
  </p>
)

const LaneTable: FC<{ lanes: ViewedLane[] }> = ({ lanes }) => (
  <Block title="Lanes">
    <table class="tbl fold">
      <TableHead
        columns={[
          'Lane',
          'Outcome',
          { right: 'Steps' },
          { right: 'Tool calls' },
          { right: 'Tokens' },
          { right: 'Time' },
          { right: 'Cost' },
        ]}
      />
      <tbody>
        {lanes.map((lane) => (
          <tr>
            <td>
              {nameLane(lane, lanes)}
              {lane.isReused && <Reused from={lane.reusedFrom} />}
              {lane.incomplete !== null && <p class="meta">Incomplete: {lane.incomplete}</p>}
              {lane.notes.map((note) => (
                <p class="meta">{note}</p>
              ))}
            </td>
            <td data-l="Outcome">
              {lane.status === 'done' ? formatOutcome(lane.outcome) : statusNames[lane.status]}
              {lane.error && <p class="meta">{lane.error.message}</p>}
            </td>
            <td class="r" data-l="Steps">
              {formatCount(lane.steps)}
            </td>
            <td class="r" data-l="Tool calls">
              {formatCount(lane.calls.length)}
            </td>
            <td class="r" data-l="Tokens">
              {formatCount(lane.tokens)}
            </td>
            <td class="r" data-l="Time">
              {formatSpan(lane.durationMs)}
            </td>
            <td class="r" data-l="Cost">
              {formatMoney(lane.costMicrousd, 'trace')}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Block>
)

/** Shows how the answers of the drafts differ from that of the definition of the run, and each answer whole. */
const Answers: FC<{ lanes: ViewedLane[] }> = ({ lanes }) => {
  const done = lanes.filter(({ status }) => status === 'done')
  const baseline = done.find(({ lane }) => lane === 'baseline')
  const drafts = done.filter(({ lane }) => lane === 'candidate')
  return (
    <Block title="Answers">
      {baseline &&
        drafts.map((draft) => (
          <figure class="up3">
            <figcaption class="meta">
              {nameLane(draft, lanes)}, compared with the same definition
            </figcaption>
            <AnswerDiff before={baseline.answer} after={draft.answer} />
          </figure>
        ))}
      <div class="sides up3">
        {done.map((lane) => (
          <div>
            <h3>{nameLane(lane, lanes)}</h3>
            <AnswerText of={lane.answer} />
          </div>
        ))}
      </div>
    </Block>
  )
}

const AnswerDiff: FC<{ before: string; after: string }> = ({ before, after }) => {
  if (hasSameWords(before, after)) return <p class="up2">The answers are the same.</p>
  const lines = diffLines(before, after, createDiffBudget())
  return lines === null ? (
    <p class="up2">The answers have too little in common to be compared.</p>
  ) : (
    <DiffText lines={toWordDiff(toHunks(lines), createDiffBudget())} />
  )
}

const sourceNames: Record<ViewedLane['calls'][number]['source'], string> = {
  record: 'answered from the record',
  hub: 'answered from the hub as it was',
  lane: 'not done',
  none: 'not recorded',
}

const formatPart = (name: string): string => name.replaceAll('_', ' ')

/** Lists the tool calls of each lane that ran, and where their answers came from. */
const Calls: FC<{ lanes: ViewedLane[] }> = ({ lanes }) => {
  const called = lanes.filter(({ lane, calls }) => lane !== 'observed' && calls.length > 0)
  if (called.length === 0) return null
  return (
    <Block title="Tool calls">
      {called.map((lane) => (
        <details id={`calls-${lane.lane}-${lane.sample}`} class="up2">
          <summary>
            {nameLane(lane, lanes)}{' '}
            <span class="meta">{formatPlural(lane.calls.length, 'call', 'calls')}</span>
          </summary>
          <ol class="list tall">
            {lane.calls.map((call) => (
              <li>
                <div>
                  <p>
                    <code>{call.tool}</code>{' '}
                    <span class="meta">
                      step {call.step}, {sourceNames[call.source]}
                      {call.isRepeated && ' again'}
                      {call.current.length > 0 &&
                        `; of today: ${call.current.map(formatPart).join(', ')}`}
                    </span>
                  </p>
                  {call.wouldHave !== null && <p>{call.wouldHave}</p>}
                  <pre class="code" tabindex={0}>
                    {call.arguments}
                  </pre>
                </div>
              </li>
            ))}
          </ol>
        </details>
      ))}
    </Block>
  )
}
