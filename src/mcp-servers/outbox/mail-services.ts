import type { MailMessage, MailResult } from '../../hub/contract/mail'
import { mailLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { MailService } from '../../shared/mail-url'
import { createGuardedFetch, type Resolve } from '../fetch/guarded-fetch'
import type { MailTransport, Sender } from './mail-transport'

interface ServiceRequest {
  url: string
  headers: Record<string, string>
  body: object
}

/** How a service takes a message. */
interface Service {
  label: string
  toRequest(key: string, from: Sender, message: MailMessage): ServiceRequest
  /** Whether an answer says that the address takes no mail. */
  isUnknown(status: number, text: string | null): boolean
}

const toAddress = ({ name, address }: Sender): string =>
  name === '' ? address : `"${name.replace(/["\\]/g, '')}" <${address}>`

const listHeaders = ({ unsubscribeUrl }: MailMessage): Record<string, string> =>
  unsubscribeUrl === null
    ? {}
    : {
        'List-Unsubscribe': `<${unsubscribeUrl}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }

const services: Record<MailService['kind'], Service> = {
  // https://postmarkapp.com/developer/api/email-api
  postmark: {
    label: 'Postmark',
    toRequest: (key, from, message) => ({
      url: 'https://api.postmarkapp.com/email',
      headers: { 'x-postmark-server-token': key },
      body: {
        From: toAddress(from),
        To: message.to,
        Subject: message.subject,
        TextBody: message.text,
        HtmlBody: message.html,
        TrackOpens: false,
        TrackLinks: 'None',
        Headers: Object.entries({
          'Message-ID': toMessageId(from, message),
          'X-PM-KeepID': 'true',
          ...listHeaders(message),
        }).map(([Name, Value]) => ({ Name, Value })),
      },
    }),
    // 406: the address bounced before, or its reader complained.
    isUnknown: (status, text) => status === 422 && /"ErrorCode":\s*406\b/.test(text ?? ''),
  },
  // https://resend.com/docs/api-reference/emails/send-email
  resend: {
    label: 'Resend',
    toRequest: (key, from, message) => ({
      url: 'https://api.resend.com/emails',
      headers: { authorization: `Bearer ${key}`, 'idempotency-key': message.id },
      body: {
        from: toAddress(from),
        to: [message.to],
        subject: message.subject,
        text: message.text,
        html: message.html,
        headers: { 'Message-ID': toMessageId(from, message), ...listHeaders(message) },
      },
    }),
    isUnknown: () => false,
  },
}

const toMessageId = ({ address }: Sender, { id }: MailMessage): string =>
  `<${id}@${address.slice(address.lastIndexOf('@') + 1)}>`

/** Creates a transport that sends by the HTTP API of a service. */
export function createServiceTransport(
  { kind, key }: MailService,
  from: Sender,
  resolve: Resolve | undefined,
): MailTransport {
  const { label, toRequest, isUnknown } = services[kind]
  return {
    async send(message) {
      const { url: text, headers, body } = toRequest(key, from, message)
      const url = new URL(text)
      const fetch = createGuardedFetch({
        service: label,
        reach: { hosts: [url.hostname], allowHttp: false, allowPrivate: false },
        hasCredential: true,
        signal: AbortSignal.timeout(mailLimits.timeoutMs),
        resolve,
      })
      try {
        const answer = await fetch({
          method: 'POST',
          url,
          headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
          body: JSON.stringify(body),
          timeoutMs: mailLimits.timeoutMs,
        })
        const said = `${label} answered ${answer.status}.`
        if (isUnknown(answer.status, answer.text)) return { kind: 'unknown', answer: said }
        return toResult(answer.status, said)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return { kind: 'failed', answer: error.message }
      }
    },
    close: () => undefined,
  }
}

/** 400 and 422 are about the message; 401 and 403 about the hub's key, 429 about its plan. */
function toResult(status: number, answer: string): MailResult {
  if (status >= 200 && status < 300) return { kind: 'sent', answer }
  return { kind: status === 400 || status === 422 ? 'refused' : 'failed', answer }
}
