import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import {
  createReviewHook,
  type NewReviewHook,
  removeReviewHook,
  reviewHookErrors,
  reviewHookInput,
  toDeliveryUrl,
} from '../../hub/agents/review-hook-actions'
import { type ReviewHookRow, selectReviewHooks } from '../../hub/agents/review-hook-queries'
import { type HubEnv, requireViewer } from '../../hub/http/page-entry'
import { ErrorSummary, Field } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AccountLink } from '../parts/links'
import { RelativeTime } from '../parts/times'
import {
  assertSignedIn,
  requireCredential,
  requireReadingSender,
  SettingsLayout,
  settingsPage,
} from './settings'

const reviewHooksPath = '/settings/review-hooks'
const deleteHookPath = (id: string): string => `${reviewHooksPath}/${encodeURIComponent(id)}/delete`

type ReviewHookFormState = FormState<'agent'>

const reviewHookForm: FormDefinition<'agent'> = {
  rejected: 'The review hook was not created.',
  fields: {
    agent: {
      parse: (text) => text.trim().replace(/^@/, ''),
      message: 'Enter the name of an agent.',
    },
  },
}

/** A hook that was just created. */
type CreatedReviewHook = Pick<NewReviewHook, 'id' | 'agent' | 'secret'>

interface ReviewHooksPageProps {
  frame: Frame
  form: ReviewHookFormState
  hooks: readonly ReviewHookRow[]
  /** Shown once. */
  created: CreatedReviewHook | null
  /** Of the hub. */
  origin: string
}

const ReviewHooksPage: FC<ReviewHooksPageProps> = ({ frame, form, hooks, created, origin }) => (
  <SettingsLayout
    frame={frame}
    tab="review-hooks"
    title="Review hooks"
    {...(created && { scripts: ['copy'] })}
  >
    <section class="block">
      <h2>Review hooks</h2>
      <p class="lede">
        A review of an agent's pull request on GitHub reaches the thread in which you asked for it,
        and the agent goes on there. Its runs have your permissions and spend from your budgets.
      </p>
      {created && <CreatedHook {...created} url={toDeliveryUrl(origin, created.id)} />}
      <ul class="list steps up4">
        {hooks.map((hook) => (
          <HookItem hook={hook} now={frame.now} origin={origin} />
        ))}
      </ul>
      {hooks.length === 0 && <p class="meta">You have no review hooks.</p>}
    </section>
    <section class="block">
      <h2>New review hook</h2>
      <ErrorSummary problem={form.problem} />
      {canCreate(frame) ? (
        <NewHookForm form={form} />
      ) : (
        <p class="meta">Only people who are members can create review hooks.</p>
      )}
    </section>
  </SettingsLayout>
)

const canCreate = ({ viewer }: Frame): boolean =>
  viewer?.kind === 'human' && viewer.role !== 'guest'

const NewHookForm: FC<{ form: ReviewHookFormState }> = ({ form }) => (
  <form class="form up4" method="post" action={reviewHooksPath}>
    <FormKey />
    <Field
      form={form}
      name="agent"
      label="Agent"
      required
      maxlength={100}
      autocomplete="off"
      hint="Name of the agent that pushes the branches and answers the reviews."
    />
    <div>
      <button class="btn go" type="submit">
        Create review hook
      </button>
    </div>
  </form>
)

/** Address and secret of a new hook, and what to choose at GitHub. */
const CreatedHook: FC<CreatedReviewHook & { url: string }> = ({ agent, url, secret }) => (
  <div role="status">
    <p class="up4">
      <strong>Copy the secret of the new hook for {agent.name} now.</strong> It is shown only once.
      On GitHub:
    </p>
    <ol class="list up3">
      <li>
        <span>
          Open <b>Settings, Webhooks, Add webhook</b> of the repository, and paste the payload URL
          and the secret.
        </span>
      </li>
      <li>
        <span>
          Choose the content type <b>application/json</b>.
        </span>
      </li>
      <li>
        <span>
          Choose <b>Let me select individual events</b>: Pull requests, Pull request reviews, Pull
          request review comments, and Issue comments.
        </span>
      </li>
    </ol>
    <p class="meta up3">Payload URL</p>
    <p class="code" data-copy="payload URL">
      {url}
    </p>
    <p class="meta up3">Secret</p>
    <p class="code" data-copy="secret">
      {secret}
    </p>
  </div>
)

const HookItem: FC<{ hook: ReviewHookRow; now: number; origin: string }> = ({
  hook,
  now,
  origin,
}) => (
  <li>
    <div>
      <AccountLink name={hook.agent.name} kind="agent" />
      <p class="meta">
        Created <RelativeTime at={hook.createdAt} now={now} />.{' '}
        <LastDelivery hook={hook} now={now} />
      </p>
      <p class="meta">{toDeliveryUrl(origin, hook.id)}</p>
    </div>
    <div>
      <a class="btn" href={deleteHookPath(hook.id)}>
        Delete<span class="vh"> the review hook for {hook.agent.name}</span>
      </a>
    </div>
  </li>
)

const outcomeLabels = {
  started: 'continued its thread',
  held: 'held until the review is whole',
  noted: 'said which branch a pull request has',
  ignored: 'ignored',
} as const

const LastDelivery: FC<{ hook: ReviewHookRow; now: number }> = ({ hook, now }) => {
  const { deliveredAt, deliveryOutcome, deliveryReason } = hook
  if (deliveredAt === null || deliveryOutcome === null) {
    return <>No delivery yet that is signed with its secret.</>
  }
  return (
    <>
      Last delivery <RelativeTime at={deliveredAt} now={now} />: {outcomeLabels[deliveryOutcome]}
      {deliveryReason === null ? '.' : `. ${deliveryReason}.`}
    </>
  )
}

/** Asks before a hook is deleted. */
const DeleteReviewHookPage: FC<{ frame: Frame; hook: ReviewHookRow }> = (props) => {
  const { frame, hook } = props
  return (
    <SettingsLayout frame={frame} tab="review-hooks" title="Delete review hook">
      <section class="block">
        <h2>Delete the review hook for {hook.agent.name}?</h2>
        <form class="form wide" method="post" action={deleteHookPath(hook.id)}>
          <p class="lede">
            Reviews that GitHub sends to it start nothing any more. Comments and runs stay. Delete
            the webhook of the repository, too.
          </p>
          <div class="acts up2">
            <button type="submit" class="btn">
              Delete review hook
            </button>
            <a class="ul" href={reviewHooksPath}>
              Cancel
            </a>
          </div>
        </form>
      </section>
    </SettingsLayout>
  )
}

const deletePath = `${reviewHooksPath}/:id/delete`
const emptyForm = (): ReviewHookFormState => createForm({ agent: '' })

/** Registers `/settings/review-hooks`: where the viewer's reviews on GitHub reach agents. */
export function registerReviewHookSettings(app: Hono<HubEnv>): void {
  app.get(
    reviewHooksPath,
    settingsPage((c) => showHooks(c, { form: emptyForm() })),
  )
  app.post(reviewHooksPath, page(addHook))
  app.get(deletePath, settingsPage(askToDelete))
  app.post(
    deletePath,
    page(async (c) => {
      // As in the API, also for who is muted: it says nothing to anybody.
      const { id } = await requireViewer(c, 'write', { isWriting: false })
      await removeReviewHook(c.var.context, { accountId: id }, idOf(c))
      return c.redirect(reviewHooksPath, 303)
    }),
  )
}

const idOf = (c: PageContext): string => c.req.param('id') ?? ''

/** Creates a hook and shows its secret in the response: a redirect would put it into the browser's history. */
async function addHook(c: PageContext): Promise<Response> {
  const read = readFormWith(reviewHookInput, await readForm(c), reviewHookForm)
  try {
    const viewer = await requireReadingSender(c)
    if (!read.isValid) return showHooks(c, { form: read.form, status: 400 })
    const actor = await readFormActor(c, viewer)
    const { answer } = await createReviewHook(c.var.context, actor, viewer, read.value)
    return showHooks(c, { form: emptyForm(), created: answer })
  } catch (error) {
    return showHooks(c, rejectForm(reviewHookForm, read.form, error))
  }
}

interface Shown {
  form: ReviewHookFormState
  created?: CreatedReviewHook
  status?: number
}

async function showHooks(c: PageContext, { form, created, status }: Shown): Promise<Response> {
  const { frame, hooks } = await readHooks(c)
  const props = { frame, form, hooks, created: created ?? null, origin: c.var.origin }
  return sendPage(c, <ReviewHooksPage {...props} />, status)
}

async function askToDelete(c: PageContext): Promise<Response> {
  const { frame, hooks } = await readHooks(c)
  const hook = hooks.find(({ id }) => id === idOf(c))
  if (!hook) throw reviewHookErrors.notFound()
  return sendPage(c, <DeleteReviewHookPage frame={frame} hook={hook} />)
}

async function readHooks(c: PageContext) {
  const credential = await requireCredential(c)
  const { frame, answers } = await readPage(c, {
    hooks: selectReviewHooks(credential, c.var.context.clock.now()),
  })
  assertSignedIn(frame)
  return { frame, hooks: answers.hooks }
}
