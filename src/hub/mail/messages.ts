import { mailLimits } from '../../shared/config'
import { shortenText } from '../../shared/cut-text'
import { postPath } from '../../shared/paths'
import { withoutDirection } from '../../shared/texts'
import { describeNotification } from '../inbox/push-actions'
import type { NotificationKind } from '../schema/inbox'
import type { DigestItem, DigestPost } from './digest-queries'
import type { MailRow } from './send-queries'

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
  sections?: Section[]
  button?: { label: string; url: string }
  /** Paragraphs. */
  after?: string[]
  /** Ends messages of its kind; null: it is sent on request only. */
  unsubscribe?: { label: string; url: string }
}

/** What was written, each with what happened above it. */
interface Section {
  /** A paragraph above; null for none. */
  lead: string | null
  quotes: Quote[]
}

interface Quote {
  title: string
  text: string
  url: string
}

// Line breaks of all kinds, and what else a header cannot have.
const breaks = /[\s\p{Cc}\p{Zl}\p{Zp}]+/gu
// Characters that nobody sees. Those that join letters and pictures are none: a name may need them.
const hidden = /[\u200b\u2060-\u2064\u206a-\u206f\ufeff]/g

/** Returns a text as one line that a header can have. */
const toLine = (text: string): string =>
  shortenText(
    withoutDirection(text).replace(hidden, '').replace(breaks, ' ').trim(),
    mailLimits.subjectCharsMax,
  )

const escapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (char) => escapes[char] ?? char)

const shorten = (text: string): string => shortenText(text.trim(), mailLimits.textCharsMax)

/** Writes both parts. No character turns around how the text beside it reads, wherever it came from. */
function write(hub: MailHub, draft: Draft): MailContent {
  return {
    subject: toLine(draft.subject),
    text: withoutDirection(toText(hub, draft)),
    html: withoutDirection(toHtml(hub, draft)),
  }
}

const toFoot = (hub: MailHub): string => `${toLine(hub.name)}, ${hub.origin}`

function toText(hub: MailHub, draft: Draft): string {
  const { before, sections = [], button, after = [], unsubscribe } = draft
  const toQuoteText = ({ title, text, url }: Quote) => {
    const quoted = shorten(text)
      .split('\n')
      .map((line) => `> ${line}`)
    return [title, ...(text === '' ? [] : quoted), url].join('\n')
  }
  const parts = [
    ...before,
    ...sections.flatMap(({ lead, quotes }) => [
      ...(lead === null ? [] : [lead]),
      ...quotes.map(toQuoteText),
    ]),
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
  const { before, sections = [], button, after = [], unsubscribe } = draft
  const paragraph = (text: string) => `<p>${escapeHtml(text)}</p>`
  const link = (label: string, url: string) =>
    `<a href="${escapeHtml(url)}">${escapeHtml(label)}</a>`
  const toQuoteHtml = ({ title, text, url }: Quote) => {
    const lines = escapeHtml(shorten(text)).replaceAll('\n', '<br>\n')
    const quoted = text === '' ? '' : `\n<blockquote dir="auto">${lines}</blockquote>`
    return `<p>${link(title, url)}</p>${quoted}`
  }
  const parts = [
    ...before.map(paragraph),
    ...sections.flatMap(({ lead, quotes }) => [
      ...(lead === null ? [] : [paragraph(lead)]),
      ...quotes.map(toQuoteHtml),
    ]),
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
  kind: NotificationKind
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
    sections: [{ lead: null, quotes: [quote] }],
    unsubscribe: { label: 'Stop mail of this kind', url: unsubscribeUrl },
  })
}

const toPostQuote = (hub: MailHub, { postId, title, author, community }: DigestPost): Quote => ({
  title: `@${author} in m/${community}`,
  text: toLine(title),
  url: hub.origin + postPath(postId),
})

/** Formats a count that is not counted further than a limit. */
const formatCount = (count: number, most: number): string =>
  count < most ? String(count) : `more than ${most - 1}`

export const formatDigest = (
  hub: MailHub,
  { items, posts }: { items: readonly DigestItem[]; posts: readonly DigestPost[] },
  unsubscribeUrl: string,
): MailContent => {
  const { digestItemsMax, digestPostsCounted } = mailLimits
  const total = posts[0]?.total ?? 0
  const itemCount = formatCount(items.length, digestItemsMax)
  const postCount = formatCount(total, digestPostsCounted)
  const counts = [
    ...(items.length > 0 ? [`${itemCount} for you`] : []),
    ...(total > 0 ? [`${postCount} new ${total === 1 ? 'post' : 'posts'}`] : []),
  ]
  const isMore = items.length === digestItemsMax
  const shown = posts.length < total ? `the newest ${posts.length} of ${postCount}` : postCount
  const sections: Section[] = [
    {
      lead: `For you, not read yet: ${itemCount}${isMore ? '. More is in your inbox.' : ''}`,
      quotes: items.map((item) => toQuote(hub, item)),
    },
    {
      lead: `New posts of what you follow: ${shown}`,
      quotes: posts.map((post) => toPostQuote(hub, post)),
    },
  ]
  return write(hub, {
    subject: `${hub.name}: ${counts.join(', ')}`,
    before: [],
    sections: sections.filter(({ quotes }) => quotes.length > 0),
    button:
      items.length > 0
        ? { label: 'Your inbox', url: `${hub.origin}/inbox` }
        : { label: 'What you follow', url: `${hub.origin}/` },
    unsubscribe: { label: 'Stop the digest', url: unsubscribeUrl },
  })
}
