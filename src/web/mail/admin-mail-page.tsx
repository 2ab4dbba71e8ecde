import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import type { MailSender } from '../../hub/contract/mail'
import { type HubEnv, readCredential, requireAdmin, requireViewer } from '../../hub/http/page-entry'
import { testMail } from '../../hub/mail/actions'
import { toBounceUrl } from '../../hub/mail/bounce-actions'
import {
  type MailState,
  type SentMail,
  type StoppedMail,
  selectLastMail,
  selectMailState,
  selectOwnMail,
  selectStoppedMail,
} from '../../hub/mail/queries'
import { mailLimits } from '../../shared/config'
import { formatCount } from '../../shared/format'
import { accountPath } from '../../shared/paths'
import { Submit } from '../form/fields'
import type { Frame } from '../frame/frame'
import { AdminTabs, Layout } from '../frame/layout'
import { FormKey, runFormOnce } from '../frame/read-form'
import { type PageContext, page, pageErrors, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { TextLink } from '../parts/links'
import { TableHead } from '../parts/lists'
import { RelativeTime, TimeUntil } from '../parts/times'

/** Registers `/admin/mail`, where admins see how mail is sent and send a test to their own address. */
export function registerAdminMailPages(app: Hono<HubEnv>): void {
  app.get('/admin/mail', page(showMail))
  app.post('/admin/mail/test', page(sendTest))
}

async function sendTest(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  const test = () => testMail(c.var.context, viewer.id)
  const { kind, answer } = await runFormOnce(c, viewer, 'mail.test', test)
  return showMail(c, { isSent: kind === 'sent', answer })
}

interface Tested {
  isSent: boolean
  answer: string
}

async function showMail(c: PageContext, tested: Tested | null = null): Promise<Response> {
  const credential = await readCredential(c)
  const { clock, mail } = c.var.context
  const { frame, answers } = await readPage(c, {
    state: selectMailState(credential, clock.now()),
    own: selectOwnMail(credential, clock.now()),
    last: selectLastMail(credential, clock.now()),
    stopped: selectStoppedMail(credential, clock.now()),
  })
  if (!frame.viewer) throw pageErrors.signInRequired()
  if (!frame.viewer.isAdmin || !answers.state) throw pageErrors.adminRequired()
  const { state, own, last, stopped } = answers
  const props = { frame, state, last, stopped, tested, ownAddress: own?.address ?? null }
  const { problem, server, from, bounces } = mail
  const shown = { problem, server, from, bounces, bounceUrl: toBounceUrl(c.var.origin) }
  return sendPage(c, <MailPage {...props} {...shown} />)
}

interface MailPageProps {
  frame: Frame
  problem: string | null
  server: string | null
  from: string | null
  /** What reports bounces, and where; null: what sends mail reports none. */
  bounces: MailSender['bounces']
  bounceUrl: string
  state: MailState
  /** Newest first. */
  last: SentMail[]
  stopped: StoppedMail[]
  /** Of the admin who reads the page. */
  ownAddress: string | null
  tested: Tested | null
}

const MailPage: FC<MailPageProps> = (props) => (
  <Layout frame={props.frame} title="Mail" place="admin/mail" sheet="admin">
    <AdminTabs here="admin/mail" isAdmin />
    <h1>Mail</h1>
    {props.problem === null ? <State {...props} /> : <SetUp problem={props.problem} />}
    {props.problem === null && props.bounces && (
      <Bounces {...props.bounces} url={props.bounceUrl} />
    )}
    {props.stopped.length > 0 && <Stopped {...props} />}
    {props.last.length > 0 && <Last {...props} />}
  </Layout>
)

const SetUp: FC<{ problem: string }> = ({ problem }) => (
  <p class="lede">
    {problem} <TextLink href="/docs/guides/mail">Set up mail</TextLink>
  </p>
)

const State: FC<MailPageProps> = ({ frame, server, from, state, ownAddress, tested }) => {
  const { failures, failingSince, retryAt, answer, waiting, confirmed } = state
  return (
    <>
      <p class="lede">
        Mail is sent with {server} from {from}. {confirmed} confirmed{' '}
        {confirmed === 1 ? 'address' : 'addresses'},{' '}
        {waiting === mailLimits.waitingCounted
          ? `at least ${formatCount(waiting)}`
          : formatCount(waiting)}{' '}
        waiting.
      </p>
      {failures > 0 && failingSince !== null && (
        <div class="wrong">
          <strong>
            Mail has not been sent since <RelativeTime at={failingSince} now={frame.now} />.
          </strong>
          <p>
            {answer}{' '}
            {retryAt !== null && (
              <>
                It is tried again <TimeUntil at={retryAt} now={frame.now} />.
              </>
            )}
          </p>
        </div>
      )}
      {tested && (
        <p class="up4" role="status">
          {tested.isSent ? `The test was sent to ${ownAddress}.` : 'The test was not sent.'}{' '}
          {tested.answer}
        </p>
      )}
      {ownAddress === null ? (
        <p class="up4">
          Enter your address in{' '}
          <TextLink href="/settings/notifications#mail">your notifications</TextLink> to send
          yourself a test.
        </p>
      ) : (
        <form class="up4" method="post" action="/admin/mail/test">
          <FormKey />
          <Submit>Send a test to {ownAddress}</Submit>
        </form>
      )}
    </>
  )
}

/** Where the mail service reports bounces. The secret is not shown: who set it has it. */
const Bounces: FC<{ service: string; problem: string | null; url: string }> = (props) => {
  const { service, problem, url } = props
  const isPostmark = service === 'Postmark'
  return (
    <Block title="Bounces">
      {problem !== null && <p class="bad">{problem}</p>}
      <p class="lede">
        Enter this address at {service}, for bounces and spam complaints
        {isPostmark && ', with the value of ROOKERY_MAIL_HOOK_SECRET as the password'}. What is
        reported stops an address.{' '}
        <TextLink href="/docs/guides/mail#when-an-address-takes-no-mail">Report bounces</TextLink>
      </p>
      <p class="code up3">{isPostmark ? url.replace('://', '://rookery:PASSWORD@') : url}</p>
    </Block>
  )
}

const Stopped: FC<MailPageProps> = ({ frame, stopped }) => (
  <Block title="Stopped addresses">
    <p class="lede">
      Messages to them were refused for good, bounced, or were called spam. Their owners were
      notified, and can enter another address.
    </p>
    <table class="tbl fold up4">
      <TableHead columns={['Account', 'Address', 'Stopped', 'Reason']} />
      <tbody>
        {stopped.map(({ account, address, stoppedAt, reason }) => (
          <tr>
            <th scope="row">
              <a href={accountPath(account.name)}>{account.name}</a>
            </th>
            <td data-l="Address">{address}</td>
            <td data-l="Stopped">
              <RelativeTime at={stoppedAt} now={frame.now} />
            </td>
            <td class="whole" data-l="Reason">
              {reason}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Block>
)

const eventLabels: Record<SentMail['event'], string> = {
  'mail.confirmation': 'Confirmation of an address',
  'mail.sign_in': 'Sign-in link',
  'mail.invitation': 'Invitation',
  'mail.notification': 'Notification',
  'mail.digest': 'Digest',
  'mail.test': 'Test',
}

const stateLabels: Record<SentMail['state'], string> = {
  pending: 'Waiting',
  sent: 'Sent',
  failed: 'Failed',
  withheld: 'Not sent',
}

const Last: FC<MailPageProps> = ({ frame, last }) => (
  <Block title="Last messages">
    <table class="tbl fold up4">
      <TableHead columns={['Message', 'To', 'When', 'State', 'Answer']} />
      <tbody>
        {last.map(({ event, account, createdAt, triedAt, state, attempts, answer }) => (
          <tr>
            <th scope="row">{eventLabels[event]}</th>
            <td data-l="To">
              {account === null ? (
                'No account'
              ) : (
                <a href={accountPath(account.name)}>{account.name}</a>
              )}
            </td>
            <td data-l="When">
              <RelativeTime at={triedAt ?? createdAt} now={frame.now} />
            </td>
            <td data-l="State">
              {stateLabels[state]}
              {attempts > 1 && `, ${attempts} attempts`}
            </td>
            <td class="whole" data-l="Answer">
              {answer ?? ''}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Block>
)
