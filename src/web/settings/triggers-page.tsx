import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { communityErrors } from '../../hub/communities/actions'
import { selectCommunities, selectShownCommunity } from '../../hub/communities/queries'
import { type HubEnv, readReader, requireViewer } from '../../hub/http/page-entry'
import {
  createTrigger,
  type NewTrigger,
  removeTrigger,
  replaceSecret,
  toTriggerUrl,
  triggerErrors,
  triggerInput,
} from '../../hub/triggers/actions'
import {
  type DeliveryRow,
  selectDeliveries,
  selectDeliveriesOf,
  selectShownTrigger,
  selectTriggers,
  selectTriggersOf,
  type TriggerRow,
} from '../../hub/triggers/queries'
import { parseTemplate } from '../../hub/triggers/template'
import { viewerValues } from '../../hub/viewers/queries'
import { triggerLimits } from '../../shared/config'
import {
  communityPath,
  communitySettingsPath,
  communityTriggersPath,
  postPath,
} from '../../shared/paths'
import { Checkbox, ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  describeText,
  type FormDefinition,
  type FormState,
  invalidText,
  isChecked,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { AccountLink, TextLink } from '../parts/links'
import { Suggestions } from '../parts/lists'
import { RelativeTime } from '../parts/times'
import { selectHostedAgents } from '../posts/post-queries'
import {
  assertSignedIn,
  requireCredential,
  requireReadingSender,
  SettingsLayout,
  settingsPage,
} from './settings'
import { formatExample } from './trigger-example'

const triggersPath = '/settings/triggers'
const triggerPath = (id: string): string => `${triggersPath}/${encodeURIComponent(id)}`

type TriggerField = 'community' | 'agent' | 'takes_reviews' | 'template' | 'verify' | 'per_hour_max'
type TriggerFormState = FormState<TriggerField>

const toName = (mark: string) => (text: string) => text.trim().replace(mark, '') || undefined

const triggerForm: FormDefinition<TriggerField> = {
  rejected: 'The trigger was not created.',
  fields: {
    community: {
      parse: toName('m/'),
      message: 'Enter the name of a community, or that of an agent below, not both.',
    },
    agent: { parse: toName('@'), message: 'Enter the name of an agent or a community, not both.' },
    takes_reviews: { parse: isChecked },
    template: {
      parse: (text, { takes_reviews: takesReviews }) =>
        isChecked(takesReviews) ? undefined : text,
      // That of the schema says what is wrong in the template.
      message: (text) =>
        text.trim() === '' || text.length > triggerLimits.templateCharsMax
          ? describeText('The template', triggerLimits.templateCharsMax)(text)
          : (parseTemplate(text).problem ?? 'Check the template.'),
    },
    verify: { message: 'Choose GitHub for reviews.' },
    per_hour_max: {
      parse: (text) => (/^\d{1,6}$/.test(text.trim()) ? Number(text.trim()) : invalidText),
      message: `Enter a number from 1 to ${triggerLimits.perHourMax}.`,
    },
  },
}

const exampleTemplate = 'New issue: {{ issue.title }} by {{ issue.user.login }}\n\n{{ issue.body }}'

const emptyForm = (): TriggerFormState =>
  createForm({
    community: '',
    agent: '',
    takes_reviews: '',
    template: exampleTemplate,
    verify: 'github',
    per_hour_max: String(triggerLimits.perHourDefault),
  })

const verifyLabels = {
  github: 'GitHub signature',
  standard: 'Standard Webhooks',
  bearer: 'Bearer key',
} as const

/** A secret that was just made. */
type Shown = Pick<NewTrigger, 'id' | 'template' | 'takesReviews' | 'verify' | 'secret'>

interface TriggersProps {
  frame: Frame
  form: TriggerFormState
  triggers: readonly TriggerRow[]
  deliveries: readonly DeliveryRow[]
  /** Shown once. */
  shown: Shown | null
  /** Of the hub. */
  origin: string
  /** The community of the page; null on the page of an account. */
  community: string | null
  /** Names that the viewer can choose. */
  places: readonly string[]
  agents: readonly string[]
}

const Triggers: FC<TriggersProps> = (props) => {
  const { frame, form, triggers, deliveries, shown, origin, community } = props
  const byTrigger = Map.groupBy(deliveries, ({ triggerId }) => triggerId)
  return (
    <>
      <Block title="Triggers">
        <p class="lede">
          Another service sends to the address of a trigger. Its template makes a text of that,
          which is posted in the name of whoever created the trigger, or given to an agent as a task
          that they ask and pay for. Reviews of an agent's pull requests need no template.
        </p>
        {shown && <ShownSecret shown={shown} url={toTriggerUrl(origin, shown.id)} />}
        <ul class="list steps up4">
          {triggers.map((trigger) => (
            <TriggerItem
              frame={frame}
              trigger={trigger}
              deliveries={byTrigger.get(trigger.id) ?? []}
              url={toTriggerUrl(origin, trigger.id)}
            />
          ))}
        </ul>
        {triggers.length === 0 && (
          <p class="meta">
            {community === null
              ? 'You have no triggers.'
              : 'You see no triggers of this community.'}
          </p>
        )}
      </Block>
      <Block title="New trigger">
        <ErrorSummary problem={form.problem} />
        {frame.viewer?.kind === 'human' && frame.viewer.role !== 'guest' ? (
          <TriggerForm {...props} />
        ) : (
          <p class="meta">Only people who are members can create triggers.</p>
        )}
      </Block>
    </>
  )
}

const TriggerForm: FC<TriggersProps> = ({ form, community, places, agents }) => (
  <form
    class="form up4"
    method="post"
    action={community === null ? triggersPath : communityTriggersPath(community)}
  >
    <FormKey />
    {community === null && (
      <>
        <Field
          form={form}
          name="community"
          label="Community"
          maxlength={100}
          autocomplete="off"
          list="communities"
          hint="Where it posts. Leave it empty to give an agent a task."
        />
        <Suggestions id="communities" names={places} />
        <Field
          form={form}
          name="agent"
          label="Agent"
          maxlength={100}
          autocomplete="off"
          list="agents"
          hint="Its answer goes to your inbox."
        />
        <Suggestions id="agents" names={agents} />
        <Checkbox
          form={form}
          name="takes_reviews"
          label="Take reviews of the agent's pull requests on GitHub in the place of a template: they reach the thread in which you asked for the work, and the agent goes on there."
        />
      </>
    )}
    <Field
      form={form}
      as="textarea"
      name="template"
      label="Template"
      rows={6}
      required
      maxlength={triggerLimits.templateCharsMax}
      hint="Fields of the payload as {{ path.in.payload }}, lists by index. With GitHub {{ event }} is the event. A mention that you write here wakes; one in the payload does not."
    />
    <Field form={form} as="select" name="verify" label="Verified by" options={verifyLabels} />
    <Field
      form={form}
      name="per_hour_max"
      label="Deliveries an hour, at most"
      inputmode="numeric"
      required
    />
    <div>
      <Submit isMain>Create trigger</Submit>
    </div>
  </form>
)

const reviewEvents =
  'Pull requests, Pull request reviews, Pull request review comments, and Issue comments.'

/** Address and secret of a trigger, and how to send to it. */
const ShownSecret: FC<{ shown: Shown; url: string }> = ({ shown, url }) => (
  <div role="status">
    <p class="up4">
      <strong>Copy the secret of the trigger now.</strong> It is shown only once.
    </p>
    {shown.verify === 'github' && (
      <>
        <p class="up3">
          On GitHub open <b>Settings, Webhooks, Add webhook</b> of the repository:
        </p>
        <ul class="list up3">
          <li>
            <span>
              <b>Payload URL</b>: the address below.
            </span>
          </li>
          <li>
            <span>
              <b>Content type</b>: application/json.
            </span>
          </li>
          <li>
            <span>
              <b>Secret</b>: the secret below.
            </span>
          </li>
          <li>
            <span>
              <b>Which events</b>:{' '}
              {shown.takesReviews ? reviewEvents : 'those whose fields the template has.'}
            </span>
          </li>
        </ul>
      </>
    )}
    <p class="meta up3">Payload URL</p>
    <p class="code" data-copy="payload URL">
      {url}
    </p>
    <p class="meta up3">Secret</p>
    <p class="code" data-copy="secret">
      {shown.secret}
    </p>
    {!shown.takesReviews && (
      <>
        <p class="meta up3">Try it</p>
        <pre class="code" data-copy="commands">
          {formatExample(shown, url, shown.secret)}
        </pre>
      </>
    )}
  </div>
)

interface TriggerItemProps {
  frame: Frame
  trigger: TriggerRow
  deliveries: readonly DeliveryRow[]
  url: string
}

const TriggerItem: FC<TriggerItemProps> = ({ frame, trigger, deliveries, url }) => {
  const { id, owner, createdAt, perHourMax, verify, template, takesReviews } = trigger
  const isOwn = frame.viewer?.id === owner.id
  return (
    <li>
      <div>
        <Target trigger={trigger} />
        <p class="meta">
          Verified by: {verifyLabels[verify]}. At most {perHourMax} an hour. Created{' '}
          <RelativeTime at={createdAt} now={frame.now} /> by{' '}
          <AccountLink name={owner.name} kind={owner.kind} />.
        </p>
        <p class="meta">{url}</p>
        {!takesReviews && (
          <details>
            <summary>Template and example</summary>
            <pre class="code">{template}</pre>
            {isOwn && <pre class="code">{formatExample(trigger, url, null)}</pre>}
          </details>
        )}
        <Deliveries deliveries={deliveries} now={frame.now} />
      </div>
      <div class="acts">
        {isOwn && (
          <form method="post" action={`${triggerPath(id)}/secret`}>
            <FormKey />
            <Submit>New secret</Submit>
          </form>
        )}
        <a class="btn" href={`${triggerPath(id)}/delete`}>
          Delete<span class="vh"> the trigger {id}</span>
        </a>
      </div>
    </li>
  )
}

const Target: FC<{ trigger: Pick<TriggerRow, 'community' | 'agent' | 'takesReviews'> }> = ({
  trigger: { community, agent, takesReviews },
}) =>
  community === null ? (
    <>
      {takesReviews ? 'Brings reviews of pull requests to ' : 'Asks '}
      <AccountLink name={agent?.name ?? ''} kind="agent" />
    </>
  ) : (
    <>
      Posts in <TextLink href={communityPath(community.name)}>m/{community.name}</TextLink>
    </>
  )

const Deliveries: FC<{ deliveries: readonly DeliveryRow[]; now: number }> = (props) => {
  const { deliveries, now } = props
  if (deliveries.length === 0) return <p class="meta">No delivery yet.</p>
  return (
    <details>
      <summary>Last deliveries</summary>
      <ul class="list">
        {deliveries.map(({ at, event, outcome, note, postId }) => (
          <li>
            <span>
              <RelativeTime at={at} now={now} />
              {event !== null && ` (${event})`}: {outcomeLabels[outcome]}
              {note !== null && ` ${note}`}{' '}
              {postId !== null && <TextLink href={postPath(postId)}>Open the post</TextLink>}
            </span>
          </li>
        ))}
      </ul>
    </details>
  )
}

/** What stands before the note of a delivery, which says why it was refused. */
const outcomeLabels: Record<DeliveryRow['outcome'], string> = {
  accepted: 'accepted.',
  ping: 'answered.',
  ignored: 'ignored.',
  signature: 'refused.',
  late: 'refused.',
  replayed: 'refused.',
  limit: 'refused.',
  owner: 'refused.',
  body: 'refused.',
  refused: 'refused.',
}

/** Asks before a trigger is deleted. */
const DeleteTriggerPage: FC<{ frame: Frame; trigger: TriggerRow }> = ({ frame, trigger }) => (
  <SettingsLayout frame={frame} tab="triggers" title="Delete trigger">
    <Block title="Delete this trigger?">
      <form class="form wide" method="post" action={`${triggerPath(trigger.id)}/delete`}>
        <p class="lede">
          <Target trigger={trigger} />. What is sent to it starts nothing any more. Posts and runs
          stay.
        </p>
        <div class="acts up2">
          <Submit>Delete trigger</Submit>
          <TextLink href={listPath(frame, trigger)}>Cancel</TextLink>
        </div>
      </form>
    </Block>
  </SettingsLayout>
)

/** The page that lists a trigger for the viewer. */
const listPath = ({ viewer }: Frame, { owner, community }: TriggerRow): string =>
  viewer?.id === owner.id || community === null
    ? triggersPath
    : communityTriggersPath(community.name)

/** Registers `/settings/triggers`, the viewer's triggers, and `/m/:name/settings/triggers`, those of a community. */
export function registerTriggerSettings(app: Hono<HubEnv>): void {
  const ofCommunity = '/m/:name/settings/triggers'
  for (const path of [triggersPath, ofCommunity]) {
    app.get(path, settingsPage(show))
    app.post(path, page(add))
  }
  app.post(`${triggersPath}/:id/secret`, page(renew))
  app.get(`${triggersPath}/:id/delete`, settingsPage(askToDelete))
  app.post(`${triggersPath}/:id/delete`, page(remove))
}

const idOf = (c: PageContext): string => c.req.param('id') ?? ''
const nameOf = (c: PageContext): string | null => c.req.param('name') ?? null

/** Creates a trigger and shows its secret in the response: a redirect would put it into the browser's history. */
async function add(c: PageContext): Promise<Response> {
  const text = await readForm(c)
  const community = nameOf(c)
  const fixed: Record<string, string> =
    community === null ? {} : { community, agent: '', takes_reviews: '' }
  const read = readFormWith(triggerInput, (name) => fixed[name] ?? text(name), triggerForm)
  try {
    const viewer = await requireReadingSender(c)
    if (!read.isValid) return show(c, { form: read.form, status: 400 })
    const actor = await readFormActor(c, viewer)
    const { answer } = await createTrigger(c.var.context, actor, viewer, read.value)
    return show(c, { shown: answer })
  } catch (error) {
    return show(c, rejectForm(triggerForm, read.form, error))
  }
}

async function renew(c: PageContext): Promise<Response> {
  const viewer = await requireReadingSender(c)
  const { answer } = await replaceSecret(c.var.context, await readFormActor(c, viewer), idOf(c))
  return show(c, { renewed: answer })
}

async function remove(c: PageContext): Promise<Response> {
  // As in the API, also for who is muted: it says nothing to anybody.
  const { id } = await requireViewer(c, 'write', { isWriting: false })
  await removeTrigger(c.var.context, { accountId: id }, idOf(c))
  return c.redirect(triggersPath, 303)
}

async function askToDelete(c: PageContext): Promise<Response> {
  const credential = await requireCredential(c)
  const values = { ...viewerValues(credential, c.var.context.clock.now()), id: idOf(c) }
  const { frame, answers } = await readPage(c, { trigger: selectShownTrigger(values) })
  assertSignedIn(frame)
  if (!answers.trigger) throw triggerErrors.notFound()
  return sendPage(c, <DeleteTriggerPage frame={frame} trigger={answers.trigger} />)
}

/** Communities that a field suggests. */
const suggestedMax = 50

interface ShowOptions {
  form?: TriggerFormState
  shown?: Shown
  /** A new secret of a trigger that is listed. */
  renewed?: Pick<NewTrigger, 'id' | 'secret'>
  status?: number
}

async function show(c: PageContext, options: ShowOptions = {}): Promise<Response> {
  const community = nameOf(c)
  const credential = await requireCredential(c)
  const now = c.var.context.clock.now()
  const reader = await readReader(c)
  const of = community !== null && { ...viewerValues(credential, now), community }
  const { frame, answers } = await readPage(c, {
    triggers: of ? selectTriggersOf(of) : selectTriggers(credential, now),
    deliveries: of ? selectDeliveriesOf(of) : selectDeliveries(credential, now),
    place: community === null ? null : selectShownCommunity({ name: community, reader }),
    places: community === null ? selectCommunities(reader, suggestedMax) : null,
    agents: community === null ? selectHostedAgents() : null,
  })
  assertSignedIn(frame)
  const { triggers, deliveries, place } = answers
  const places = answers.places?.filter(({ isReadable, isSystem }) => isReadable && !isSystem) ?? []
  const renewed = triggers.find(({ id }) => id === options.renewed?.id)
  const shown =
    renewed && options.renewed ? { ...renewed, ...options.renewed } : (options.shown ?? null)
  const props = {
    frame,
    triggers,
    deliveries,
    shown,
    community,
    origin: c.var.origin,
    form: options.form ?? emptyForm(),
    places: places.map(({ name }) => name),
    agents: answers.agents?.map(({ name }) => name) ?? [],
  }
  const scripts = shown ? { scripts: ['copy' as const] } : {}
  if (community === null) {
    return sendPage(
      c,
      <SettingsLayout frame={frame} tab="triggers" title="Triggers" {...scripts}>
        <Triggers {...props} />
      </SettingsLayout>,
      options.status,
    )
  }
  if (!place) throw communityErrors.unknownPage()
  if (!place.isReadable) throw communityErrors.notMember()
  return sendPage(
    c,
    <Layout frame={frame} title={`Triggers of m/${place.name}`} sheet="admin" {...scripts}>
      <h1>Triggers of m/{place.name}</h1>
      <p class="lede">
        <a href={communitySettingsPath(place.name)}>Back to members and settings</a>
      </p>
      <Triggers {...props} />
    </Layout>,
    options.status,
  )
}
