import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { selectDefinition } from '../../hub/agents/definition-queries'
import {
  definitionErrors,
  diffFiles,
  type FileDiff,
  requireEditor,
} from '../../hub/agents/definition-rules'
import { applyHeld, applyInput, discardHeld } from '../../hub/agents/held-actions'
import { type HeldDefinition, selectHeld } from '../../hub/agents/held-queries'
import { grantErrors } from '../../hub/grants/actions'
import { type HubEnv, requireViewer } from '../../hub/http/page-entry'
import { formatPlural } from '../../shared/format'
import { setsPath, trialPath } from '../../shared/paths'
import { ErrorSummary, Field } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AccountLink } from '../parts/links'
import { RelativeTime } from '../parts/times'
import { editPath, heldPath } from './agent-paths'
import { FileDiffs } from './edit-page'

/** Registers the page of the change of an agent that waits for its trial, and its forms. */
export function registerHeldPage(app: Hono<HubEnv>): void {
  app.get(
    '/a/:name/held',
    page((c) => show(c)),
  )
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
    held: selectHeld({ name }),
  })
  if (!frame.viewer) throw grantErrors.signIn()
  const { definition, held = null } = answers
  requireEditor(frame.viewer, definition?.ownerId ?? null)
  if (!definition) throw definitionErrors.notFound()
  const [current, files] = await Promise.all([
    agents.readDefinition(name, definition.etag),
    held && agents.readDefinition(name, held.etag),
  ])
  const diffs = files ? diffFiles(current ?? {}, files) : []
  return sendPage(c, <HeldPage {...{ frame, name, held, diffs, form }} />, status)
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
  return c.redirect(`${editPath(nameOf(c))}?saved`, 303)
}

async function submitDiscard(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const read = await readForm(c)
  await discardHeld(c.var.context, viewer, nameOf(c), { etag: read('etag') })
  return c.redirect(editPath(nameOf(c)), 303)
}

interface HeldPageProps {
  frame: Frame
  name: string
  held: HeldDefinition | null
  /** What it changes of the active version. */
  diffs: FileDiff[]
  form: FormState<ApplyField>
}

/** Shows a change that waits for its trial: what it changes, what the trial shows, and what can be done. */
const HeldPage: FC<HeldPageProps> = ({ frame, name, held, diffs, form }) => (
  <Layout frame={frame} title={`Change of ${name}`} place="agents" sheet="admin">
    <h1>Change that waits</h1>
    <p class="by up2">
      <AccountLink name={name} kind="agent" />
      <a class="ul" href={editPath(name)}>
        Active version
      </a>
      {held && (
        <a class="ul" href={`${editPath(name)}?held`}>
          Open the change in the editor
        </a>
      )}
    </p>
    {held ? (
      <>
        <ErrorSummary problem={form.problem} />
        <TrialOfChange held={held} now={frame.now} />
        <section class="block">
          <h2>Changed lines</h2>
          <FileDiffs of={diffs} none="The files are the same as those of the active version." />
        </section>
        <Decide held={held} isAdmin={frame.viewer?.isAdmin === true} form={form} />
      </>
    ) : (
      <p class="lede up4">No change of {name} waits for a trial.</p>
    )}
  </Layout>
)

const TrialOfChange: FC<{ held: HeldDefinition; now: number }> = ({ held, now }) => {
  const { gate, problem, trialId } = held
  return (
    <>
      <p class="by up4">
        <span>saved by</span>
        <AccountLink {...held.savedBy} />
        <RelativeTime at={held.savedAt} now={now} />
        <span>over version {held.baseVersion}</span>
      </p>
      <p class="lede up2" role="status">
        {problem ? (
          <span class="warn">Not applied: {problem}</span>
        ) : (
          'It becomes the active version when it has passed its trial. Cases that nothing else decides wait for people, who compare the answers on the page of the trial.'
        )}
      </p>
      <dl class="def up3">
        <dt>Trial</dt>
        <dd>
          {trialId ? <a href={trialPath(trialId)}>its cases and answers</a> : 'none'}, on the set{' '}
          <a href={setsPath(held.name)}>{gate.set}</a>,{' '}
          {formatPlural(gate.repeats, 'time', 'times')} each
        </dd>
        <dt>Passes when</dt>
        <dd>
          at most {formatPlural(gate.worseMax, 'case is', 'cases are')} worse
          {gate.costChangeMax !== null &&
            ` and runs cost at most ${Math.round(100 * gate.costChangeMax)} % more`}
        </dd>
      </dl>
    </>
  )
}

const Decide: FC<{ held: HeldDefinition; isAdmin: boolean; form: FormState<ApplyField> }> = ({
  held: { name, etag },
  isAdmin,
  form,
}) => (
  <section class="block" aria-label="Decide">
    {isAdmin && (
      <form class="form" method="post" action={`${heldPath(name)}/apply`}>
        <input type="hidden" name="etag" value={etag} />
        <Field
          form={form}
          name="reason"
          label="Reason to apply it now"
          hint="It stands in the admin log."
          required
        />
        <div>
          <button type="submit" class="btn">
            Apply without the trial
          </button>
        </div>
      </form>
    )}
    <form class="form up3" method="post" action={`${heldPath(name)}/discard`}>
      <input type="hidden" name="etag" value={etag} />
      <div>
        <button type="submit" class="btn">
          Discard change
        </button>
      </div>
    </form>
  </section>
)
