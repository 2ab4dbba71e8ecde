import { mailLimits } from '../../shared/config'
import { shortenText } from '../../shared/cut-text'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import type { AccountId, InboxItemId } from '../../shared/ids'
import { postPath } from '../../shared/paths'
import { withoutDirection } from '../../shared/texts'
import type { MailMessage, MailResult } from '../contract/mail'
import type { ActionContext } from '../database/action-context'
import { findDigestAt } from '../inbox/notification-settings'
import { describeNotification } from '../inbox/push-actions'
import type { NotificationKind } from '../schema/inbox'
import { actorReader } from '../viewers/reader'
import {
  claimServer,
  type DigestItem,
  type DigestPost,
  enterAnother,
  type MailRow,
  moveDigest,
  queueDigest,
  recordDigest,
  recordMail,
  recordRefusal,
  recordTaken,
  releaseServer,
  selectClaimedMail,
  selectDigestItems,
  selectDigestPosts,
  selectDueDigests,
  selectNextMail,
} from './send-queries'
import { toPurpose } from './tokens'

/** The part of a context that sending needs. */
type Context = Pick<ActionContext, 'db' | 'clock' | 'settings' | 'mail'>

/**
 * Returns how long to wait after a failed attempt, up to a tenth of it random.
 *
 * @param attempts failed so far, at least 1
 * @param random from 0 to 1
 */
function findRetryMs(attempts: number, random: number): number {
  const { retriesMs } = mailLimits
  const waitMs = retriesMs[Math.min(attempts, retriesMs.length) - 1] ?? 0
  return Math.round(waitMs * (1 + random / 10))
}

/** A number from 0 to 1 from the random part of a new id. */
const drawRandom = ({ clock }: Context): number =>
  Number.parseInt(clock.newId<string>().slice(-8), 16) / 2 ** 32

/**
 * Sends the mail that is due and returns when the next one is; null when none waits. One sender works at a time. One
 * that dies after sending leaves its messages to the next one: a message can arrive twice, with the same Message-ID.
 */
async function sendMail(context: Context): Promise<number | null> {
  const { db, clock, settings, mail } = context
  if (mail.problem !== null) return null
  const endsAt = clock.now() + mailLimits.sendMsMax
  for (let round = 0; round < mailLimits.roundsMax && clock.now() <= endsAt; round++) {
    const now = clock.now()
    const claim = clock.newId<string>()
    const membersInvite = settings.ROOKERY_MEMBERS_INVITE
    const { due } = await batch(db, {
      claim: claimServer({ claim, now }),
      due: selectClaimedMail({ claim, now, membersInvite }),
    })
    const results = due.length === 0 ? [] : await sendDue(context, claim, due, endsAt)
    const { next } = await batch(db, { results, next: selectNextMail({}) })
    if (next?.at == null || next.at > clock.now()) return next?.at ?? null
  }
  return clock.now()
}

/** A message that is ready, or why it is not sent any more. */
type Prepared = { row: MailRow; message: MailMessage } | { row: MailRow; ended: Ended }

interface Ended {
  state: 'withheld' | 'failed'
  answer: string
}

/** Sends what a sender has claimed. Returns what stores how that ended. */
async function sendDue(
  context: Context,
  claim: string,
  due: readonly MailRow[],
  endsAt: number,
): Promise<Statement<unknown>[]> {
  const { clock, mail } = context
  const prepared = await Promise.all(due.map((row) => prepareMail(context, row)))
  const ready = prepared.filter((each) => 'message' in each)
  const results =
    ready.length === 0
      ? []
      : await mail.send(
          ready.map(({ message }) => message),
          () => clock.now() > endsAt,
        )
  const now = clock.now()
  const ended = prepared.flatMap((each) =>
    'ended' in each ? [recordMail({ id: each.row.id, ...each.ended, now, nextAt: now })] : [],
  )
  const tried = results.flatMap((result, index) => {
    const row = ready[index]?.row
    return row ? store(context, row, result) : []
  })
  return [...ended, ...tried, releaseAfter(context, claim, due, results)]
}

/** Returns what ends the claim. The server as a whole waits after it could not be reached. */
function releaseAfter(
  context: Context,
  claim: string,
  [first]: readonly MailRow[],
  results: readonly MailResult[],
): Statement<unknown> {
  const now = context.clock.now()
  const failed = results.find(({ kind }) => kind === 'failed')
  if (!failed) {
    // Nothing that was tried says how the server is.
    const isKnown = results.length > 0 || !first
    const failures = isKnown ? 0 : first.serverFailures
    const failingSince = isKnown ? null : first.serverFailingSince
    const answer = isKnown ? null : first.serverAnswer
    return releaseServer({ claim, retryAt: now, failures, failingSince, answer })
  }
  const isFirst = results[0] === failed
  const failures = (isFirst ? (first?.serverFailures ?? 0) : 0) + 1
  const failingSince = (isFirst ? first?.serverFailingSince : null) ?? now
  const retryAt = now + findRetryMs(failures, drawRandom(context))
  return releaseServer({ claim, retryAt, failures, failingSince, answer: failed.answer })
}

/** Returns what stores how an attempt ended. */
function store(context: Context, row: MailRow, { kind, answer }: MailResult): Statement<unknown>[] {
  const { clock } = context
  const { id, accountId, address, attempts } = row
  const now = clock.now()
  if (kind === 'sent') {
    return [
      recordMail({ id, state: 'sent', now, nextAt: now, answer }),
      ...(accountId === null ? [] : [recordTaken({ accountId })]),
      ...(accountId !== null && row.event === 'mail.digest'
        ? [recordDigest(accountId, toDigest(accountId, row.createdAt).until)]
        : []),
    ]
  }
  if (kind === 'refused' || kind === 'unknown') {
    const failed = recordMail({ id, state: 'failed', now, nextAt: now, answer })
    if (accountId === null || address === null) return [failed]
    const notice = `Mail to ${address} was stopped. ${answer}${enterAnother}`
    const refused = {
      accountId,
      address,
      reason: answer,
      notice,
      now,
      isUnknown: kind === 'unknown',
    }
    return [failed, ...recordRefusal({ ...refused, itemId: clock.newId<InboxItemId>() })]
  }
  const state = isOver(row, now) ? 'failed' : 'pending'
  const nextAt = now + findRetryMs(attempts + 1, drawRandom(context))
  return [recordMail({ id, state, now, nextAt, answer })]
}

/** Whether a message that was not sent by now is given up. */
const isOver = ({ createdAt }: Pick<MailRow, 'createdAt'>, now: number): boolean =>
  now - createdAt >= mailLimits.keptTryingMs

/** Returns why a message must not be sent any more; null: it may be. */
function findWithheld(row: MailRow): string | null {
  if (row.event === 'mail.invitation') {
    return row.expiresAt === null
      ? 'It was not sent: the invitation cannot be used any more.'
      : null
  }
  if (row.address === null) return 'It was not sent: the address was removed.'
  if (row.isStopped) return 'It was not sent: the address was stopped.'
  if (row.event === 'mail.confirmation' || row.event === 'mail.test') return null
  if (!row.isConfirmed || row.isShutOut) return 'It was not sent: the account cannot get mail.'
  if (row.event === 'mail.sign_in' && row.expiresAt === null) {
    return 'It was not sent: the link has expired.'
  }
  if (row.event === 'mail.notification' && !row.isItemWanted) {
    return 'It was not sent: it was read, is gone, or is not for its reader any more.'
  }
  return null
}

async function prepareMail(context: Context, row: MailRow): Promise<Prepared> {
  const withheld = findWithheld(row)
  if (withheld !== null) return { row, ended: { state: 'withheld', answer: withheld } }
  // Of many that wait for a server that does not answer, only the first is tried each time.
  if (row.serverFailures > 0 && isOver(row, context.clock.now())) {
    return { row, ended: { state: 'failed', answer: row.serverAnswer ?? 'It was given up.' } }
  }
  const written = await writeMail(context, row)
  if (written === null) {
    return { row, ended: { state: 'withheld', answer: 'It was not sent: nothing was new.' } }
  }
  const { to, unsubscribeUrl = null, ...content } = written
  return { row, message: { id: row.id, to, unsubscribeUrl, ...content } }
}

/**
 * What a digest is selected by: it says what its account may read itself. It ends a little before it is queued: what is
 * written in that moment has its time already, and can be read only later.
 */
const toDigest = (accountId: AccountId, queuedAt: number) => ({
  accountId,
  until: queuedAt - mailLimits.digestSettleMs,
  reader: actorReader({ accountId, activationId: null }),
})

type Written = MailContent & { to: string; unsubscribeUrl?: string }

const toMailHub = ({ settings }: Pick<Context, 'settings'>): MailHub => ({
  name: settings.ROOKERY_NAME,
  origin: settings.ROOKERY_ORIGIN?.[0] ?? '',
})

/** Writes a message; null when it has nothing to say. */
async function writeMail(context: Context, row: MailRow): Promise<Written | null> {
  const { mail } = context
  const { id, targetId } = row
  const hub = toMailHub(context)
  const to = row.address ?? ''
  const account = row.accountName ?? ''
  if (row.event === 'mail.invitation') {
    const { address } = JSON.parse(row.data ?? '{}') as { address: string }
    const token = await mail.createToken(toPurpose.invitation(targetId))
    const { inviter, invitedAs, expiresAt } = row
    const facts = { inviter: inviter ?? '', invitedAs: invitedAs ?? '', expiresAt: expiresAt ?? 0 }
    return { to: address, ...formatInvitation(hub, facts, `${hub.origin}/join/${token}`) }
  }
  if (row.event === 'mail.test') return { to, ...formatTest(hub) }
  if (row.event === 'mail.confirmation') {
    const token = await mail.createToken(toPurpose.confirmation(targetId, to))
    const query = new URLSearchParams({ account: targetId, token })
    return { to, ...formatConfirmation(hub, account, `${hub.origin}/mail/confirm?${query}`) }
  }
  if (row.event === 'mail.sign_in') {
    const token = await mail.createToken(toPurpose.signIn(id))
    const query = new URLSearchParams({ token })
    return { to, ...formatSignIn(hub, account, `${hub.origin}/login?${query}`) }
  }
  const kind = row.event === 'mail.digest' ? 'digest' : row.kind
  if (kind === null || row.accountId === null) return null
  const token = await mail.createToken(toPurpose.unsubscribe(targetId, to, kind))
  const query = new URLSearchParams({ account: targetId, kind, token })
  const unsubscribeUrl = `${hub.origin}/mail/unsubscribe?${query}`
  if (kind !== 'digest') {
    return { to, unsubscribeUrl, ...formatNotification(hub, { ...row, kind }, unsubscribeUrl) }
  }
  const digest = toDigest(row.accountId, row.createdAt)
  const found = await batch(context.db, {
    items: selectDigestItems(digest),
    posts: selectDigestPosts(digest),
  })
  if (found.items.length + found.posts.length === 0) return null
  return { to, unsubscribeUrl, ...formatDigest(hub, found, unsubscribeUrl) }
}

/** Sends a test to an address now. It is not tried again. */
export async function sendTestNow(
  { mail, ...context }: Context,
  message: { id: string; to: string },
): Promise<MailResult> {
  const content = { ...formatTest(toMailHub(context)), unsubscribeUrl: null }
  const [result] = await mail.send([{ ...message, ...content }], () => false)
  return result ?? { kind: 'failed', answer: 'Nothing was sent.' }
}

/** Sends what a write has queued, after its answer; what fails is tried again by the sweep. */
export function deferMail(
  context: Context & Pick<ActionContext, 'scheduler' | 'defer'>,
  isQueued: boolean | undefined,
): void {
  if (!isQueued || context.mail.problem !== null) return
  const send = async () => {
    const nextAt = await sendMail(context)
    if (nextAt !== null) await context.scheduler.sweepAt(nextAt)
  }
  context.defer(send())
}

/**
 * Queues the digests that are due and sends what is due, while the sweep goes on. Returns when the sweep has to look
 * again: at the next message, or when another sender takes over from one that died.
 *
 * @param next from `mailTimes`
 */
export async function sweepMail(
  context: ActionContext,
  next: { mailAt: number | null; digestAt: number | null } | undefined,
  now: number,
): Promise<number | null> {
  if (context.mail.problem !== null || !next) return null
  const { mailAt: dueAt, digestAt } = next
  const isDigestDue = digestAt !== null && digestAt <= now
  if (isDigestDue) await queueDigests(context, now)
  const isDue = (dueAt !== null && dueAt <= now) || isDigestDue
  deferMail(context, isDue)
  if (isDue) return now + mailLimits.claimMs
  const times = [dueAt, digestAt].filter((at) => at !== null)
  return times.length === 0 ? null : Math.min(...times)
}

async function queueDigests({ db, clock }: Context, now: number): Promise<void> {
  const due = await run(db, selectDueDigests({ now }))
  await batch(db, {
    queued: due.map(({ accountId, digestAt }) =>
      queueDigest({ id: clock.newId<string>(), at: digestAt, now, ...toDigest(accountId, now) }),
    ),
    moved: due.map(({ accountId, digestAt, ...clockTime }) =>
      moveDigest(accountId, digestAt, findDigestAt(clockTime, now)),
    ),
  })
}

/** What mail says of the hub. */
interface MailHub {
  name: string
  /** For links. */
  origin: string
}

/** The parts of a message that depend on what it is about. */
interface MailContent {
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

const formatTest = (hub: MailHub): MailContent =>
  write(hub, {
    subject: `Test of ${hub.name}`,
    before: ['This is a test. Mail of this hub reaches this address.'],
  })

const formatConfirmation = (hub: MailHub, account: string, url: string): MailContent =>
  write(hub, {
    subject: `Confirm your address for ${hub.name}`,
    before: [`The account @${account} of ${hub.name} wants to use this address.`],
    button: { label: 'Confirm the address', url },
    after: ['The link works for a day.', ignoreIt],
  })

const formatSignIn = (hub: MailHub, account: string, url: string): MailContent =>
  write(hub, {
    subject: `Sign in to ${hub.name}`,
    before: [`With this link you sign in to ${hub.name} as @${account}.`],
    button: { label: 'Sign in', url },
    after: ['The link works once, for 15 minutes. Do not pass it on.', ignoreIt],
  })

const formatInvitation = (
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

const formatNotification = (hub: MailHub, item: Notified, unsubscribeUrl: string): MailContent => {
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

const formatDigest = (
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
