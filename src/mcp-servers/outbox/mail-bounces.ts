import * as z from 'zod'
import type { Bounce, BounceReport } from '../../hub/contract/mail'
import type { SentDelivery } from '../../hub/contract/triggers'
import type { MailService } from '../../shared/mail-url'
import { checkStandard, isSameText } from '../triggers'
import { toReason } from './mail-transport'

/** What a service reports: a bounce that ends an address, or nothing that does; undefined: it is no such report. */
type Reported = Bounce[] | undefined

interface BounceService {
  /** Whether the service sent a report, which has the secret of the operator. */
  check(secret: string, report: SentDelivery, now: number): Promise<'valid' | 'signature' | 'late'>
  read(body: unknown): Reported
}

// Resend's times can end in hours alone: 2024-11-22 23:41:12.126+00.
const time = z
  .string()
  .max(40)
  .transform((text) => Date.parse(text.replace(/([+-]\d\d)$/, '$1:00')))
  .refine((at) => Number.isFinite(at))

const address = z.string().max(320)
const words = z.string().nullish()

// https://postmarkapp.com/developer/webhooks/bounce-webhook and /spam-complaint-webhook
const postmarkReport = z.object({
  RecordType: z.string(),
  Type: words,
  Email: address.optional(),
  BouncedAt: time.optional(),
  Description: words,
  Details: words,
  Inactive: z.boolean().nullish(),
})

/** Types after which nothing arrives any more. Others are of one message, or end by themselves. */
const postmarkFinal = ['HardBounce', 'BadEmailAddress', 'ManuallyDeactivated']

function readPostmark(body: unknown): Reported {
  const { data } = postmarkReport.safeParse(body)
  if (!data) return undefined
  const { RecordType, Type, Email, BouncedAt, Inactive } = data
  if (RecordType !== 'Bounce' && RecordType !== 'SpamComplaint') return []
  if (Email === undefined || BouncedAt === undefined) return undefined
  const isComplaint = RecordType === 'SpamComplaint' || Type === 'SpamComplaint'
  if (!isComplaint && Inactive !== true && !postmarkFinal.includes(Type ?? '')) return []
  const reason = isComplaint
    ? 'A message to it was reported as spam (Postmark).'
    : `Postmark reported: ${toReason(data.Details || data.Description || Type || 'a bounce')}`
  return [{ address: Email, at: BouncedAt, reason }]
}

// https://resend.com/docs/webhooks/emails/bounced and /complained
const resendReport = z.object({ type: z.string(), created_at: time, data: z.unknown() })
const resendMail = z.object({
  to: z.array(address).min(1).max(50),
  bounce: z.object({ type: words, message: words }).nullish(),
})

function readResend(body: unknown): Reported {
  const { data: report } = resendReport.safeParse(body)
  if (!report) return undefined
  if (report.type !== 'email.bounced' && report.type !== 'email.complained') return []
  const { data: mail } = resendMail.safeParse(report.data)
  if (!mail) return undefined
  const isComplaint = report.type === 'email.complained'
  // Transient and undetermined ones can end by themselves.
  if (!isComplaint && (mail.bounce?.type ?? 'Permanent') !== 'Permanent') return []
  const reason = isComplaint
    ? 'A message to it was reported as spam (Resend).'
    : `Resend reported: ${toReason(mail.bounce?.message || 'a bounce')}`
  return mail.to.map((each) => ({ address: each, at: report.created_at, reason }))
}

const services: Record<MailService['kind'], BounceService> = {
  // It signs nothing: a password is part of the address that is entered there.
  postmark: {
    check: async (secret, { header }) => {
      const given = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header('authorization') ?? '')?.[1]
      const password = decode(given ?? '').replace(/^[^:]*:/, '')
      return (await isSameText(secret, password)) ? 'valid' : 'signature'
    },
    read: readPostmark,
  },
  // Its signatures are those of Standard Webhooks, under the names that these had before.
  resend: {
    check: (secret, { body, header }, now) => {
      const named = (name: string) => header(name.replace(/^webhook-/, 'svix-'))
      return checkStandard(secret, { body, header: named }, now)
    },
    read: readResend,
  },
}

function decode(base64: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)))
  } catch {
    return ''
  }
}

/** Returns why a service cannot report bounces, as a sentence; null: it can. */
export function findBounceProblem(kind: MailService['kind'], secret: string | undefined) {
  if (!secret) return 'ROOKERY_MAIL_HOOK_SECRET is not set, so bounces are not known.'
  if (kind === 'resend' && !/^whsec_[A-Za-z0-9+/]{24,}={0,2}$/.test(secret)) {
    return 'ROOKERY_MAIL_HOOK_SECRET must be the signing secret of the webhook at Resend: whsec_...'
  }
  return null
}

/** Reads what a service reports of messages that bounced or were called spam. */
export async function readBounces(
  kind: MailService['kind'],
  secret: string,
  report: SentDelivery,
  now: number,
): Promise<BounceReport> {
  const { check, read } = services[kind]
  const verdict = await check(secret, report, now)
  if (verdict !== 'valid') return { kind: verdict }
  const bounces = read(parse(report.body))
  return bounces === undefined ? { kind: 'malformed' } : { kind: 'valid', bounces }
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(body))
  } catch {
    return undefined
  }
}
