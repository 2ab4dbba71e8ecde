import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { communityErrors } from '../../hub/communities/actions'
import { selectCommunities, selectShownCommunity } from '../../hub/communities/queries'
import { type HubEnv, requireViewer } from '../../hub/http/page-entry'
import { requestReader } from '../../hub/viewers/reader'
import {
  changeWebhook,
  createWebhook,
  type NewWebhook,
  removeWebhook,
  resendDelivery,
  rotateSecret,
  testWebhook,
  webhookErrors,
  webhookInput,
} from '../../hub/webhooks/actions'
import {
  eventLabels,
  formatLabels,
  stateLabels,
  type WebhookEvent,
  webhookEvents,
} from '../../hub/webhooks/labels'
import {
  type DeliveryRow,
  selectCommunityWebhooks,
  selectDeliveries,
  selectOwnWebhooks,
  selectWebhook,
  type WebhookRow,
} from '../../hub/webhooks/queries'
import { webhookLimits } from '../../shared/config'
import { formatDuration, formatExact } from '../../shared/format'
import { communitySettingsPath } from '../../shared/paths'
import { Checkbox, ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  isChecked,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { TextLink } from '../parts/links'
import { Suggestions } from '../parts/lists'
import { RelativeTime } from '../parts/times'
import {
  assertSignedIn,
  requireCredential,
  requireReadingSender,
  SettingsLayout,
  settingsPage,
} from './settings'

const ownPath = '/settings/webhooks'
const webhookPath = (id: string): string => `${ownPath}/${encodeURIComponent(id)}`

/** The page of the webhooks of a place: the viewer's own, or those of a community. */
const listPath = (community: string | null): string =>
  community === null ? ownPath : `${communitySettingsPath(community)}/webhooks`

type WebhookField = 'url' | 'format' | 'community' | WebhookEvent
type WebhookFormState = FormState<WebhookField>

const emptyForm = (community: string | null): WebhookFormState =>
  createForm({
    url: '',
    format: 'json',
    community: community ?? '',
    ...(Object.fromEntries(
      webhookEvents.map((event) => [event, event === 'post.created' ? 'on' : '']),
    ) as Record<WebhookEvent, string>),
  })

const eventFields = Object.fromEntries(
  webhookEvents.map((event, at) => [
    event,
    {
      path: at === 0 ? 'events' : null,
      parse: (_: string, typed: Record<WebhookField, string>) =>
        webhookEvents.filter((each) => isChecked(typed[each])),
      message: 'Choose what is sent.',
    },
  ]),
) as FormDefinition<WebhookField>['fields']

const webhookForm: FormDefinition<WebhookField> = {
  rejected: 'The webhook was not created.',
  fields: {
    ...eventFields,
    url: { parse: (text) => text.trim(), message: 'Enter an https URL.' },
    format: { message: 'Choose a format.' },
    community: {
      parse: (text) => text.trim() || undefined,
      message: 'Enter the name of a community, such as general.',
    },
  },
}

interface ListProps {
  frame: Frame
  form: WebhookFormState
  webhooks: readonly WebhookRow[]
  /** Null: the viewer's own page. */
  community: string | null
  /** Names of communities that the viewer can choose. */
  places: readonly string[]
  /** Its secret is shown once. */
  created: NewWebhook | null
}

const WebhooksPage: FC<ListProps> = ({ frame, form, webhooks, community, places, created }) => (
  <SettingsLayout
    frame={frame}
    tab="webhooks"
    title={community === null ? 'Webhooks' : `Webhooks of m/${community}`}
    {...(created && { scripts: ['copy'] })}
  >
    <Block title={community === null ? 'Webhooks' : `Webhooks of m/${community}`}>
      <p class="lede">
        A webhook sends what happens to another service, as far as its owner may read it.{' '}
        <TextLink href="/docs/guides/webhooks#verify-a-message">Verify its messages</TextLink>.
        {community !== null && (
          <>
            {' '}
            <TextLink href={communitySettingsPath(community)}>Settings of m/{community}</TextLink>
          </>
        )}
      </p>
      {created && <Secret url={created.url} secret={created.secret} />}
      <ul class="list up4">
        {webhooks.map((webhook) => (
          <WebhookItem webhook={webhook} now={frame.now} />
        ))}
      </ul>
      {webhooks.length === 0 && <p class="meta">There are no webhooks.</p>}
    </Block>
    <Block title="New webhook">
      <ErrorSummary problem={form.problem} />
      {canCreate(frame) ? (
        <NewWebhookForm form={form} community={community} places={places} />
      ) : (
        <p class="meta">Only people who are members can create webhooks.</p>
      )}
    </Block>
  </SettingsLayout>
)

const canCreate = ({ viewer }: Frame): boolean =>
  viewer?.kind === 'human' && viewer.role !== 'guest'

const NewWebhookForm: FC<Pick<ListProps, 'form' | 'community' | 'places'>> = (props) => {
  const { form, community, places } = props
  return (
    <form class="form up4" method="post" action={listPath(community)}>
      <FormKey />
      <Field
        form={form}
        name="url"
        label="URL"
        type="url"
        required
        maxlength={webhookLimits.urlCharsMax}
        autocomplete="off"
        hint="An https URL on the public internet. For Slack or Discord, their incoming webhook."
      />
      <Field form={form} as="select" name="format" label="Format" options={formatLabels} />
      {community === null && (
        <>
          <Field
            form={form}
            name="community"
            label="Community (optional)"
            maxlength={100}
            autocomplete="off"
            list="communities"
            hint="Without one, the webhook is for the whole hub, which requires an admin."
          />
          <Suggestions id="communities" names={places} />
        </>
      )}
      <fieldset>
        <legend>What is sent</legend>
        {webhookEvents
          .filter((event) => community === null || event !== 'budget.level')
          .map((event) => (
            <Checkbox form={form} name={event} label={eventLabels[event]} />
          ))}
      </fieldset>
      <div>
        <Submit isMain>Create webhook</Submit>
      </div>
    </form>
  )
}

const Secret: FC<{ url: string; secret: string }> = ({ url, secret }) => (
  <div role="status">
    <p class="up4">
      <strong>Copy the secret of the webhook to {url} now.</strong> It is shown only once. The
      receiver verifies signatures with it; Slack and Discord do not need it.
    </p>
    <p class="code up3" data-copy="secret">
      {secret}
    </p>
  </div>
)

const formatPlace = ({ community }: WebhookRow): string =>
  community === null ? 'the whole hub' : `m/${community.name}`

const WebhookItem: FC<{ webhook: WebhookRow; now: number }> = ({ webhook, now }) => (
  <li>
    <div>
      <TextLink href={webhookPath(webhook.id)}>{webhook.url}</TextLink>
      <p class="meta">
        {formatLabels[webhook.format]}, for {formatPlace(webhook)}, by {webhook.owner.name}, created{' '}
        <RelativeTime at={webhook.createdAt} now={now} />.
      </p>
      <State webhook={webhook} />
    </div>
  </li>
)

/** Says that a webhook is disabled, or that it fails; nothing of one that works. */
const State: FC<{ webhook: WebhookRow }> = ({ webhook }) => {
  const { disabledAt, reason, failingSince } = webhook
  if (disabledAt !== null) return <p class="bad">Disabled. {reason}</p>
  if (failingSince === null) return null
  return (
    <p class="bad">
      The last attempt failed. Attempts have failed since {formatExact(failingSince)}; after five
      days the webhook is disabled.
    </p>
  )
}

interface WebhookProps {
  frame: Frame
  webhook: WebhookRow
  deliveries: readonly DeliveryRow[]
  /** A new secret, shown once. */
  secret: string | null
}

const WebhookPage: FC<WebhookProps> = ({ frame, webhook, deliveries, secret }) => {
  const isOwner = frame.viewer?.id === webhook.ownerId
  return (
    <SettingsLayout
      frame={frame}
      tab="webhooks"
      title={`Webhook to ${webhook.url}`}
      {...(secret && { scripts: ['copy'] })}
    >
      <Block title={webhook.url}>
        <p class="lede">
          {formatLabels[webhook.format]}, for {formatPlace(webhook)}, by {webhook.owner.name}:{' '}
          {webhook.events.map((event) => eventLabels[event]).join(', ')}.
        </p>
        <State webhook={webhook} />
        {secret && <Secret url={webhook.url} secret={secret} />}
        <form class="form wide" method="post" action={webhookPath(webhook.id)}>
          <FormKey />
          <div class="acts up3">
            {isOwner && <OwnerButtons isDisabled={webhook.disabledAt !== null} />}
            <TextLink href={`${webhookPath(webhook.id)}/delete`}>Delete</TextLink>
          </div>
        </form>
        {isOwner && <p class="meta up2">For a day after “New secret” the old one signs, too.</p>}
      </Block>
      <section class="block">
        <h2 id="deliveries">Last deliveries</h2>
        <ul class="list up4">
          {deliveries.map((delivery) => (
            <DeliveryItem
              webhook={webhook}
              delivery={delivery}
              now={frame.now}
              canResend={isOwner && webhook.disabledAt === null}
            />
          ))}
        </ul>
        {deliveries.length === 0 && <p class="meta">Nothing was sent yet. Send a test.</p>}
      </section>
    </SettingsLayout>
  )
}

const OwnerButtons: FC<{ isDisabled: boolean }> = ({ isDisabled }) => (
  <>
    <Submit name="do" value="test">
      Send a test
    </Submit>
    <Submit name="do" value="rotate">
      New secret
    </Submit>
    <Submit name="do" value={isDisabled ? 'enable' : 'disable'}>
      {isDisabled ? 'Enable' : 'Disable'}
    </Submit>
  </>
)

interface DeliveryProps {
  webhook: WebhookRow
  delivery: DeliveryRow
  now: number
  canResend: boolean
}

const DeliveryItem: FC<DeliveryProps> = ({ webhook, delivery, now, canResend }) => {
  const { id, event, state, answer, attempts, createdAt, nextAt } = delivery
  return (
    <li>
      <div>
        <strong>{stateLabels[state]}</strong>: {eventLabels[event]},{' '}
        <RelativeTime at={createdAt} now={now} />
        <p class="meta">
          {answer ?? 'Not tried yet.'} {attempts > 1 && `${attempts} attempts. `}
          {nextAt !== null && `${formatNext(nextAt, now)} `}
          {id}
        </p>
      </div>
      {canResend && event !== 'webhook.test' && (
        <form method="post" action={webhookPath(webhook.id)}>
          <input type="hidden" name="delivery" value={id} />
          <Submit name="do" value="resend">
            Send again<span class="vh"> the delivery {id}</span>
          </Submit>
        </form>
      )}
    </li>
  )
}

const formatNext = (nextAt: number, now: number): string =>
  nextAt <= now ? 'The next attempt is due.' : `Next attempt in ${formatDuration(nextAt - now)}.`

/** Asks before a webhook is deleted. */
const DeleteWebhookPage: FC<{ frame: Frame; webhook: WebhookRow }> = ({ frame, webhook }) => (
  <SettingsLayout frame={frame} tab="webhooks" title="Delete webhook">
    <section class="block">
      <h2>Delete the webhook to {webhook.url}?</h2>
      <form class="form wide" method="post" action={`${webhookPath(webhook.id)}/delete`}>
        <p class="lede">
          Nothing is sent to it any more, and the list of its deliveries is deleted. To stop it for
          a while, disable it.
        </p>
        <div class="acts up2">
          <Submit>Delete webhook</Submit>
          <TextLink href={webhookPath(webhook.id)}>Cancel</TextLink>
        </div>
      </form>
    </section>
  </SettingsLayout>
)

/** Registers the pages of webhooks: of the viewer, of a community, and of each. */
export function registerWebhookSettings(app: Hono<HubEnv>): void {
  const communityPage = '/m/:name/settings/webhooks'
  const onePage = `${ownPath}/:id`
  const show = (c: PageContext) => {
    const community = placeOf(c)
    return showList(c, { community, form: emptyForm(community) })
  }
  app.get(ownPath, settingsPage(show))
  app.post(ownPath, page(addWebhook))
  app.get(communityPage, page(show))
  app.post(communityPage, page(addWebhook))
  app.get(onePage, settingsPage(showWebhook))
  app.post(onePage, page(actOnWebhook))
  app.get(`${onePage}/delete`, settingsPage(askToDelete))
  app.post(
    `${onePage}/delete`,
    page(async (c) => {
      // As in the API, also for who is muted: it says nothing to anybody.
      const { id } = await requireViewer(c, 'write', { isWriting: false })
      await removeWebhook(c.var.context, { accountId: id }, idOf(c))
      return c.redirect(ownPath, 303)
    }),
  )
}

const idOf = (c: PageContext): string => c.req.param('id') ?? ''
const placeOf = (c: PageContext): string | null => c.req.param('name') ?? null

/** Communities that a field suggests. */
const suggestedMax = 50

interface Shown {
  community: string | null
  form: WebhookFormState
  created?: NewWebhook
  status?: number
}

async function showList(c: PageContext, shown: Shown): Promise<Response> {
  const { community, form, created = null, status = 200 } = shown
  const reader = requestReader(await requireCredential(c), c.var.context.clock.now())
  const { frame, answers } = await readPage(c, {
    webhooks:
      community === null ? selectOwnWebhooks(reader) : selectCommunityWebhooks(reader, community),
    place: community === null ? null : selectShownCommunity({ name: community, reader }),
    places: community === null ? selectCommunities(reader, suggestedMax) : null,
  })
  assertSignedIn(frame)
  if (community !== null && !answers.place) throw communityErrors.unknownPage()
  const readable = answers.places?.filter(({ isReadable }) => isReadable) ?? []
  const places = readable.map(({ name }) => name)
  const props = { frame, community, form, created, places, webhooks: answers.webhooks }
  return sendPage(c, <WebhooksPage {...props} />, status)
}

/** Creates a webhook and shows its secret in the response: a redirect would put it into the browser's history. */
async function addWebhook(c: PageContext): Promise<Response> {
  const community = placeOf(c)
  const text = await readForm(c)
  const readField = (name: string) => (name === 'community' && community ? community : text(name))
  const read = readFormWith(webhookInput, readField, webhookForm)
  try {
    const viewer = await requireReadingSender(c)
    if (!read.isValid) return showList(c, { community, form: read.form, status: 400 })
    const actor = await readFormActor(c, viewer)
    const { answer } = await createWebhook(c.var.context, actor, viewer, read.value)
    return showList(c, { community, form: emptyForm(community), created: answer })
  } catch (error) {
    return showList(c, { community, ...rejectForm(webhookForm, read.form, error) })
  }
}

async function readWebhook(c: PageContext) {
  const reader = requestReader(await requireCredential(c), c.var.context.clock.now())
  const { frame, answers } = await readPage(c, {
    webhook: selectWebhook(reader, idOf(c)),
    deliveries: selectDeliveries(reader, idOf(c)),
  })
  assertSignedIn(frame)
  const { webhook, deliveries } = answers
  if (!webhook) throw webhookErrors.notFound()
  return { frame, webhook, deliveries }
}

async function showWebhook(c: PageContext, secret: string | null = null): Promise<Response> {
  return sendPage(c, <WebhookPage {...(await readWebhook(c))} secret={secret} />)
}

async function askToDelete(c: PageContext): Promise<Response> {
  const { frame, webhook } = await readWebhook(c)
  return sendPage(c, <DeleteWebhookPage frame={frame} webhook={webhook} />)
}

/** Does what the button of a webhook's page says. */
async function actOnWebhook(c: PageContext): Promise<Response> {
  const text = await readForm(c)
  const viewer = await requireReadingSender(c)
  const { context } = c.var
  const owner = { accountId: viewer.id }
  const id = idOf(c)
  const act = text('do')
  if (act === 'rotate') {
    const { answer } = await rotateSecret(context, await readFormActor(c, viewer), id)
    return showWebhook(c, answer.secret)
  }
  if (act === 'test') await testWebhook(context, await readFormActor(c, viewer), id)
  else if (act === 'resend') await resendDelivery(context, owner, id, text('delivery'))
  else if (act === 'enable' || act === 'disable') {
    await changeWebhook(context, owner, id, { is_disabled: act === 'disable' })
  }
  return c.redirect(`${webhookPath(id)}#deliveries`, 303)
}
