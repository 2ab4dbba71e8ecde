import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import type { RunLogProblem } from '../../agents/contract/agents'
import { canEditAgent } from '../../hub/agents/definition-rules'
import { openAsAdmin, openingReason } from '../../hub/communities/opening-actions'
import {
  type HubEnv,
  readReader,
  requireAdminViewer,
  requireViewer,
  toActor,
} from '../../hub/http/page-entry'
import { openStoredTrace } from '../../hub/operations/archive-view'
import {
  findTraceAccess,
  formatToolName,
  isClosedToAdmin,
  isRunShown,
  listNotes,
  maskTrace,
  type PlanView,
  readTrace,
  type TraceAccess,
  type TraceView,
} from '../../hub/rules/traces'
import { activationRequestErrors, cancelActivation } from '../../hub/runs/actions'
import { feedbackInput, rateAnswer, removeFeedback } from '../../hub/runs/feedback-actions'
import { type FeedbackRow, selectFeedback } from '../../hub/runs/feedback-queries'
import {
  type ActivationDetail,
  activationStatements,
  type Requester,
} from '../../hub/runs/list-queries'
import {
  formatOutcome,
  formatReplyRefusal,
  formatTask,
  isFreeRun,
  isNoticePosted,
  planStatusLabels,
  titleByState,
} from '../../hub/runs/run-labels'
import { openings, runFeedbackLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import {
  formatBytes,
  formatCost,
  formatCount,
  formatPlural,
  formatShare,
  formatSpan,
} from '../../shared/format'
import type { AccountId } from '../../shared/ids'
import { activationPath, commentPath, pastPostPath, postPath, tryPath } from '../../shared/paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  describeText,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import type { Frame, PageViewer } from '../frame/frame'
import { Layout } from '../frame/layout'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { toLocalPath } from '../frame/requests'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { AccountLink } from '../parts/links'
import { Prose } from '../parts/prose'
import { PendingApproval } from '../parts/run-lines'
import { ElapsedTime, RelativeTime } from '../parts/times'
import {
  EventList,
  HookTable,
  logProblemLabels,
  NoteList,
  PromptBlock,
  StepTable,
  Waterfall,
} from './run-trace'

/** Registers `GET /activations/:id`, the page of an activation, and its forms. */
export function registerActivationPages(app: Hono<HubEnv>): void {
  app.get('/activations/:id', page(showActivation))
  app.post('/activations/:id/stop', page(stopActivation))
  app.post('/activations/:id/open', page(openActivation))
  app.post('/activations/:id/feedback', page(rateActivation))
}

/** Forms of the page that were sent and rejected. */
interface RejectedForms {
  opening?: OpeningFormState
  feedback?: FeedbackFormState
}

async function showActivation(
  c: PageContext,
  { opening = emptyOpening, feedback }: RejectedForms = {},
  status = 200,
): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const reader = await readReader(c)
  const { frame, answers } = await readPage(c, {
    ...activationStatements(id, reader),
    feedback: selectFeedback({ id, reader }),
  })
  const { activation, requesters } = answers
  if (!activation) throw activationRequestErrors.notFound()
  const live = await readLiveState(c, activation)
  const access = findTraceAccess(frame.viewer, activation)
  const isPrivate = !isRunShown(frame.viewer, activation)
  const { agents, archive } = c.var.context
  const log = live.log ?? (await openStoredTrace(archive, activation.trace))
  const trace = readTrace(agents, log, access, activation)
  // A trace for those who see less has no changes.
  const patches = await readPatches(trace?.changes ?? [], (attempt) =>
    agents.readPatch(activation.agentId, activation.id, attempt),
  )
  return sendPage(
    c,
    <ActivationPage
      frame={frame}
      activation={activation}
      requesters={isPrivate ? [] : requesters}
      feedback={answers.feedback}
      feedbackForm={feedback ?? null}
      isShown={!isPrivate}
      trace={trace}
      patches={patches}
      logProblem={trace || log === null ? null : agents.findRunLogProblem(log)}
      access={access}
      doing={isPrivate ? null : live.doing}
      closedTo={isClosedToAdmin(frame.viewer, activation) ? activation.ownerNames : []}
      opening={opening}
    />,
    status,
  )
}

/** Opens what the run is private to, with the reason of the form, and shows the run. */
async function openActivation(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const viewer = await requireAdminViewer(c)
  const read = readFormWith(openingReason, await readForm(c), openingForm)
  if (!read.isValid) return showActivation(c, { opening: read.form }, 400)
  try {
    const by = { admin: await readFormActor(c, viewer), reader: await readReader(c) }
    await openAsAdmin(c.var.context, by, { kind: 'run', id }, read.value)
  } catch (error) {
    const { form, status } = rejectForm(openingForm, read.form, error)
    return showActivation(c, { opening: form }, status)
  }
  return c.redirect(activationPath(id), 303)
}

/** Saves or removes what the viewer thinks of the answer, and redirects to the page with the form. */
async function rateActivation(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const text = await readForm(c)
  const next = toLocalPath(text('next'))
  if (text('value') === 'none') {
    const viewer = await requireViewer(c, 'write', { isWriting: false })
    await removeFeedback(c.var.context, toActor(viewer, null), id)
    return c.redirect(next, 303)
  }
  const viewer = await requireViewer(c, 'write')
  const read = readFormWith(feedbackInput, text, feedbackForm)
  if (!read.isValid) return showActivation(c, { feedback: read.form }, 400)
  try {
    await rateAnswer(c.var.context, toActor(viewer, null), id, read.value)
  } catch (error) {
    const { form, status } = rejectForm(feedbackForm, read.form, error)
    return showActivation(c, { feedback: form }, status)
  }
  return c.redirect(next, 303)
}

/** Cancels an activation and redirects back to the page with the button, also when it had already ended. */
async function stopActivation(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const viewer = await requireViewer(c, 'write')
  const form = await readForm(c)
  try {
    await cancelActivation(c.var.context, toActor(viewer, null), viewer.role === 'admin', id)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'TOO_LATE') throw error
  }
  const postId = form('post_id')
  return c.redirect(postId ? postPath(postId) : activationPath(id), 303)
}

/**
 * Reads log and current action from the agent's own object. When that fails, the page shows the state
 * in D1.
 */
async function readLiveState(
  c: PageContext,
  { state, agentId, id }: ActivationDetail,
): Promise<{ log: string | null; doing: string | null }> {
  if (state === 'done') return { log: null, doing: null }
  const { agents, settings } = c.var.context
  const [log, now] = await Promise.all([
    agents.readRunLog(agentId, id).catch(() => null),
    agents.readState(agentId).catch(() => null),
  ])
  return {
    log: log && maskTrace(log, settings),
    doing: now?.activationId === id ? now.doing : null,
  }
}

interface ActivationPageProps extends ReplyBlockProps {
  /** Contains only what the viewer may see. */
  trace: TraceView | null
  /** What a program changed in its repository, by attempt. */
  patches: Map<number, string>
  /** Why a stored trace cannot be read; null when it can, or when none is stored. */
  logProblem: RunLogProblem | null
  /** What a running agent does right now, as text for people. */
  doing: string | null
  /** Whom the run is private to; empty unless the viewer is an admin who has to open it. */
  closedTo: string[]
  opening: OpeningFormState
}

/** Shows one activation: its progress, reply, figures and trace. */
const ActivationPage: FC<ActivationPageProps> = (props) => {
  const { frame, activation, trace, doing } = props
  const isOpen = activation.state !== 'done'
  const title = titleByState[activation.state](activation.agentName)
  return (
    <Layout frame={frame} title={title} sheet="trace" {...(isOpen ? { scripts: ['follow'] } : {})}>
      <Heading {...props} title={title} />
      {isOpen && (
        <ActivationProgress
          frame={frame}
          activation={activation}
          requesters={props.requesters.map(({ name }) => name)}
          doing={doing}
          seq={trace?.events.length ?? 0}
          view={props.access === 'all' ? 'full' : 'thread'}
        />
      )}
      <div class={isOpen ? 'up5' : undefined}>
        <Figures {...props} />
      </div>
      {props.closedTo.length > 0 && (
        <OpenAsAdmin id={activation.id} owners={props.closedTo} form={props.opening} />
      )}
      <FailureNotice activation={activation} trace={trace} />
      <ReplyBlock {...props} />
      <TraceSections {...props} />
    </Layout>
  )
}

/** Returns the path of the thread as the run read it when it began; of the present one while it works, or if the run wrote the post. */
const toThreadPath = (
  { state, startedAt, postCreatedAt }: ActivationDetail,
  postId: string,
): string =>
  state === 'done' && postCreatedAt !== null && postCreatedAt <= startedAt
    ? pastPostPath(postId, startedAt)
    : postPath(postId)

const Heading: FC<ActivationPageProps & { title: string }> = (props) => {
  const { frame, activation, requesters, title } = props
  return (
    <div class="head">
      <div>
        {activation.postId && activation.postTitle && (
          <p class="meta">
            <a href={toThreadPath(activation, activation.postId)}>
              <bdi>{activation.postTitle}</bdi>
            </a>
          </p>
        )}
        <h1 class="up">{title}</h1>
        <div class="by up2">
          <AccountLink name={activation.agentName} kind={activation.agentKind} />
          {requesters.length > 0 && <span>asked by</span>}
          {requesters.map((requester) => (
            <AccountLink {...requester} />
          ))}
          <ActsFor {...props} />
          {requesters.length === 0 && <span>{formatTask(activation.task)}</span>}
          <RelativeTime at={activation.startedAt} now={frame.now} />
          <span>definition {activation.definitionVersion}</span>
          <span>{activation.model}</span>
        </div>
      </div>
      {canTry(props) && (
        <a class="btn" href={tryPath(activation.id)}>
          Try a change
        </a>
      )}
    </div>
  )
}

/** Whether the viewer may replay the run; the form says why a run cannot be replayed. */
const canTry = ({ activation, access, trace, frame }: ActivationPageProps): boolean =>
  access === 'all' &&
  trace !== null &&
  activation.state === 'done' &&
  frame.viewer?.kind !== 'agent'

/** Names the accounts whose permissions and budgets the run used, with the roles that they had. */
const ActsFor: FC<ActivationPageProps> = ({ trace }) => {
  const actsFor = trace?.requesters ?? []
  if (actsFor.length === 0) return null
  return (
    <span>on behalf of {actsFor.map(({ name, role }) => `@${name} (${role})`).join(', ')}</span>
  )
}

/** Returns step count and times in milliseconds: from the trace while running, from the row once finished. */
function computeFigures({ activation, trace, frame }: ActivationPageProps) {
  const steps = trace?.steps ?? []
  const sum = (pick: (step: (typeof steps)[number]) => number) =>
    steps.reduce((all, step) => all + pick(step), 0)
  return {
    steps: Math.max(activation.iterations, steps.length),
    time: (activation.finishedAt ?? frame.now) - activation.startedAt,
    model: sum((step) => step.modelMs),
    tools: sum((step) => Math.max(0, ...step.tools.map(({ durationMs }) => durationMs))),
  }
}

/** Returns the usage charged for all model calls, failed calls included. */
const computeSpent = ({ activation, trace }: ActivationPageProps): TraceView['spent'] =>
  activation.state === 'done' || !trace ? activation : trace.spent

const Figures: FC<ActivationPageProps> = (props) => {
  const { activation } = props
  const figures = computeFigures(props)
  return (
    <dl class="facts">
      <div>
        <dt>Outcome</dt>
        <dd>
          {activation.state === 'parked' ? 'waiting' : formatOutcome(activation.outcome)}
          <small>{formatPlural(figures.steps, 'step', 'steps')}</small>
        </dd>
      </div>
      <div>
        <dt>Time</dt>
        <dd>
          {formatSpan(figures.time)}
          <small>
            model {formatSpan(figures.model)}, tools {formatSpan(figures.tools)}
          </small>
        </dd>
      </div>
      <UsageFigures {...props} />
    </dl>
  )
}

/** Tokens and cost; those of the offline model are not bought. */
const UsageFigures: FC<ActivationPageProps> = (props) => {
  const { activation } = props
  const spent = computeSpent(props)
  if (isFreeRun({ model: activation.model, costMicrousd: spent.costMicrousd })) {
    return (
      <div>
        <dt>Cost</dt>
        <dd>
          free
          <small>offline model</small>
        </dd>
      </div>
    )
  }
  return (
    <>
      <div>
        <dt>Tokens</dt>
        <dd>
          {formatCount(spent.inputTokens + spent.outputTokens)}
          <small>
            {formatCount(spent.inputTokens)} in, {formatCount(spent.outputTokens)} out
          </small>
        </dd>
      </div>
      <div>
        <dt>Prompt cache</dt>
        <dd>
          {spent.inputTokens > 0 ? formatShare(spent.cachedTokens / spent.inputTokens) : 'none'}
          <small>{formatCount(spent.cachedTokens)} tokens</small>
        </dd>
      </div>
      <div>
        <dt>Cost</dt>
        <dd>
          {formatCost(spent.costMicrousd, spent.isPriced, 'trace')}
          <small>{activation.state === 'done' ? 'settled' : 'so far'}</small>
        </dd>
      </div>
    </>
  )
}

const FailureNotice: FC<{ activation: ActivationDetail; trace: TraceView | null }> = (props) => {
  const { activation, trace } = props
  const error = trace?.error ?? null
  if (!error && !activation.replyRefusal) return null
  return (
    <div class="wrong up5">
      {error && (
        <>
          <strong>{error.message}</strong>
          <p class="meta">{error.code.toLowerCase().replaceAll('_', ' ')}</p>
        </>
      )}
      {activation.replyRefusal && (
        <>
          <strong>
            The reply was {isNoticePosted(activation.replyRefusal) ? 'withheld' : 'not posted'}.
          </strong>
          <p>{formatReplyRefusal(activation.replyRefusal, activation.limits)}</p>
        </>
      )}
    </div>
  )
}

/** Explains why an activation has no steps to show. */
const NoTrace: FC<ActivationPageProps> = ({ activation, logProblem }) => {
  const isDone = activation.state === 'done'
  if (logProblem) {
    return (
      <div class="empty">
        <p>
          <strong>The trace can’t be read.</strong>
          {logProblemLabels[logProblem]}
          {isDone && ' The outcome, tokens and cost above are complete.'}
        </p>
      </div>
    )
  }
  return (
    <div class="empty">
      <p>
        <strong>{isDone ? 'The trace is no longer stored.' : 'No trace yet.'}</strong>
        {isDone
          ? 'The figures above are complete; the steps were deleted.'
          : 'The first step is being prepared.'}
      </p>
    </div>
  )
}

const TraceSections: FC<ActivationPageProps> = (props) => {
  const { frame, activation, trace, access } = props
  if (!trace) return <NoTrace {...props} />
  return (
    <>
      <PlanBlock plan={trace.plan} />
      <ChangesBlock changes={trace.changes} patches={props.patches} />
      <section class="block">
        <h2>
          Timeline{' '}
          <span class="meta">
            <Swatch kind="model" /> model <Swatch kind="tool" /> tools ·{' '}
            <a href={`/api/v1/activations/${activation.id}/otlp`}>OpenTelemetry</a>
          </span>
        </h2>
        <Waterfall trace={trace} startedAt={activation.startedAt} now={frame.now} />
        {access !== 'all' && (
          <p class="meta up2">
            Prompts and tool results are shown only to admins and the agent’s owner.
          </p>
        )}
      </section>
      {trace.steps.length > 0 && (
        <Block title="Cost by step">
          <StepTable steps={trace.steps} spent={computeSpent(props)} />
        </Block>
      )}
      <HookTable steps={trace.steps} />
      <NoteList notes={listNotes(trace)} startedAt={activation.startedAt} />
      <EventList
        activationId={activation.id}
        events={trace.events}
        startedAt={activation.startedAt}
      />
      <PromptBlock prompt={trace.prompt} />
    </>
  )
}

const Swatch: FC<{ kind: 'model' | 'tool' }> = ({ kind }) => (
  <svg class="sw" viewBox="0 0 11 11" aria-hidden="true">
    <rect class={`k-${kind}`} width="11" height="11" rx="2" />
  </svg>
)

type OpeningField = 'reason'
type OpeningFormState = FormState<OpeningField>

/** The form with which an admin opens a private run. */
const openingForm: FormDefinition<OpeningField> = {
  rejected: 'The run was not opened.',
  fields: { reason: { message: describeText('The reason', openings.reasonCharsMax) } },
}

const emptyOpening: OpeningFormState = createForm({ reason: '' })

/** Says to an admin whom a run is private to, and opens it with a reason. */
const OpenAsAdmin: FC<{ id: string; owners: string[]; form: OpeningFormState }> = (props) => {
  const { id, owners, form } = props
  const names = owners.join(' and ')
  return (
    <section class="block" aria-labelledby="open-heading">
      <h2 id="open-heading">Private to {names}</h2>
      <p class="meta">
        You see no texts of this run. You can open what agents keep private to {names} for an hour.
        The admin log records it with your reason, and{' '}
        {names.startsWith('m/') ? `the moderators of ${names} are` : `${names} is`} notified.
      </p>
      <ErrorSummary problem={form.problem} />
      <form class="form up3" method="post" action={`${activationPath(id)}/open`}>
        <FormKey />
        <Field
          form={form}
          name="reason"
          label="Reason"
          required
          maxlength={openings.reasonCharsMax}
        />
        <div>
          <Submit>Open as admin</Submit>
        </div>
      </form>
    </section>
  )
}

/** Steps that the page lists at most. */
const stepsShown = 60

/** Shows an agent's plan and its progress. */
export const PlanBlock: FC<{ plan: PlanView }> = ({ plan: { goal, steps, progress } }) => {
  if (steps.length === 0) return null
  const hidden = steps.length - stepsShown
  return (
    <section class="block">
      <h2>
        Plan <span class="meta">{formatShare(progress)} done</span>
      </h2>
      <progress value={progress} max="1" aria-label="Plan progress" />
      {goal && <p class="lede">{goal}</p>}
      <ol class="list steps">
        {steps.slice(0, stepsShown).map(({ title, callId, status, output, reason }) => (
          <li>
            {callId === null ? (
              <b>{title || 'Step (title hidden)'}</b>
            ) : (
              <span>{formatToolName(title)}</span>
            )}
            <span class={status === 'failed' ? 'r crit' : 'r'}>{planStatusLabels[status]}</span>
            {(reason ?? output) && <p>{reason ?? output}</p>}
          </li>
        ))}
      </ol>
      {hidden > 0 && <p class="meta">{hidden} more steps are in the event list.</p>}
    </section>
  )
}

interface ReplyBlockProps {
  frame: Frame
  activation: ActivationDetail
  requesters: Requester[]
  feedback: FeedbackRow[]
  /** The form of the viewer's feedback that was sent and rejected. */
  feedbackForm: FeedbackFormState | null
  /** Whether the viewer may see feedback and give it. */
  isShown: boolean
  access: TraceAccess
}

const toNameSet = (requesters: Requester[]): ReadonlySet<string> =>
  new Set(requesters.map(({ name }) => name.toLowerCase()))

/** Shows the reply of a run, and what people think of it. */
const ReplyBlock: FC<ReplyBlockProps> = (props) => {
  const { activation, requesters } = props
  return (
    <>
      {activation.reply !== null && (
        <section class="block">
          <h2>
            Reply{' '}
            {activation.postId && (
              <a
                class="meta"
                href={
                  activation.replyCommentId === null
                    ? postPath(activation.postId)
                    : commentPath(activation.postId, activation.replyCommentId)
                }
              >
                View in thread
              </a>
            )}
          </h2>
          <div class="up3">
            <Prose
              of={{ html: activation.replyHtml, content: activation.reply }}
              knownNames={toNameSet(requesters)}
            />
          </div>
        </section>
      )}
      {activation.state === 'done' && props.isShown && <FeedbackSection {...props} />}
    </>
  )
}

const toCounts = (rows: FeedbackRow[]): FeedbackCounts => {
  const own = rows.find(({ isOwn }) => isOwn)
  return {
    up: rows[0]?.up ?? 0,
    down: rows[0]?.down ?? 0,
    ownValue: own?.value ?? null,
    ownNote: own?.note ?? null,
  }
}

const FeedbackSection: FC<ReplyBlockProps> = (props) => {
  const { frame, activation, feedback, feedbackForm } = props
  if (frame.viewer === null && feedback.length === 0) return null
  return (
    <section class="block" id="feedback" aria-labelledby="feedback-heading">
      <h2 id="feedback-heading">Feedback</h2>
      <FeedbackForm
        viewer={frame.viewer}
        canMakeCase={
          props.access === 'all' &&
          canMakeCase(frame.viewer, { ...toCounts(feedback), ownerId: activation.ownerId })
        }
        activationId={activation.id}
        formKey={activation.id}
        agentName={activation.agentName}
        counts={toCounts(feedback)}
        next={`${activationPath(activation.id)}#feedback`}
        form={feedbackForm}
      />
      <FeedbackList rows={feedback} now={frame.now} />
    </section>
  )
}

type Changes = TraceView['changes'][number]

/** Patches that a page shows, in characters; the newest come first. */
const patchCharsMax = 1_100_000

/** Reads the patches of a run that a page has room for, by attempt. */
async function readPatches(
  changes: Changes[],
  read: (attempt: number) => Promise<string | null>,
): Promise<Map<number, string>> {
  let left = patchCharsMax
  const shown = changes.toReversed().filter(({ patchChars }) => {
    left -= patchChars
    return patchChars > 0 && left >= 0
  })
  const patches = await Promise.all(
    shown.map(async ({ attempt }) => [attempt, await read(attempt).catch(() => null)] as const),
  )
  return new Map(patches.flatMap(([attempt, text]) => (text === null ? [] : [[attempt, text]])))
}

/** Shows what a run changed in its repository: branch, files, and the patch, folded because it is long. */
const ChangesBlock: FC<{ changes: Changes[]; patches: Map<number, string> }> = ({
  changes,
  patches,
}) =>
  changes.length === 0 ? null : (
    <Block title="Changes">
      <ul class="list tall">
        {changes.map((each) => (
          <li>
            <div>
              <p>
                <code>{each.branch}</code> <span class="meta">{describe(each)}</span>
              </p>
              <pre class="up2" tabindex={0}>
                {each.stat}
              </pre>
              <Patch changes={each} patch={patches.get(each.attempt)} />
            </div>
          </li>
        ))}
      </ul>
    </Block>
  )

const Patch: FC<{ changes: Changes; patch: string | undefined }> = ({ changes, patch }) => {
  if (changes.patchChars === 0) return <p class="meta up2">The patch was not stored.</p>
  if (patch === undefined) {
    return <p class="meta up2">The patch can’t be shown here. Compare the branch instead.</p>
  }
  return (
    <details id={`patch-${changes.attempt}`} class="up2">
      <summary>
        Patch <span class="meta">{formatBytes(changes.patchChars)}</span>
      </summary>
      <pre class="up2" tabindex={0}>
        {patch}
      </pre>
    </details>
  )
}

const short = (commit: string): string => commit.slice(0, 12)

function describe({ pushed, since }: Changes): string {
  const what = pushed === null ? 'not pushed' : `pushed as ${short(pushed)}`
  return since === null ? `new branch, ${what}` : `since ${short(since)}, ${what}`
}

interface StopFormProps {
  viewer: PageViewer | null
  activation: { id: string; agentName: string }
  /** Names of the requesters of the activation; they and admins may stop it. */
  requesters: readonly string[]
  /** The thread to return to; the activation's page if absent. */
  postId?: string
}

/** The button that stops a running agent; nothing for viewers who may not stop it. */
export const StopForm: FC<StopFormProps> = ({ viewer, activation, requesters, postId }) => {
  if (!viewer || !(viewer.isAdmin || requesters.includes(viewer.name))) return null
  return (
    <form class="stop" method="post" action={`${activationPath(activation.id)}/stop`}>
      {postId !== undefined && <input type="hidden" name="post_id" value={postId} />}
      <Submit id={`stop-${activation.id}`}>Stop {activation.agentName}</Submit>
    </form>
  )
}

type FeedbackField = 'value' | 'note'
type FeedbackFormState = FormState<FeedbackField>

/** The form that rates the answer of a run. */
const feedbackForm: FormDefinition<FeedbackField> = {
  rejected: 'The rating was not saved.',
  fields: {
    value: { message: 'Choose whether the answer was good.' },
    note: { message: describeText('The note', runFeedbackLimits.noteCharsMax) },
  },
}

/** Counts of the feedback on a run, and the viewer's own. */
interface FeedbackCounts {
  up: number
  down: number
  /** Null without own feedback. */
  ownValue: number | null
  ownNote: string | null
}

export const noFeedback: FeedbackCounts = { up: 0, down: 0, ownValue: null, ownNote: null }

/** Formats the counts, such as `2 good, 1 bad`; '' without feedback. */
const formatFeedback = ({ up, down }: Pick<FeedbackCounts, 'up' | 'down'>): string =>
  [up > 0 && `${up} good`, down > 0 && `${down} bad`].filter(Boolean).join(', ')

interface FeedbackFormProps {
  viewer: PageViewer | null
  /** Whether the viewer can make a test case of the run. */
  canMakeCase: boolean
  activationId: string
  /** Names the form on the page: the run, or its comment in a thread. */
  formKey: string
  agentName: string
  counts: FeedbackCounts
  /** Path to return to. */
  next: string
  /** The form that was sent and rejected. */
  form?: FeedbackFormState | null
}

/** The form that rates an answer and, of one that was rated as bad, the button that makes a test case of it. */
export const FeedbackForm: FC<FeedbackFormProps> = (props) => (
  <>
    <RatingForm {...props} />
    {props.canMakeCase && <MakeCase {...props} />}
  </>
)

/** A disclosure with the form that rates an answer; the counts alone for viewers who cannot rate it. */
const RatingForm: FC<FeedbackFormProps> = (props) => {
  const { viewer, activationId, agentName, counts, next, form } = props
  const summary = formatFeedback(counts)
  if (viewer?.kind !== 'human' && viewer?.kind !== 'system') {
    return summary === '' ? null : <p class="meta">Rated {summary}</p>
  }
  const hasOwn = counts.ownValue !== null
  const shown = form ?? createForm({ value: '', note: counts.ownNote ?? '' })
  const button = (value: 'up' | 'down', label: string) => {
    const isPressed = counts.ownValue === (value === 'up' ? 1 : -1)
    return (
      <Submit
        isMain={isPressed}
        name="value"
        value={value}
        aria-pressed={isPressed ? 'true' : 'false'}
      >
        {label}
      </Submit>
    )
  }
  return (
    <details class="moderate" id={`rate-${props.formKey}`} open={form != null}>
      <summary>
        {hasOwn ? `You rated: ${counts.ownValue === 1 ? 'good' : 'bad'}` : 'Rate'}
        <span class="vh"> the answer by {agentName}</span>
        {summary !== '' && ` (${summary})`}
      </summary>
      <ErrorSummary problem={form?.problem ?? null} />
      <form class="form up2" method="post" action={`${activationPath(activationId)}/feedback`}>
        <input type="hidden" name="next" value={next} />
        <Field
          form={shown}
          as="textarea"
          name="note"
          id={`note-${props.formKey}`}
          label="Note (optional)"
          rows={3}
          placeholder="This was wrong because ..."
          maxlength={runFeedbackLimits.noteCharsMax}
          hint={`People who see the run can read the note. ${agentName} does not see it.`}
        />
        <div class="acts">
          {button('up', 'Good answer')}
          {button('down', 'Bad answer')}
          {hasOwn && (
            <Submit name="value" value="none">
              Remove rating
            </Submit>
          )}
        </div>
      </form>
    </details>
  )
}

/** Whether a viewer can make a test case of a run that somebody rated as bad: whoever may edit its agent. */
export const canMakeCase = (
  viewer: PageViewer | null,
  { ownerId, down }: { ownerId: AccountId | null; down: number },
): boolean =>
  viewer !== null && viewer.kind !== 'agent' && down > 0 && canEditAgent(viewer, ownerId)

/** The button that adds a run to the bad answers of its agent. */
const MakeCase: FC<FeedbackFormProps> = ({ activationId, agentName, formKey }) => (
  <form method="post" action={`${activationPath(activationId)}/case`}>
    {/* among the actions of a comment it is as quiet as they are */}
    <button type="submit" class={formKey === activationId ? 'btn' : 'btn link'}>
      Make a test case<span class="vh"> of the answer by {agentName}</span>
    </button>
  </form>
)

/** Lists what people noted about answers; feedback without a note is counted elsewhere. */
export const FeedbackList: FC<{ rows: FeedbackRow[]; now: number; hasRun?: boolean }> = (props) => {
  const noted = props.rows.filter(({ note }) => note !== '')
  return noted.length === 0 ? null : (
    <ul class="list tall">
      {noted.map((row) => (
        <li>
          <div class="by">
            <AccountLink name={row.account.name} kind={row.account.kind} />
            <span>{row.value === 1 ? 'good' : 'bad'}</span>
            <RelativeTime at={row.at} now={props.now} />
            {props.hasRun && <a href={activationPath(row.activationId)}>View run</a>}
          </div>
          <p class="code">{row.note}</p>
        </li>
      ))}
    </ul>
  )
}

interface ActivationProgressProps {
  frame: Frame
  activation: ActivationDetail
  requesters: readonly string[]
  /** What the agent does right now, as text for people. */
  doing: string | null
  /** Sequence number of the last event on the page. */
  seq: number
  view: 'full' | 'thread'
}

/**
 * Shows the current state of a running or parked activation. The page's script streams the model's
 * text into this block, and reloads the page after each event.
 */
const ActivationProgress: FC<ActivationProgressProps> = (props) => {
  const { frame, activation, requesters, seq, view } = props
  const { id } = activation
  return (
    <section
      class="live"
      data-running
      data-activation={id}
      data-view={view}
      data-seq={seq}
      aria-label="Progress"
    >
      {activation.state === 'parked' ? (
        <PendingApproval
          agentName={activation.agentName}
          tools={activation.waitsFor}
          canDecide={frame.viewer?.isAdmin === true}
          isAwaitingProvider={activation.isAwaitingProvider}
        />
      ) : (
        <RunningBlock {...props} />
      )}
      <StopForm viewer={frame.viewer} activation={activation} requesters={requesters} />
    </section>
  )
}

const RunningBlock: FC<ActivationProgressProps> = ({ frame, activation, doing }) => (
  <>
    <p class="do" data-name={activation.agentName}>
      {activation.agentName} is {doing ?? 'working on an answer'}
    </p>
    <details id="reasoning" class="up2" data-reasoning hidden>
      <summary class="meta">Reasoning</summary>
      <p class="words" />
    </details>
    <div data-text hidden>
      <p class="words" />
    </div>
    <p class="meta up2">
      Running for <ElapsedTime since={activation.startedAt} now={frame.now} />. The steps so far are
      listed below.
      <noscript> Reload the page to update them.</noscript>
    </p>
  </>
)
