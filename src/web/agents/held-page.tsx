import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { selectDefinition } from '../../hub/agents/definition-queries'
import {
  definitionErrors,
  diffFiles,
  type FileDiff,
  requireEditor,
} from '../../hub/agents/definition-rules'
import { applyHeld, applyInput, describeOutcome, discardHeld } from '../../hub/agents/held-actions'
import { type HeldProgress, selectHeldList } from '../../hub/agents/held-queries'
import { grantErrors } from '../../hub/grants/actions'
import { type HubEnv, requireViewer, toAppError } from '../../hub/http/page-entry'
import { capitalize, formatCount, formatPlural } from '../../shared/format'
import { comparePath, setsPath, trialPath } from '../../shared/paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
  toProblem,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { AccountLink, TextLink } from '../parts/links'
import { RelativeTime } from '../parts/times'
import { formatTimes } from '../runs/replay-promise'
import { editPath, heldPath, versionsPath } from './agent-paths'
import { FileDiffs } from './edit-page'

/** Registers the page of the change of an agent that waits for its trial, and its forms. */
export function registerHeldPage(app: Hono<HubEnv>): void {
  app.get('/a/:name/held', page(show))
  app.post('/a/:name/held/apply', page(submitApply))
  app.post('/a/:name/held/discard', page(submitDiscard))
}

const nameOf = (c: PageContext): string => c.req.param('name') ?? ''

type ApplyField = 'reason' | 'etag'

const applyForm: FormDefinition<ApplyField> = {
  rejected: 'The change was not applied.',
  fields: { reason: { message: 'Say why, in at most 500 characters.' }, etag: {} },
}

async function show(
  c: PageContext,
  form: FormState<ApplyField> = createForm({ reason: '', etag: '' }),
  status = 200,
): Promise<Response> {
  const name = nameOf(c)
  const { agents } = c.var.context
  const { frame, answers } = await readPage(c, {
    definition: selectDefinition({ name }),
    list: selectHeldList({ name }),
  })
  if (!frame.viewer) throw grantErrors.signIn()
  const { definition, list } = answers
  requireEditor(frame.viewer, definition?.ownerId ?? null)
  if (!definition) throw definitionErrors.notFound()
  const held = list.find(({ outcome }) => outcome === null) ?? null
  const [current, files] = await Promise.all([
    held && agents.readDefinition(name, definition.etag),
    held && agents.readDefinition(name, held.etag),
  ])
  const diffs = files ? diffFiles(current ?? {}, files) : []
  const decided = list.filter(({ outcome }) => outcome !== null)
  return sendPage(
    c,
    <HeldPage frame={frame} name={name} held={held} decided={decided} diffs={diffs} form={form} />,
    status,
  )
}

async function submitApply(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const read = readFormWith(applyInput, await readForm(c), applyForm)
  if (!read.isValid) return show(c, read.form, 400)
  try {
    await applyHeld(c.var.context, viewer, nameOf(c), read.value)
  } catch (error) {
    const { form, status } = rejectForm(applyForm, read.form, error)
    return show(c, form, status)
  }
  return c.redirect(heldPath(nameOf(c)), 303)
}

async function submitDiscard(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const read = await readForm(c)
  try {
    await discardHeld(c.var.context, viewer, nameOf(c), { etag: read('etag') })
  } catch (error) {
    if (toAppError(error).code !== 'CONFLICT') throw error
    const problem = toProblem(error)
    return show(c, { ...createForm({ reason: '', etag: '' }), problem }, problem.status)
  }
  return c.redirect(heldPath(nameOf(c)), 303)
}

interface HeldPageProps {
  frame: Frame
  name: string
  /** Null when none waits. */
  held: HeldProgress | null
  /** Those that waited before, newest first. */
  decided: HeldProgress[]
  /** What it changes of the active version. */
  diffs: FileDiff[]
  form: FormState<ApplyField>
}

/** Whether the trial of a change goes on, or has just ended, so that the page follows it. */
const isTried = ({ problem, peopleCases, openCases }: HeldProgress): boolean =>
  problem === null && (openCases > 0 || peopleCases === 0)

/** Shows a change that waits for its trial: what it changes, what the trial shows, and what can be done; then those before. */
const HeldPage: FC<HeldPageProps> = ({ frame, name, held, decided, diffs, form }) => {
  const last = held ? undefined : decided[0]
  const earlier = last ? decided.slice(1) : decided
  return (
    <Layout
      frame={frame}
      title={`Change of ${name}`}
      place="agents"
      sheet="admin"
      {...(held && isTried(held) ? { scripts: ['follow'] } : {})}
    >
      <h1>{held ? 'Change that waits' : 'No change waits'}</h1>
      <p class="by up2">
        <AccountLink name={name} kind="agent" />
        <TextLink href={editPath(name)}>Active version</TextLink>
        {held && <TextLink href={`${editPath(name)}?held`}>Open the change in the editor</TextLink>}
      </p>
      <ErrorSummary problem={form.problem} />
      {held && (
        <>
          <Waiting held={held} now={frame.now} />
          <Decide held={held} isAdmin={frame.viewer?.isAdmin === true} form={form} />
          <Block title="Changed lines">
            <FileDiffs of={diffs} none="The files are the same as those of the active version." />
          </Block>
        </>
      )}
      {last && (
        <div class="up4">
          <p class="lede" role="status">
            The last change {describeOutcome(last)},{' '}
            <RelativeTime at={last.decidedAt ?? 0} now={frame.now} />.
          </p>
          <Pages held={last} now={frame.now} />
        </div>
      )}
      {!held && !last && (
        <p class="lede up4">
          A change of {name} waits here while it is tried, when its definition says that changes
          have to pass a trial.
        </p>
      )}
      {earlier.length > 0 && (
        <Block title="Earlier changes">
          <ul class="list">
            {earlier.map((each) => (
              <li>
                <div>
                  <p>
                    {capitalize(describeOutcome(each))},{' '}
                    <RelativeTime at={each.decidedAt ?? 0} now={frame.now} />
                  </p>
                  <Pages held={each} now={frame.now} />
                </div>
              </li>
            ))}
          </ul>
        </Block>
      )}
    </Layout>
  )
}

/** Who saved a change that no longer waits, with its trial and its version. */
const Pages: FC<{ held: HeldProgress; now: number }> = ({ held, now }) => (
  <p class="by up">
    <span>saved by</span>
    <AccountLink {...held.savedBy} />
    <RelativeTime at={held.savedAt} now={now} />
    {held.hasTrial && held.trialId && <TextLink href={trialPath(held.trialId)}>Trial</TextLink>}
    {held.version !== null && (
      <TextLink href={`${versionsPath(held.name)}?show=${held.version}#changes`}>
        Version {held.version}
      </TextLink>
    )}
  </p>
)

const Waiting: FC<{ held: HeldProgress; now: number }> = ({ held, now }) => {
  const { gate, trialId, peopleCases } = held
  return (
    <>
      <p class="by up4">
        <span>saved by</span>
        <AccountLink {...held.savedBy} />
        <RelativeTime at={held.savedAt} now={now} />
        <span>over version {held.baseVersion}</span>
      </p>
      {isTried(held) ? (
        <Progress held={held} />
      ) : (
        <p class="lede up2" role="status">
          {held.problem ? (
            <span class="warn">Not applied: {held.problem}</span>
          ) : (
            `People have to compare the answers of ${formatPlural(peopleCases, 'case', 'cases')}. Then its trial decides.`
          )}
        </p>
      )}
      {peopleCases > 0 && trialId && (
        <p class="acts up3">
          <a class="btn go" href={comparePath(trialId)}>
            Compare {formatPlural(peopleCases, 'case', 'cases')}
          </a>
        </p>
      )}
      <dl class="def up3">
        <dt>Trial</dt>
        <dd>
          {held.hasTrial && trialId ? (
            <a href={trialPath(trialId)}>its cases and answers</a>
          ) : (
            'not there'
          )}
          , on the set <a href={setsPath(held.name)}>{gate.set}</a>, each case{' '}
          {formatTimes(gate.repeats)}
        </dd>
        <dt>Passes when</dt>
        <dd>
          at most {formatPlural(gate.worseMax, 'case is', 'cases are')} worse
          {gate.costChangeMax !== null &&
            ` and runs cost at most ${Math.round(100 * gate.costChangeMax)} % more`}
        </dd>
        {held.restoredFrom !== null && (
          <>
            <dt>Restores</dt>
            <dd>version {held.restoredFrom}</dd>
          </>
        )}
      </dl>
    </>
  )
}

/** How far the trial is; the script reloads the page while it is there. */
const Progress: FC<{ held: HeldProgress }> = ({ held: { cases, openCases } }) => (
  <section class="live up3" data-running aria-label="Progress">
    <p class="do">
      {formatCount(cases - openCases)} of {formatPlural(cases, 'case', 'cases')} tried
    </p>
    <progress
      value={cases - openCases}
      max={Math.max(1, cases)}
      aria-label="Cases that have been tried"
    />
    <p class="meta up2">
      It becomes the active version when it has passed.
      <noscript> Reload the page to update it.</noscript>
    </p>
  </section>
)

const Decide: FC<{ held: HeldProgress; isAdmin: boolean; form: FormState<ApplyField> }> = ({
  held: { name, etag, hasTrial },
  isAdmin,
  form,
}) => (
  <section class="block" aria-label="Decide">
    {isAdmin && (
      <details class="moderate" id="apply" data-keep="apply" open={form.problem !== null}>
        <summary>Apply it without the trial</summary>
        <form class="form up2" method="post" action={`${heldPath(name)}/apply`}>
          <input type="hidden" name="etag" value={etag} />
          <Field
            form={form}
            name="reason"
            label="Reason to apply it now"
            hint="It stands in the admin log."
            required
          />
          <div>
            <Submit>Apply change</Submit>
          </div>
        </form>
      </details>
    )}
    <details class="danger up3" id="discard">
      <summary>Discard the change</summary>
      <form class="up2" method="post" action={`${heldPath(name)}/discard`}>
        <input type="hidden" name="etag" value={etag} />
        <p class="meta">
          {hasTrial
            ? 'It is not applied, and its trial is cancelled. The draft stays with the trial.'
            : 'It is not applied, and its files are deleted.'}
        </p>
        <Submit class="up2">Discard change</Submit>
      </form>
    </details>
  </section>
)
