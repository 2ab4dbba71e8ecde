import { batch } from '../../shared/db/batch'
import { idAt } from '../../shared/db/write-sql'
import { AppError, notFound } from '../../shared/errors'
import type { SentDelivery } from '../contract/triggers'
import type { ActionContext } from '../database/action-context'
import { apiBase } from '../http/mount-routes'
import { stopBounced } from './send-queries'

/** Errors of reports by mail services, as operators read them. */
const bounceErrors = {
  notSetUp: () =>
    notFound('receiver', 'Set ROOKERY_MAIL_URL to a mail service, and ROOKERY_MAIL_HOOK_SECRET.'),
  signature: () =>
    new AppError('UNAUTHORIZED', 'The secret or the signature of the report is missing or wrong.', {
      hint: 'Enter the address that /admin/mail shows at the mail service, with ROOKERY_MAIL_HOOK_SECRET.',
    }),
  late: () =>
    new AppError('UNAUTHORIZED', 'The report is older or newer than 5 minutes.', {
      hint: 'Sign it again with the time at which it is sent. Check the clock of the sender.',
    }),
  malformed: () =>
    new AppError('VALIDATION', 'The body is no report of the mail service.', {
      hint: 'Send its webhooks of bounces and spam complaints here, and no others.',
    }),
}

/** Returns the address that reports are sent to. */
export const toBounceUrl = (origin: string): string => `${origin}${apiBase}/mail/bounces`

/**
 * Stops the addresses that a mail service reports: mail to them bounced for good, or a reader called it spam. The same
 * report again changes nothing. Returns how many it stopped.
 *
 * @throws NOT_FOUND without a service that reports, UNAUTHORIZED for a report that is forged or late, VALIDATION
 */
export async function takeBounces(
  { db, clock, mail }: Pick<ActionContext, 'db' | 'clock' | 'mail'>,
  sent: SentDelivery,
): Promise<number> {
  const now = clock.now()
  const report = await mail.readBounces(sent, now)
  if (report === null) throw bounceErrors.notSetUp()
  if (report.kind !== 'valid') throw bounceErrors[report.kind]()
  const like = idAt(now)
  const each = report.bounces.map(({ address, ...bounce }) =>
    stopBounced({ normalized: address.toLowerCase(), ...bounce }, { now, like }),
  )
  const { stopped } = await batch(db, {
    notices: each.map(({ notices }) => notices),
    stopped: each.map((statements) => statements.stopped),
  })
  return stopped.filter((isStopped) => isStopped).length
}
