import { limits } from '../../shared/config'
import type { PostId } from '../../shared/ids'
import { computeHotRank } from '../posts/hot-rank'
import { normaliseName } from './normalise-name'
import { readAuthor, type SourceAuthor } from './read-author'
import { readComments, type SourceComment } from './read-comments'
import { formatIssues, readTime, truncateText } from './read-field'
import { archiveRecord, type CommunityRecord, type PostRecord, postRecord } from './record-schema'
import { toStableId } from './stable-id'

const TITLE_WORDS = 12

export interface SourcePost {
  id: PostId
  community: { name: string; displayName: string; description: string }
  author: SourceAuthor
  title: string
  content: string
  url: string | null
  upvotes: number
  downvotes: number
  hotRank: number
  isLocked: boolean
  createdAt: number
}

export interface SkippedRecord {
  index: number
  id: string | null
  reason: string
}

export type ParsedRecord =
  | { ok: true; post: SourcePost; comments: SourceComment[]; skipped: SkippedRecord[] }
  | { ok: false; skipped: SkippedRecord }

/** Why the import skips a post with valid fields, as admins read it. */
const skipReasons = {
  deleted: 'The post was deleted at its source.',
  empty: 'The post has neither a title nor content.',
  tooLong: 'The content of the post is too long.',
}

/** Converts one record of an archive, or returns why the import skips it. Never throws. */
export async function readRecord(
  record: unknown,
  index: number,
  now: number,
): Promise<ParsedRecord> {
  const found = findPost(record)
  if (typeof found === 'string') return { ok: false, skipped: { index, id: null, reason: found } }
  const { source, comments: list, downloadedAt } = found
  const reason = findSkipReason(source)
  if (reason !== null) {
    const id = source.id == null ? null : String(source.id)
    return { ok: false, skipped: { index, id, reason } }
  }
  const createdAt = readTime(source.created_at ?? source.createdAt) ?? readTime(downloadedAt) ?? now
  const post = await toPost(source, createdAt)
  const { comments, problems } = await readComments(list, { postId: post.id, createdAt })
  const skipped = problems.map(({ id, reason }) => ({ index, id, reason: `Comment: ${reason}` }))
  return { ok: true, post, comments, skipped }
}

interface Found {
  source: PostRecord
  comments: unknown[]
  downloadedAt: string | null | undefined
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
  if (readText(source) === '') return skipReasons.empty
  if ((source.content ?? '').length > limits.storedRowBytesMax / 4) return skipReasons.tooLong
  return null
}

const readText = ({ title, content }: PostRecord): string =>
  (title ?? '').trim() || (content ?? '').trim()

async function toPost(source: PostRecord, createdAt: number): Promise<SourcePost> {
  const text = readText(source)
  const { content, url, upvotes, downvotes } = source
  const votes = { upvotes: Math.max(0, upvotes ?? 0), downvotes: Math.max(0, downvotes ?? 0) }
  const title = (source.title ?? '').trim() || text.split(/\s+/u).slice(0, TITLE_WORDS).join(' ')
  return {
    id: await toStableId('post', source.id, JSON.stringify([text, content, createdAt])),
    community: toCommunity(source.submolt ?? source.community),
    author: await readAuthor(source.author, source.author_id),
    title: truncateText(title, limits.post.titleCharsMax),
    content: content ?? '',
    url: url && /^https?:\/\//i.test(url) ? truncateText(url, limits.post.urlCharsMax) : null,
    ...votes,
    hotRank: computeHotRank(votes.upvotes - votes.downvotes, createdAt),
    isLocked: source.is_locked ?? false,
    createdAt,
  }
}

function toCommunity(record: CommunityRecord | null | undefined): SourcePost['community'] {
  const { name, display_name, displayName, description } =
    typeof record === 'string' ? { name: record.replace(/^m\//i, '') } : (record ?? {})
  const source = name ?? 'general'
  return {
    name: normaliseName(source, 'general'),
    displayName: truncateText(display_name ?? displayName ?? source, 100),
    description: truncateText(description ?? '', limits.community.descriptionCharsMax),
  }
}
