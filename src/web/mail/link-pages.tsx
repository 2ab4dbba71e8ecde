import type { Hono } from 'hono'
import type { FC, PropsWithChildren } from 'hono/jsx'
import * as z from 'zod'
import { type EntryRule, type HubEnv, requireSameOrigin } from '../../hub/http/page-entry'
import {
  confirm,
  findConfirmation,
  findUnsubscribe,
  mailErrors,
  unsubscribe,
  unsubscribeKinds,
} from '../../hub/mail/actions'
import type { UnsubscribeKind } from '../../hub/mail/tokens'
import { Submit } from '../form/fields'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { createFrame, type PageContext, page, sendPage } from '../frame/send-page'
import { TextLink } from '../parts/links'

/** Opening a link that confirms is an attempt, as signing in is. */
const confirmRule: EntryRule = {
  rate: ({ req }) => (req.method === 'POST' || req.query('token') ? 'signIn' : 'read'),
  body: 'unneeded',
  shows: ({ req }) => req.query('token'),
}

/** Mail services send many of these from few addresses, and as any type of form. */
const unsubscribeRule: EntryRule = {
  rate: ({ req }) => (req.method === 'POST' ? 'write' : 'read'),
  body: 'unneeded',
}

/**
 * Registers the pages of links in mail: `/mail/confirm` and `/mail/unsubscribe`. Opening one changes nothing, because
 * programs that scan mail open links too. The second one also takes the POST of mail programs (RFC 8058), which have no
 * session here; the token is all that it needs.
 */
export function registerMailLinkPages(app: Hono<HubEnv>): void {
  app.get('/mail/confirm', page(showConfirm, confirmRule))
  app.post('/mail/confirm', page(sendConfirm, confirmRule))
  app.get('/mail/unsubscribe', page(showUnsubscribe, unsubscribeRule))
  app.post('/mail/unsubscribe', page(sendUnsubscribe, unsubscribeRule))
}

const readLink = (c: PageContext) => ({
  accountId: c.req.query('account') ?? '',
  token: c.req.query('token') ?? '',
})

/** The path of the link itself, which its form is sent to. */
const toAction = (c: PageContext): string => {
  const { pathname, search } = new URL(c.req.url)
  return pathname + search
}

async function showConfirm(c: PageContext): Promise<Response> {
  const { name, address } = await findConfirmation(c.var.context, readLink(c))
  const frame = createFrame(c)
  return sendPage(
    c,
    <LinkPage frame={frame} title="Confirm your address">
      <p class="lede">
        The account @{name} of {frame.hubName} will be sent what it chooses at {address}, and can
        sign in with it.
      </p>
      <ActionForm action={toAction(c)} label={`Confirm ${address}`} />
    </LinkPage>,
  )
}

async function sendConfirm(c: PageContext): Promise<Response> {
  requireSameOrigin(c)
  const link = readLink(c)
  await findConfirmation(c.var.context, link)
  await confirm(c.var.context, link)
  return sendPage(
    c,
    <LinkPage frame={createFrame(c)} title="Your address is confirmed">
      <p class="lede">
        Choose what is mailed to you in{' '}
        <TextLink href="/settings/notifications#mail">your notifications</TextLink>.
      </p>
    </LinkPage>,
  )
}

const kindInput = z.enum(unsubscribeKinds)

function readUnsubscribe(c: PageContext) {
  const kind = kindInput.safeParse(c.req.query('kind'))
  if (!kind.success) throw mailErrors.unknownLink()
  return { ...readLink(c), kind: kind.data }
}

/** What ends, in the middle of a sentence. */
const kindLabels: Record<UnsubscribeKind, string> = {
  mention: 'mail about mentions',
  reply: 'mail about replies',
  dm: 'mail about direct messages',
  approval: 'mail about calls that require your approval',
  run: 'mail about answers of agents',
  digest: 'the digest',
}

async function showUnsubscribe(c: PageContext): Promise<Response> {
  const link = readUnsubscribe(c)
  const { name } = await findUnsubscribe(c.var.context, link)
  const what = kindLabels[link.kind]
  return sendPage(
    c,
    <LinkPage frame={createFrame(c)} title={`Stop ${what}`}>
      <p class="lede">
        Only {what} for @{name} stops. What else you chose is still sent.
      </p>
      <ActionForm action={toAction(c)} label={`Stop ${what}`} />
    </LinkPage>,
  )
}

async function sendUnsubscribe(c: PageContext): Promise<Response> {
  const link = readUnsubscribe(c)
  await unsubscribe(c.var.context, link)
  return sendPage(
    c,
    <LinkPage frame={createFrame(c)} title="Stopped">
      <p class="lede">You are not sent {kindLabels[link.kind]} any more.</p>
    </LinkPage>,
  )
}

interface LinkPageProps {
  frame: Frame
  title: string
}

const LinkPage: FC<PropsWithChildren<LinkPageProps>> = ({ frame, title, children }) => (
  <Layout frame={frame} title={title}>
    <h1>{title}</h1>
    {children}
  </Layout>
)

const ActionForm: FC<{ action: string; label: string }> = ({ action, label }) => (
  <form class="form up4" method="post" action={action}>
    <div>
      <Submit isMain>{label}</Submit>
    </div>
  </form>
)
