import { webhookLimits } from '../../shared/config'
import { cutText, shortenText } from '../../shared/cut-text'
import { activationPath, contentPath } from '../../shared/paths'
import type { WebhookFormat } from '../contract/webhooks'
import { presentTime } from '../http/answers'
import type { Delivery } from './send-queries'

/** What a message is about. */
type Subject = Omit<
  Delivery,
  'sealed' | 'host' | 'url' | 'ownerId' | 'failures' | 'failingSince' | 'nextAt' | 'attempts'
>

/** A message before it is written in a format. */
interface Message {
  type: string
  createdAt: number
  /** What happened, as one line. */
  heading: string
  /** What was written; '' for nothing. */
  quote: string
  /** Where it is; a path when the hub has no origin configured. */
  url: string | null
  data: object
}

/**
 * Returns the body of a delivery in the format of its webhook.
 *
 * @param origin of the hub, for links; '' when it has none configured
 */
export function formatMessage(subject: Subject, origin: string): string {
  const url = origin + findPath(subject)
  return formatBody(subject.format, {
    type: subject.event,
    createdAt: subject.createdAt,
    heading: formatHeading(subject),
    quote: toQuote(subject),
    url,
    data: { ...toData(subject), url },
  })
}

/** Returns the body of a test. */
export function formatTest(format: WebhookFormat, createdAt: number): string {
  const heading = 'This is a test. Webhooks of this hub reach this address.'
  return formatBody(format, {
    type: 'webhook.test',
    createdAt,
    heading,
    quote: '',
    url: null,
    data: { message: heading },
  })
}

function formatBody(format: WebhookFormat, message: Message): string {
  if (format === 'slack') return JSON.stringify(toSlack(message))
  if (format === 'discord') return JSON.stringify(toDiscord(message))
  const { type, createdAt, data } = message
  return JSON.stringify({ type, timestamp: presentTime(createdAt), data })
}

function findPath({ event, runId, postId, commentId }: Subject): string {
  if (event === 'run.finished' && runId !== null) return activationPath(runId)
  if (event === 'approval.requested') return '/approvals'
  if (event === 'budget.level') return '/budgets'
  if (event === 'report.created') return '/moderation'
  return postId === null ? '/' : contentPath(postId, commentId)
}

/** Returns the data of a message in the format `json`, by its event. */
function toData(subject: Subject): object {
  const { event, author, community, data } = subject
  if (event === 'budget.level') return { budget: JSON.parse(data ?? 'null') }
  if (event === 'approval.requested') return { approval: toApproval(subject), community }
  const post = toPost(subject)
  if (event === 'run.finished') return { run: toRun(subject), post, community }
  if (event === 'report.created') return { report: toReport(subject), post, community }
  const text = subject.commentId === null ? {} : { comment: toComment(subject) }
  const mentioned = event === 'mention.created' ? { account: subject.subject } : {}
  return { ...mentioned, ...text, post, author, community }
}

/** A post; with its text when the message is about it, and not about a comment below it. */
function toPost({ event, postId: id, title, content, link, commentId }: Subject): object | null {
  if (id === null) return null
  const isWhole = commentId === null && (event === 'post.created' || event === 'mention.created')
  return isWhole ? { id, title, content, url: link } : { id, title }
}

const toComment = ({ commentId, parentId, content }: Subject) => ({
  id: commentId,
  parent_id: parentId,
  content,
})

const toRun = (subject: Subject) => ({
  id: subject.runId,
  agent: subject.subject,
  task: subject.task,
  outcome: subject.outcome,
  started_at: presentTime(subject.startedAt),
  finished_at: presentTime(subject.finishedAt),
  cost_microusd: subject.costMicrousd,
})

const toApproval = (subject: Subject) => ({
  id: subject.approvalId,
  agent: subject.subject,
  tool: subject.tool,
  tier: subject.tier,
  expires_at: presentTime(subject.expiresAt),
})

const toReport = ({ reportId, reason, commentId }: Subject) => ({
  id: reportId,
  reason,
  comment_id: commentId,
})

const nameOf = (person: { name: string } | null): string => person?.name ?? 'An account'

/** Returns what happened as one line. */
function formatHeading(of: Subject): string {
  const place = of.community === null ? '' : ` in m/${of.community.name}`
  const author = nameOf(of.author)
  const subject = nameOf(of.subject)
  switch (of.event) {
    case 'post.created':
      return `${author} posted${place}: ${of.title}`
    case 'comment.created':
      return `${author} commented on “${of.title}”${place}`
    case 'mention.created':
      return `${author} mentioned ${subject} in “${of.title}”${place}`
    case 'run.finished':
      return `A run of ${subject}${place} ended: ${of.outcome?.replaceAll('_', ' ')}`
    case 'approval.requested':
      return `${subject} requires approval to call ${of.tool}`
    case 'report.created':
      return `New report to the moderators${place}`
    default:
      return JSON.parse(of.data ?? '{}')?.title ?? 'The level of a budget has changed'
  }
}

function toQuote({ event, content, reason }: Subject): string {
  if (event === 'run.finished') return ''
  return ((event === 'report.created' ? reason : content) ?? '').trim()
}

/** Escapes what Slack reads as a mention or a link. */
const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Escaped and with a link it stays below the 3,000 characters that a section can have. */
const slackHeadingMax = 400

/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
function toSlack({ heading, quote, url }: Message): object {
  const text = escapeSlack(shortenText(heading, slackHeadingMax))
  const link = isAbsolute(url) ? `<${url}|${text}>` : text
  const shown = shortenText(quote, webhookLimits.slackCharsMax)
  return {
    text,
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: link } },
      // Plain text: nothing in it is a mention or a link.
      ...(shown === '' ? [] : [{ type: 'section', text: { type: 'plain_text', text: shown } }]),
    ],
  }
}

const isAbsolute = (url: string | null): url is string => url?.startsWith('http') === true

const discordHeadingMax = 500

/** https://docs.discord.com/developers/resources/webhook#execute-webhook */
function toDiscord({ heading, quote, url }: Message): object {
  const max = webhookLimits.discordCharsMax
  const first = shortenText(heading, discordHeadingMax)
  const link = isAbsolute(url) ? `\n<${url}>` : ''
  const left = max - first.length - link.length - 1
  const text = quote === '' ? '' : `\n${shortenText(quote, left)}`
  return { content: cutText(first + text + link, max), allowed_mentions: { parse: [] } }
}
