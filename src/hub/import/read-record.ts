import { importLimits, limits } from '../../shared/config'
import { computeHotRank } from '../posts/hot-rank'
import { quote, type RecordReport, type SourceId } from './import-report'
import { normaliseName } from './normalise-name'
import { readAuthor, type SourceAuthor } from './read-author'
import { type Reading, readComments, type SourceComment } from './read-comments'
import { formatIssues, type Note, parseTime, readCount, readText, readTime } from './read-field'
import {
  archiveRecord,
  type CommunityRecord,
  type PostRecord,
  postRecord,
  type TimeField,
} from './record-schema'
import { toSourceKey } from './source-key'

const TITLE_WORDS = 12

export interface SourceCommunity {
  /** A valid name of a community. */
  name: string
  /** The name at the source. */
  sourceName: string
  displayName: string
  description: string
}

export interface SourcePost {
  /** Of the post at its source, for the report. */
  sourceId: SourceId
  key: string
  community: SourceCommunity
  author: SourceAuthor
  title: string
  content: string
  url: string | null
  upvotes: number
  downvotes: number
  hotRank: number
  isLocked: boolean
  /** As its source says it; null when it does not. */
  sourceTime: number | null
  createdAt: number
}

export interface SourceRecord {
  /** Position in the archive. */
  index: number
  post: SourcePost
  comments: SourceComment[]
  report: RecordReport
}

/** Why the import skips a post with valid fields, as admins read it. */
const skipReasons = {
  deleted: 'The post was deleted at its source.',
  empty: 'The post has neither a title nor content.',
  tooLong: `The post is longer than ${importLimits.textCharsMax} characters.`,
}

/** Converts one record of an archive; null, with the reason in the report, when the import skips it. Never throws. */
export async function readRecord(
  record: unknown,
  index: number,
  reading: Reading,
  report: RecordReport,
): Promise<SourceRecord | null> {
  const found = findPost(record)
  if (typeof found === 'string') {
    report.skip(null, found)
    return null
  }
  const { source, comments: list, downloadedAt } = found
  const reason = findSkipReason(source)
  if (reason !== null) {
    report.skip(source.id, reason)
    return null
  }
  const note = (text: string) => report.change(source.id, text)
  const time = source.created_at ?? source.createdAt
  const sourceTime = parseTime(time) ?? parseTime(downloadedAt)
  const { now } = reading
  const createdAt = readTime(time, now, note) ?? readTime(downloadedAt, now, note) ?? now
  const post = await toPost(source, { sourceTime, createdAt }, note)
  const place = { id: source.id, key: post.key, sourceTime, createdAt }
  return { index, post, comments: await readComments(list, place, reading, report), report }
}

interface Found {
  source: PostRecord
  comments: unknown[]
  downloadedAt: TimeField
}

/** Returns the post of a record, or the reason why the record is invalid. */
function findPost(record: unknown): Found | string {
  const envelope = archiveRecord.safeParse(record)
  if (!envelope.success) return formatIssues(envelope.error)
  const { post, comments, _downloaded_at: downloadedAt } = envelope.data
  if (post) return { source: post, comments: comments ?? [], downloadedAt }
  // Some archives contain plain posts, without the API response around them.
  const bare = postRecord.safeParse(record)
  if (!bare.success) return formatIssues(bare.error)
  return { source: bare.data, comments: comments ?? [], downloadedAt }
}

/** Returns why a post with valid fields is skipped; null when it is not. */
function findSkipReason(source: PostRecord): string | null {
  if (source.is_deleted) return skipReasons.deleted
  if (getText(source) === '') return skipReasons.empty
  if ((source.content ?? '').length > importLimits.textCharsMax) return skipReasons.tooLong
  return null
}

const getText = ({ title, content }: PostRecord): string =>
  (title ?? '').trim() || (content ?? '').trim()

async function toPost(
  source: PostRecord,
  { sourceTime, createdAt }: Pick<SourcePost, 'sourceTime' | 'createdAt'>,
  note: Note,
): Promise<SourcePost> {
  const text = getText(source)
  const upvotes = readCount(source.upvotes, 'upvotes', note)
  const downvotes = readCount(source.downvotes, 'downvotes', note)
  const title = (source.title ?? '').trim() || text.split(/\s+/u).slice(0, TITLE_WORDS).join(' ')
  return {
    sourceId: source.id,
    key: await toSourceKey('post', source.id, JSON.stringify([text, source.content, sourceTime])),
    community: toCommunity(source.submolt ?? source.community, note),
    author: await readAuthor(source.author, source.author_id, note),
    title: readText(title, 'title', limits.post.titleCharsMax, note),
    content: readText(source.content ?? '', 'text', importLimits.textCharsMax, note),
    url: readUrl(source.url, note),
    ...{ upvotes, downvotes, hotRank: computeHotRank(upvotes - downvotes, createdAt) },
    isLocked: source.is_locked ?? false,
    sourceTime,
    createdAt,
  }
}

/** Returns a link that the hub shows; a shortened one would lead elsewhere. */
function readUrl(url: string | null | undefined, note: Note): string | null {
  if (!url) return null
  const isShown = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  if (isShown && url.length <= limits.post.urlCharsMax) return url
  note(
    `The link ${quote(url)} was left out: links are http or https, and at most ${limits.post.urlCharsMax} characters.`,
  )
  return null
}

function toCommunity(record: CommunityRecord | null | undefined, note: Note): SourceCommunity {
  const { name, display_name, displayName, description } =
    typeof record === 'string' ? { name: record } : (record ?? {})
  const sourceName = (name ?? 'general').replace(/^m\//i, '').trim()
  return {
    name: normaliseName(sourceName) ?? 'general',
    sourceName,
    displayName: readText(
      display_name ?? displayName ?? sourceName,
      'name of the community',
      100,
      note,
    ),
    description: readText(
      description ?? '',
      'description of the community',
      limits.community.descriptionCharsMax,
      note,
    ),
  }
}
