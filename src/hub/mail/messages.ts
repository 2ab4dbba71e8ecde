import { mailLimits } from '../../shared/config'
import { shortenText } from '../../shared/cut-text'
import { describeNotification } from '../inbox/push-actions'
import type { PushKind } from '../schema/inbox'
import type { DigestItem, MailRow } from './send-queries'

/** What mail says of the hub. */
export interface MailHub {
  name: string
  /** For links. */
  origin: string
}

/** The parts of a message that depend on what it is about. */
export interface MailContent {
  subject: string
  text: string
  html: string
}

/** A message before it is written as text and as HTML. */
interface Draft {
  subject: string
  /** Paragraphs. */
  before: string[]
  /** What was written, each with what happened above it. */
  quotes?: Quote[]
  button?: { label: string; url: string }
  /** Paragraphs. */
  after?: string[]
  /** Ends messages of its kind; null: it is sent on request only. */
  unsubscribe?: { label: string; url: string }
}

interface Quote {
  title: string
  text: string
  url: string
}

// Line breaks of all kinds, and what else a header cannot have.
const breaks = /[\s\p{Cc}\p{Zl}\p{Zp}]+/gu
// Characters that change the direction of what follows, or that nobody sees.
const hidden = /[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/g

/** Returns a text as one line that a header can have. */
const toLine = (text: string): string =>
  shortenText(text.replace(hidden, '').replace(breaks, ' ').trim(), mailLimits.subjectCharsMax)

const escapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (char) => escapes[char] ?? char)

const shorten = (text: string): string => shortenText(text.trim(), mailLimits.textCharsMax)

function write(hub: MailHub, draft: Draft): MailContent {
  return { subject: toLine(draft.subject), text: toText(hub, draft), html: toHtml(hub, draft) }
}

const toFoot = (hub: MailHub): string => `${toLine(hub.name)}, ${hub.origin}`

function toText(hub: MailHub, draft: Draft): string {
  const { before, quotes = [], button, after = [], unsubscribe } = draft
  const parts = [
    ...before,
    ...quotes.map(({ title, text, url }) => {
      const quoted = shorten(text)
        .split('\n')
        .map((line) => `> ${line}`)
      return [title, ...(text === '' ? [] : quoted), url].join('\n')
    }),
    ...(button ? [`${button.label}: ${button.url}`] : []),
    ...after,
    // The delimiter of a signature, by which mail programs set it apart.
    ['-- ', toFoot(hub), ...(unsubscribe ? [`${unsubscribe.label}: ${unsubscribe.url}`] : [])].join(
      '\n',
    ),
  ]
  return `${parts.join('\n\n')}\n`
}

/** HTML without styles and pictures: nothing is loaded when it is read. */
function toHtml(hub: MailHub, draft: Draft): string {
  const { before, quotes = [], button, after = [], unsubscribe } = draft
  const paragraph = (text: string) => `<p>${escapeHtml(text)}</p>`
  const link = (label: string, url: string) =>
    `<a href="${escapeHtml(url)}">${escapeHtml(label)}</a>`
  const parts = [
    ...before.map(paragraph),
    ...quotes.map(({ title, text, url }) => {
      const lines = escapeHtml(shorten(text)).replaceAll('\n', '<br>\n')
      return `<p>${link(title, url)}</p>${text === '' ? '' : `\n<blockquote>${lines}</blockquote>`}`
    }),
    ...(button ? [`<p>${link(button.label, button.url)}</p>`] : []),
    ...after.map(paragraph),
    `<hr>\n<p>${escapeHtml(toFoot(hub))}${unsubscribe ? `<br>\n${link(unsubscribe.label, unsubscribe.url)}` : ''}</p>`,
  ]
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"></head><body>\n${parts.join('\n')}\n</body></html>\n`
}

const ignoreIt = 'If you did not ask for this, ignore this message.'

export const formatTest = (hub: MailHub): MailContent =>
  write(hub, {
    subject: `Test of ${hub.name}`,
    before: ['This is a test. Mail of this hub reaches this address.'],
  })

export const formatConfirmation = (hub: MailHub, account: string, url: string): MailContent =>
  write(hub, {
    subject: `Confirm your address for ${hub.name}`,
    before: [`The account @${account} of ${hub.name} wants to use this address.`],
    button: { label: 'Confirm the address', url },
    after: ['The link works for a day.', ignoreIt],
  })

export const formatSignIn = (hub: MailHub, account: string, url: string): MailContent =>
  write(hub, {
    subject: `Sign in to ${hub.name}`,
    before: [`With this link you sign in to ${hub.name} as @${account}.`],
    button: { label: 'Sign in', url },
    after: ['The link works once, for 15 minutes. Do not pass it on.', ignoreIt],
  })

export const formatInvitation = (
  hub: MailHub,
  { inviter, invitedAs, expiresAt }: { inviter: string; invitedAs: string; expiresAt: number },
  url: string,
): MailContent =>
  write(hub, {
    subject: `@${inviter} invites you to ${hub.name}`,
    before: [
      `@${inviter} invites you to ${hub.name}, where people and AI agents work together. You join as ${invitedAs === 'admin' ? 'an admin' : `a ${invitedAs}`}.`,
    ],
    button: { label: 'Accept the invitation', url },
    after: [
      `The link works once, until ${new Date(expiresAt).toISOString().slice(0, 10)}.`,
      'If you do not know who sent it, ignore this message.',
    ],
  })

type Notified = Pick<MailRow, 'from' | 'postId' | 'commentId' | 'conversationId'> & {
  kind: PushKind
  content: string | null
}

const toQuote = (hub: MailHub, item: Notified): Quote => {
  const { title, path } = describeNotification(item)
  // A request for approval can hold arguments of a call, which stay on the hub.
  const text = item.kind === 'approval' ? '' : (item.content ?? '')
  return { title, text, url: hub.origin + path }
}

export const formatNotification = (
  hub: MailHub,
  item: Notified,
  unsubscribeUrl: string,
): MailContent => {
  const quote = toQuote(hub, item)
  return write(hub, {
    subject: `${quote.title} on ${hub.name}`,
    before: [],
    quotes: [quote],
    unsubscribe: { label: 'Stop mail of this kind', url: unsubscribeUrl },
  })
}

export const formatDigest = (
  hub: MailHub,
  items: readonly DigestItem[],
  unsubscribeUrl: string,
): MailContent => {
  const count = items.length
  const isMore = count === mailLimits.digestItemsMax
  return write(hub, {
    subject: `${hub.name}: ${isMore ? 'more than ' : ''}${count} new`,
    before: ['What is new for you and was not read yet:'],
    quotes: items.map((item) => toQuote(hub, item)),
    button: { label: isMore ? 'More in your inbox' : 'Your inbox', url: `${hub.origin}/inbox` },
    unsubscribe: { label: 'Stop the digest', url: unsubscribeUrl },
  })
}
