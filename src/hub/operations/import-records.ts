import type { ZodError } from 'zod'
import * as z from 'zod'
import { importLimits, limits } from '../../shared/config'
import { isUuid } from '../../shared/ids'
import { sha256 } from '../../shared/sha256'
import { computeHotRank } from '../rules/hot-rank'

/**
 * Returns the key of a record within its source, under which an import finds it again: the source's id when it is a
 * UUID; otherwise a UUID version 8 (RFC 9562) derived from the source's id, or from `identity` when it has none. It
 * is never an id of this hub.
 */
async function toSourceKey(
  kind: string,
  sourceId: string | number | null | undefined,
  identity: string,
): Promise<string> {
  if (typeof sourceId === 'string' && isUuid(sourceId)) return sourceId.toLowerCase()
  const hex = await sha256(`${kind}\0${hasId(sourceId) ? String(sourceId) : identity}`)
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}

/** Whether a record has an id; an empty text is none. */
const hasId = (id: string | number | null | undefined): id is string | number =>
  id != null && id !== ''

/**
 * Converts a name of a source to letters, digits, `_` and single hyphens, at most 32, that begin with a letter or digit.
 * Removes accents; each run of other characters becomes one hyphen. Returns null when fewer than two characters are left.
 */
export function normaliseName(name: string): string | null {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^[-_]+/, '')
    .slice(0, 32)
    .replace(/-+$/, '')
  return plain.length >= 2 ? plain : null
}

/** Appends the end of an id to a name. */
export const distinguishName = (name: string, id: string): string =>
  `${name.slice(0, 25).replace(/-+$/, '')}-${id.slice(-6)}`

interface ImportCounts {
  posts: number
  comments: number
  accounts: number
  communities: number
}

/** What an import left out or changed, as admins read it. */
interface ReportEntry {
  /** Position in the archive. */
  index: number
  /** Of the post or comment at its source; null when it has none. */
  id: string | null
  reason: string
}

const idCharsMax = 100
const reasonCharsMax = 500

/** Collects what an import does. */
export class ImportReport {
  readonly imported: ImportCounts = { posts: 0, comments: 0, accounts: 0, communities: 0 }
  readonly skipped: ReportEntry[] = []
  readonly changed: ReportEntry[] = []
  /** Entries for which the lists have no room. */
  notListed = 0
  /** Records that already existed completely. */
  unchanged = 0

  /** Returns the part of the report of one record. */
  of(index: number): RecordReport {
    const addTo = (list: ReportEntry[]) => (id: SourceId, reason: string) => {
      if (list.length === importLimits.reportEntriesMax) this.notListed++
      else list.push({ index, id: showId(id), reason: reason.slice(0, reasonCharsMax) })
    }
    return { skip: addTo(this.skipped), change: addTo(this.changed) }
  }
}

type SourceId = string | number | null | undefined

/** Notes what an import leaves out or changes of one record, with the id of the post or comment. */
interface RecordReport {
  skip(id: SourceId, reason: string): void
  change(id: SourceId, reason: string): void
}

const showId = (id: SourceId): string | null =>
  id == null ? null : String(id).slice(0, idCharsMax)

/** Quotes a value of an archive, shortened. */
export const quote = (value: unknown): string => `“${String(value).slice(0, 80)}”`

/**
 * Schemas of an archive's records: a post as the API of a public agent network returns it, with the
 * older or the newer fields, in snake or camel case. Unknown fields are ignored.
 */
const text = z.string().nullish()
const count = z.number().int().nullish()
const flag = z.boolean().nullish()
/** A number with a fraction, or one that lost digits before it was sent, is no id. */
const id = z.union([z.string(), z.int()]).nullish()
/** A date as text, or seconds or milliseconds since the Unix epoch. */
const time = z.union([z.string(), z.number()]).nullish()

const author = z.union([
  z.string(),
  z.object({
    id,
    name: text,
    display_name: text,
    displayName: text,
    description: text,
    karma: z.number().nullish(),
  }),
])

const community = z.union([
  z.string(),
  z.object({ id, name: text, display_name: text, displayName: text, description: text }),
])

const postRecord = z.object({
  id,
  title: text,
  content: text,
  url: text,
  author: author.nullish(),
  author_id: id,
  submolt: community.nullish(),
  community: community.nullish(),
  upvotes: count,
  downvotes: count,
  is_locked: flag,
  is_deleted: flag,
  created_at: time,
  createdAt: time,
})

const archiveRecord = z.object({
  post: postRecord.nullish(),
  comments: z.array(z.unknown()).nullish(),
  _downloaded_at: time,
})

const commentRecord = z.object({
  id,
  content: text,
  author: author.nullish(),
  author_id: id,
  parent_id: id,
  parentId: id,
  upvotes: count,
  downvotes: count,
  is_deleted: flag,
  created_at: time,
  createdAt: time,
  replies: z.array(z.unknown()).nullish(),
})

type PostRecord = z.output<typeof postRecord>
type CommentRecord = z.output<typeof commentRecord>
type AuthorRecord = z.output<typeof author>
type CommunityRecord = z.output<typeof community>
type TimeField = z.output<typeof time>

/** Notes that an import changes a field. */
export type Note = (reason: string) => void

/** Returns a text as it can be stored: Unicode without NUL characters, and not too long. */
function readText(text: string, what: string, charsMax: number, note: Note): string {
  const clean = text.toWellFormed().replaceAll('\0', '\uFFFD')
  if (clean !== text) note(`The ${what} has characters that are not text. They were replaced.`)
  if (clean.length > charsMax) note(`The ${what} was shortened to ${charsMax} characters.`)
  return truncateText(clean, charsMax)
}

/** Truncates a text to at most `chars` UTF-16 units, without splitting a surrogate pair. */
const truncateText = (text: string, chars: number): string =>
  text.length <= chars ? text : text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, '')

/** Below this a number is a date in seconds: in milliseconds it would be before March 1973. */
const secondsMax = 100_000_000_000

/** Parses a date as milliseconds since the Unix epoch; null when it is missing, not a date, or before 1970. */
function parseTime(value: TimeField): number | null {
  const at = typeof value === 'number' || /^\d{9,}$/.test(value ?? '') ? toMs(value) : parse(value)
  return Number.isFinite(at) && at >= 0 && at <= 8.64e15 ? at : null
}

const toMs = (value: TimeField): number =>
  Math.round(Number(value) < secondsMax ? Number(value) * 1000 : Number(value))

/** Without a year in four digits, engines read dates into any text that ends with a number. */
const parse = (text: string | null | undefined): number =>
  text && /\b\d{4}\b|^\d{4}/.test(text) ? Date.parse(text) : Number.NaN

/** Parses a date; null when there is none that can be used. A date in the future becomes `now`. */
function readTime(value: TimeField, now: number, note: Note): number | null {
  if (value == null || value === '') return null
  const at = parseTime(value)
  if (at === null) note(`The date ${quote(value)} cannot be read. Another one was used.`)
  if (at === null || at <= now) return at
  note(`The date ${quote(value)} is in the future. The time of the import was used.`)
  return now
}

/** Far more than any post gets; sums of such counts stay exact. */
const countMax = 1_000_000_000

/** Returns a count from 0, or from `-countMax` for a balance. */
function readCount(
  value: number | null | undefined,
  what: string,
  note: Note,
  min: 0 | -1 = 0,
): number {
  const count = Math.round(value ?? 0)
  const limited = Math.min(Math.max(count, min * countMax), countMax)
  if (limited !== count) note(`The number of ${what} ${quote(value)} was set to ${limited}.`)
  return limited
}

/** Formats the first three issues of an invalid record as one line. */
const formatIssues = (error: ZodError): string =>
  error.issues
    .slice(0, 3)
    .map(({ path, message }) => `${path.map(String).join('.') || 'record'}: ${message}`)
    .join('; ')

export interface SourceAuthor {
  key: string
  /**
   * The key of authors who have this name and no id. An author with an id is found under both, because archives
   * name the same author with and without it.
   */
  nameKey: string
  /** The name at the source; '' when there is none. */
  name: string
  displayName: string
  description: string
  karma: number
}

/** Reads the author of a record. Authors without id and name are one, `unknown`. */
async function readAuthor(
  record: AuthorRecord | null | undefined,
  authorId: string | number | null | undefined,
  note: Note,
): Promise<SourceAuthor> {
  const author = typeof record === 'string' ? { name: record } : (record ?? {})
  const sourceId = hasId(author.id) ? author.id : authorId
  const name = readText((author.name ?? '').trim(), 'name of the author', 100, note)
  const identity = name.toLowerCase() || 'unknown'
  const key = await toSourceKey('author', sourceId, identity)
  const isNameless = name === '' && hasId(sourceId)
  const shown = (author.display_name ?? author.displayName ?? '').trim() || name
  return {
    key,
    nameKey: isNameless ? key : await toSourceKey('author', null, identity),
    name: isNameless ? '' : name || 'unknown',
    displayName: readText(shown, 'display name of the author', 60, note),
    description: readText(
      author.description ?? '',
      'description of the author',
      limits.account.descriptionCharsMax,
      note,
    ),
    karma: readCount(author.karma, 'points of the author', note, -1),
  }
}

/**
 * The key of a comment, and the key that it had in an earlier version of the hub. An id counts within its post, because
 * some sources number the comments of each post.
 */
export type CommentKeys = readonly [string, ...string[]]

export interface SourceComment {
  /** Of the comment at its source, for the report. */
  sourceId: SourceId
  keys: CommentKeys
  /** Keys of the comment that it replies to; null for the post. */
  parentKeys: CommentKeys | null
  author: SourceAuthor
  content: string
  upvotes: number
  downvotes: number
  createdAt: number
  /** Deleted or empty. The comment is kept only when it has replies. */
  isDeleted: boolean
}

interface Post {
  id: SourceId
  key: string
  /** As its source says it; null when it does not. */
  sourceTime: number | null
  createdAt: number
}

/** What is read of a request. */
interface Reading {
  now: number
  /** Comments that may still be read. */
  commentsLeft: number
}

interface Unread {
  raw: unknown
  /** Keys of the comment that it is nested in. */
  parentKeys: CommentKeys | null
}

/**
 * Returns the comments of a post, parents before their replies, from nested records or from a list with
 * `parent_id` in any order. Invalid comments are left out; replies nested in them move up to the comment above.
 */
async function readComments(
  list: unknown[],
  post: Post,
  reading: Reading,
  report: RecordReport,
): Promise<SourceComment[]> {
  const comments = new Map<string, SourceComment>()
  // An explicit stack, because an archive can be nested deeper than the call stack allows.
  const unread: Unread[] = list.map((raw) => ({ raw, parentKeys: null })).reverse()
  for (let next = unread.pop(); next; next = unread.pop()) {
    if (reading.commentsLeft === 0) {
      report.skip(post.id, commentSkipReasons.tooMany)
      break
    }
    reading.commentsLeft--
    const comment = await readComment(next, post, reading.now, report)
    if (comment) addComment(comments, comment, report)
    const parentKeys = comment?.keys ?? next.parentKeys
    for (const raw of readReplies(next.raw).reverse()) unread.push({ raw, parentKeys })
  }
  await freeFromPost(comments, post)
  return keepComments(orderComments(comments, report), report)
}

/** Why the import skips a comment, as admins read it. */
const commentSkipReasons = {
  tooMany: `The rest of its comments were left out: a request has at most ${importLimits.commentsMax}. Import the post again in a request of its own.`,
  sameId: 'Comment: Another comment of the post has the same id.',
  twice: 'Comment: It is in the post twice, with the same date.',
  empty: 'Comment: It is empty, or was deleted at its source.',
}

async function readComment(
  { raw, parentKeys: nested }: Unread,
  post: Post,
  now: number,
  report: RecordReport,
): Promise<SourceComment | null> {
  const parsed = commentRecord.safeParse(raw)
  if (!parsed.success) {
    report.skip(readId(raw), `Comment: ${formatIssues(parsed.error)}`)
    return null
  }
  const { data: record } = parsed
  const note = (reason: string) => report.change(record.id ?? post.id, `Comment: ${reason}`)
  const time = record.created_at ?? record.createdAt
  const content = readText(record.content ?? '', 'text', importLimits.textCharsMax, note)
  const parentKeys = nested ?? (await readParent(record, post))
  const at = parseTime(time) ?? post.sourceTime
  const identity = JSON.stringify([post.key, parentKeys?.at(-1) ?? null, content, at])
  return {
    sourceId: record.id,
    keys: await toKeys(record.id, post, identity),
    parentKeys,
    author: await readAuthor(record.author, record.author_id, note),
    content,
    upvotes: readCount(record.upvotes, 'upvotes', note),
    downvotes: readCount(record.downvotes, 'downvotes', note),
    createdAt: readTime(time, now, note) ?? post.createdAt,
    isDeleted: record.is_deleted === true || content.trim() === '',
  }
}

async function toKeys(id: SourceId, post: Post, identity: string): Promise<CommentKeys> {
  const key = await toSourceKey('comment', id, identity)
  if (!hasId(id) || isUuid(String(id))) return [key]
  return [await toSourceKey('comment', null, JSON.stringify([post.key, String(id)])), key]
}

/** What sources write as the parent of a comment that has none. */
const noParent = ['', '0', '-1', 'false', 'null']

/** Returns the keys of the comment that a record of a flat list names as its parent; null for none. */
async function readParent(record: CommentRecord, post: Post): Promise<CommentKeys | null> {
  const named = record.parent_id ?? record.parentId
  return named == null || noParent.includes(String(named)) ? null : toKeys(named, post, '')
}

/** Some sources write the id of the post as the parent of its comments; a comment can have the same id. */
async function freeFromPost(comments: Map<string, SourceComment>, post: Post): Promise<void> {
  if (!hasId(post.id)) return
  const [key] = await toKeys(post.id, post, '')
  if (comments.has(key)) return
  for (const comment of comments.values()) {
    if (comment.parentKeys?.[0] === key) comment.parentKeys = null
  }
}

function addComment(
  comments: Map<string, SourceComment>,
  comment: SourceComment,
  report: RecordReport,
): void {
  const [key] = comment.keys
  const first = comments.get(key)
  if (!first) {
    comments.set(key, comment)
    return
  }
  // Some sources list a comment twice: flat, and nested in its parent.
  first.parentKeys ??= comment.parentKeys?.[0] === key ? null : comment.parentKeys
  if (first.content !== comment.content) report.skip(comment.sourceId, commentSkipReasons.sameId)
  else if (!hasId(comment.sourceId)) {
    report.skip(null, `${commentSkipReasons.twice} ${quote(comment.content)}`)
  }
}

function readReplies(raw: unknown): unknown[] {
  const replies = typeof raw === 'object' && raw !== null && 'replies' in raw ? raw.replies : null
  return Array.isArray(replies) ? [...replies] : []
}

function readId(raw: unknown): SourceId {
  const id = typeof raw === 'object' && raw !== null && 'id' in raw ? raw.id : null
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

/** Leaves out deleted comments below which nothing is left. @param comments parents before their replies */
function keepComments(comments: SourceComment[], report: RecordReport): SourceComment[] {
  const parents = new Set<string>()
  const kept = comments.toReversed().filter((comment) => {
    const isKept = !comment.isDeleted || parents.has(comment.keys[0])
    if (!isKept) report.skip(comment.sourceId, commentSkipReasons.empty)
    else if (comment.parentKeys) parents.add(comment.parentKeys[0])
    return isKept
  })
  return kept.reverse()
}

/**
 * Returns comments with parents before their replies, else in the order of the archive. Of comments that are replies to
 * one another in a circle, one becomes a comment on the post.
 *
 * @param comments by their first key
 */
function orderComments(
  comments: Map<string, SourceComment>,
  report: RecordReport,
): SourceComment[] {
  const replies = Map.groupBy(comments.values(), ({ parentKeys }) => parentKeys?.[0])
  const ordered = new Set<SourceComment>()
  const addWithReplies = (root: SourceComment) => {
    const waiting = [root]
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      if (ordered.has(next)) continue
      ordered.add(next)
      for (const reply of (replies.get(next.keys[0]) ?? []).toReversed()) waiting.push(reply)
    }
  }
  for (const comment of comments.values()) {
    if (!comments.has(comment.parentKeys?.[0] ?? '')) addWithReplies(comment)
  }
  for (const comment of comments.values()) {
    if (ordered.has(comment)) continue
    const first = findInCircle(comments, comment)
    first.parentKeys = null
    report.change(
      first.sourceId,
      'Comment: It is a reply to one of its own replies. It became a comment on the post.',
    )
    addWithReplies(first)
  }
  return [...ordered]
}

/** Follows the parents of a comment from which no way leads to the post, until one comes again. */
function findInCircle(comments: Map<string, SourceComment>, start: SourceComment): SourceComment {
  const seen = new Set<SourceComment>()
  let at = start
  while (!seen.has(at)) {
    seen.add(at)
    at = comments.get(at.parentKeys?.[0] ?? '') ?? at
  }
  return at
}

const TITLE_WORDS = 12

interface SourceCommunity {
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
    upvotes,
    downvotes,
    hotRank: computeHotRank(upvotes - downvotes, createdAt),
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
