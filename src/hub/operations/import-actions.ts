import { importLimits, limits } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import { AppError } from '../../shared/errors'
import type { AccountId, Clock, CommentId, CommunityId, PostId } from '../../shared/ids'
import { createNameCheck } from '../accounts/names'
import { selectStaffNames } from '../accounts/queries'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { findFailedConstraint } from '../database/constraint-errors'
import {
  addToCommentCounts,
  addToPostCounts,
  type Existing,
  type GroupKeys,
  type Importer,
  insertAuthors,
  insertComments,
  insertCommunities,
  insertImported,
  insertPosts,
  type NewAuthor,
  type NewComment,
  type NewCommunity,
  type NewPost,
  type NewRecord,
  selectExisting,
} from './import-queries'
import {
  type CommentKeys,
  distinguishName,
  ImportReport,
  type Note,
  normaliseName,
  quote,
  readRecord,
  type SourceAuthor,
  type SourceComment,
  type SourcePost,
  type SourceRecord,
} from './import-records'

/** Errors of imports, as admins read them. */
const importErrors = {
  otherImport: () =>
    new AppError('CONFLICT', 'Another import is writing the same records.', {
      hint: 'Import again when it is finished: what is there already is found again.',
    }),
}

/** A record with the comments that a group writes of it; a record with many is in several groups. */
interface GroupItem {
  record: SourceRecord
  comments: SourceComment[]
  isFirst: boolean
}

/** What a group writes, and what to report once it is written. */
interface Plan {
  communities: NewCommunity[]
  authors: NewAuthor[]
  posts: NewPost[]
  comments: NewComment[]
  records: NewRecord[]
  /** Indexes of records that were not there completely. */
  touched: number[]
  notes: (() => void)[]
}

type StoredPost = Omit<Existing['posts'][number], 'key'>
type StoredComment = Omit<Existing['comments'][number], 'key'>
type Authored<Row> = Omit<Row, 'authorId'> & { authorKey: string }

/** A plan without accounts, and what is there or planned, by key or name. */
interface Draft {
  plan: Omit<Plan, 'authors' | 'posts' | 'comments'>
  posts: Authored<NewPost>[]
  comments: Authored<NewComment>[]
  writing: WritingAuthor[]
  knownPosts: Map<string, StoredPost>
  knownComments: Map<string, StoredComment>
  places: Map<string, Omit<Existing['communities'][number], 'name'>>
}

/** Why something is left out or changed, as admins read it. */
const reasons = {
  closed: (community: string) =>
    `You do not read m/${community}, or must not write there. Import the post into another community.`,
  system: (community: string) =>
    `Only the hub itself posts in m/${community}. Import the post into another community.`,
  elsewhere: 'The post was imported before, into a community that you do not read.',
  deleted: 'The post was imported before, and was deleted here.',
  otherPost:
    'Another post with this id was imported before. If this one comes from another source, name the source.',
  otherText: 'The post was imported before with another text, which stays.',
  locked: 'The thread was locked here, so new comments were left out.',
  otherThread: 'Comment: A comment with this id was imported before, in another post.',
  noParent: 'Comment: What it replies to was not found. It became a comment on the post.',
}

/** Decides what an import writes of a group, from what was there before. */
function planGroup(items: GroupItem[], existing: Existing, naming: Naming): Plan {
  const draft: Draft = {
    plan: { communities: [], records: [], touched: [], notes: [] },
    posts: [],
    comments: [],
    writing: [],
    knownPosts: new Map(existing.posts.map((post) => [post.key, post])),
    knownComments: new Map(existing.comments.map((comment) => [comment.key, comment])),
    places: new Map(existing.communities.map((place) => [place.name.toLowerCase(), place])),
  }
  for (const item of items) planItem(draft, item, naming)
  const { ids, authors, records } = assignAccounts(draft.writing, existing, naming)
  const withAuthor = <Row>({ authorKey, ...row }: Row & { authorKey: string }) => {
    const authorId = ids.get(authorKey)
    if (!authorId) throw new Error('Every author has an account.')
    return { ...row, authorId }
  }
  return {
    ...draft.plan,
    authors,
    posts: draft.posts.map(withAuthor),
    comments: draft.comments.map(withAuthor),
    records: [...draft.plan.records, ...records],
  }
}

function planItem(draft: Draft, item: GroupItem, naming: Naming): void {
  const { record, isFirst } = item
  const { post, report } = record
  const { touched, notes } = draft.plan
  const skip = (reason: string) => {
    if (isFirst) notes.push(() => report.skip(post.sourceId, reason))
  }
  const known = draft.knownPosts.get(post.key)
  const refusal = findRefusal(draft, record, known)
  if (refusal !== null) {
    skip(refusal)
    touched.push(record.index)
    return
  }
  if (known && !hasSameText(known, record)) skip(reasons.otherText)
  const { id, isLocked } = known ?? planPost(draft, record, naming)
  const added = item.comments.filter(({ keys }) => !findComment(draft, keys, id))
  // A source locks a thread after its comments; who locks it here wants no more of them.
  if (!known || added.length > 0) touched.push(record.index)
  if (!isLocked || post.isLocked) {
    for (const comment of added) planComment(draft, record, comment, id, naming)
  } else if (added.length > 0) skip(reasons.locked)
}

/** Returns why a record is not imported; null when it is. @param known its post, if that was imported before */
function findRefusal(
  draft: Draft,
  record: SourceRecord,
  known: StoredPost | undefined,
): string | null {
  if (!known) return findPlaceRefusal(draft, record)
  const { sourceTime } = record.post
  if (known.isDeleted) return reasons.deleted
  if (!known.canRead || known.refusal !== null) return reasons.elsewhere
  const isSame = hasSameText(known, record) || known.createdAt === sourceTime
  return isSame ? null : reasons.otherPost
}

const hasSameText = (known: StoredPost, { post }: SourceRecord): boolean =>
  known.title === post.title && known.content === post.content

function findPlaceRefusal({ places }: Draft, { post }: SourceRecord): string | null {
  const { name } = post.community
  const place = places.get(name)
  if (place?.refusal === 'writing_system') return reasons.system(name)
  return place && (!place.canRead || place.refusal !== null) ? reasons.closed(name) : null
}

function planPost(draft: Draft, { post, report }: SourceRecord, { newId }: Naming): StoredPost {
  const { title, content, url, upvotes, downvotes, hotRank, isLocked, createdAt } = post
  const note = (reason: string) => {
    draft.plan.notes.push(() => report.change(post.sourceId, reason))
  }
  const id = newId<PostId>(createdAt)
  const communityId = findPlace(draft, post.community, note, { newId, createdAt })
  const row = { id, communityId, title, content, url, upvotes, downvotes, hotRank, isLocked }
  draft.posts.push({ ...row, createdAt, authorKey: post.author.key })
  draft.writing.push({ author: post.author, createdAt, note })
  draft.plan.records.push({ kind: 'post', key: post.key, id })
  const known = { id, title, content, createdAt, isLocked: false, isDeleted: false }
  draft.knownPosts.set(post.key, { ...known, canRead: true, refusal: null })
  return { ...known, canRead: true, refusal: null }
}

/** Returns the community of a post; one that is not there yet is planned. */
function findPlace(
  { places, plan }: Draft,
  { name, sourceName, displayName, description }: SourceRecord['post']['community'],
  note: (reason: string) => void,
  { newId, createdAt }: Pick<Naming, 'newId'> & { createdAt: number },
): CommunityId {
  const known = places.get(name)
  if (name !== sourceName.toLowerCase()) {
    note(`The community ${quote(sourceName)} is m/${name} here.`)
  }
  if (known) return known.id
  const id = newId<CommunityId>()
  places.set(name, { id, canRead: true, refusal: null })
  plan.communities.push({ id, name, displayName, description, createdAt })
  return id
}

function planComment(
  draft: Draft,
  { report }: SourceRecord,
  comment: SourceComment,
  postId: PostId,
  { newId }: Naming,
): void {
  const { sourceId, keys, parentKeys, author, content, upvotes, downvotes, createdAt } = comment
  const [key] = keys
  const elsewhere = draft.knownComments.get(key)
  if (elsewhere) {
    // Without a post it was deleted since.
    if (elsewhere.postId !== null) {
      draft.plan.notes.push(() => report.skip(sourceId, reasons.otherThread))
    }
    return
  }
  const note = (reason: string) => {
    draft.plan.notes.push(() => report.change(sourceId, reason))
  }
  const parent = parentKeys && findComment(draft, parentKeys, postId)
  if (parentKeys && !parent) note(reasons.noParent)
  const id = newId<CommentId>(createdAt)
  const place = { postId, ...toPlace(parent) }
  const deletedAt = comment.isDeleted ? createdAt : null
  draft.comments.push({
    id,
    ...place,
    content,
    upvotes,
    downvotes,
    createdAt,
    deletedAt,
    authorKey: author.key,
  })
  draft.writing.push({ author, createdAt, note })
  draft.plan.records.push({ kind: 'comment', key, id })
  draft.knownComments.set(key, { id, ...place })
}

const findComment = (
  { knownComments }: Draft,
  keys: CommentKeys,
  postId: PostId,
): StoredComment | undefined =>
  keys.map((key) => knownComments.get(key)).find((known) => known?.postId === postId)

/** Replies below the maximum depth become siblings, as for new comments. */
function toPlace(parent: StoredComment | null | undefined): Pick<NewComment, 'parentId' | 'depth'> {
  if (!parent) return { parentId: null, depth: 0 }
  return parent.depth >= limits.comment.depthMax
    ? { parentId: parent.parentId, depth: parent.depth }
    : { parentId: parent.id, depth: parent.depth + 1 }
}

/** Names that an account of an author can get, the wanted one first. */
export const listNames = (author: Pick<SourceAuthor, 'key' | 'name'>): string[] => [
  ...listOwnNames(author),
  ...[-6, -12].map((at) => `agent-${author.key.slice(at)}`),
]

function listOwnNames({ key, name }: Pick<SourceAuthor, 'key' | 'name'>): string[] {
  const own = normaliseName(name)
  return own === null ? [] : [own, distinguishName(own, key)]
}

/** The author of a post or comment that is written. */
interface WritingAuthor {
  author: SourceAuthor
  createdAt: number
  note: Note
}

interface Naming {
  newId: Clock['newId']
  /** Returns why registration refuses a name. */
  checkName: ReturnType<typeof createNameCheck>
}

interface Accounts {
  /** By the author's key. */
  ids: Map<string, AccountId>
  authors: NewAuthor[]
  records: NewRecord[]
}

/**
 * Assigns an account to every author: the one that an earlier import made of the author, or a new one, never one of
 * somebody on this hub. A new one gets the first of its names that is free and that anybody could register.
 */
function assignAccounts(writing: WritingAuthor[], existing: Existing, naming: Naming): Accounts {
  const ids = new Map(existing.authors.map(({ key, id }) => [key, id]))
  const known = new Map(existing.authors.map((author) => [author.key, author.displayName]))
  const taken = new Set(existing.names.map(({ name }) => name.toLowerCase()))
  const accounts: Accounts = { ids, authors: [], records: [] }
  const add = (key: string, id: AccountId) => {
    if (ids.has(key)) return
    ids.set(key, id)
    accounts.records.push({ kind: 'author', key, id })
  }
  // Authors with an id come first, so that authors with only a name can be found among them.
  const isByName = ({ author }: WritingAuthor) => Number(author.key === author.nameKey)
  for (const each of writing.toSorted((one, other) => isByName(one) - isByName(other))) {
    const { key, nameKey } = each.author
    if (ids.has(key)) {
      noteRename(each, known.get(key))
      known.delete(key)
      continue
    }
    const account = createAuthor(each, taken, naming)
    accounts.authors.push(account)
    add(key, account.id)
    add(nameKey, account.id)
  }
  return accounts
}

function createAuthor(
  { author, createdAt, note }: WritingAuthor,
  taken: Set<string>,
  { newId, checkName }: Naming,
): NewAuthor {
  const id = newId<AccountId>()
  const own = listOwnNames(author)
  const refusal = own[0] === undefined ? null : checkName(own[0])
  // Nor a name that only begins like one that is refused.
  const names = refusal ? listNames(author).slice(own.length) : listNames(author)
  const free = names.find((each) => !taken.has(each) && checkName(each) === null)
  const name = free ?? `agent-${id.slice(-12)}`
  taken.add(name)
  if (name !== author.name.toLowerCase()) {
    const why = refusal ? ` ${refusal.message}` : ''
    note(`The author ${quote(author.name)} became @${name}.${why}`)
  }
  // A name that must not be registered must not be shown for the account either.
  const displayName = (refusal === null && author.displayName) || name
  const { description, karma } = author
  return { id, name, displayName, description, karma, createdAt }
}

function noteRename({ author, note }: WritingAuthor, known: string | null | undefined): void {
  const { displayName } = author
  if (known == null || displayName === '' || displayName === known) return
  note(`The author ${quote(displayName)} was imported before as ${quote(known)}, which stays.`)
}

/** An import that runs: who imports, and what has been done so far. */
interface RunningImport {
  importer: Importer
  checkName: Naming['checkName']
  report: ImportReport
  /** Indexes of records that were not there completely. */
  touched: Set<number>
}

/** How often a group is planned anew when somebody else has written one of its rows meanwhile. */
const attemptsMax = 3

/**
 * Imports one group: one batch reads what is there, another one inserts what is missing.
 *
 * @throws CONFLICT when other imports keep writing the same rows
 */
async function importGroup(
  context: ActionContext,
  running: RunningImport,
  items: GroupItem[],
): Promise<void> {
  const { db, clock } = context
  const { importer, checkName, report } = running
  const keys = listKeys(items)
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const existing = await batch(db, selectExisting(importer, keys, clock.now()))
    const plan = planGroup(items, existing, { newId: clock.newId, checkName })
    if (await isWritten(context, importer.source, plan)) {
      for (const note of plan.notes) note()
      for (const index of plan.touched) running.touched.add(index)
      report.imported.posts += plan.posts.length
      report.imported.comments += plan.comments.length
      report.imported.accounts += plan.authors.length
      report.imported.communities += plan.communities.length
      return
    }
  }
  throw importErrors.otherImport()
}

function listKeys(items: GroupItem[]): GroupKeys {
  const comments = items.flatMap((item) => item.comments)
  const posts = items.map(({ record }) => record.post)
  const authors = [...posts, ...comments].map(({ author }) => author)
  return {
    authors: unique(authors.flatMap(({ key, nameKey }) => [key, nameKey])),
    posts: unique(posts.map(({ key }) => key)),
    comments: unique(comments.flatMap(({ keys, parentKeys }) => [...keys, ...(parentKeys ?? [])])),
    communities: unique(posts.map(({ community }) => community.name)),
    names: unique(authors.flatMap(listNames)),
  }
}

const unique = (values: string[]): string[] => [...new Set(values)]

/** Columns in which rows of a group can meet those of somebody else. */
const shared = ['imported_records.source', 'accounts.name', 'communities.name']

/** Writes a group; false when somebody else has written one of its rows since it was planned. */
async function isWritten({ db }: ActionContext, source: string, plan: Plan): Promise<boolean> {
  if (plan.records.length === 0) return true
  const shown = plan.comments.filter(({ deletedAt }) => deletedAt === null)
  try {
    await batch(db, {
      records: insertImported(source, plan.records),
      communities: insertCommunities(plan.communities),
      authors: insertAuthors(plan.authors),
      posts: insertPosts(plan.posts),
      comments: insertComments(plan.comments),
      commentCounts: addToCommentCounts(shown.map(({ postId }) => postId)),
      postCounts: addToPostCounts(plan.posts.map(({ communityId }) => communityId)),
    })
    return true
  } catch (error) {
    if (shared.includes(findFailedConstraint(error) ?? '')) return false
    throw error
  }
}

/**
 * Imports an archive. Its ids are those of its source: a second import finds what the first one made by them, and adds
 * nothing else, so an interrupted import can be repeated. Nothing is written as an account of this hub, or where
 * the importer may not read and write. Notifies no people and wakes no agents. What is skipped or changed is in the report.
 *
 * @throws CONFLICT when other imports keep writing the same rows
 */
export async function importArchive(
  context: ActionContext,
  importer: Importer,
  records: unknown[],
): Promise<ImportReport> {
  // Before the first group: an interrupted import has its entry.
  const entry = recordAdminAction(context, importer.accountId, {
    action: 'archive.import',
    targetType: 'hub',
    targetId: 'posts',
    after: { records: records.length, source: importer.source },
  })
  const { staff } = await batch(context.db, { entry, staff: selectStaffNames() })
  const report = new ImportReport()
  const running: RunningImport = {
    importer,
    report,
    touched: new Set(),
    checkName: createNameCheck(context.settings.ROOKERY_NAME, staff),
  }
  const group = new Group(context, running)
  const reading = { now: context.clock.now(), commentsLeft: importLimits.commentsMax }
  let read = 0
  for (const [index, raw] of records.entries()) {
    const record = await readRecord(raw, index, reading, report.of(index))
    if (!record) continue
    read++
    await group.add(record)
  }
  await group.flush()
  report.unchanged = read - running.touched.size
  return report
}

/** Collects records until they are as many as one batch writes. */
class Group {
  readonly #context: ActionContext
  readonly #running: RunningImport
  #items: GroupItem[] = []
  #rows = 0
  #chars = 0

  constructor(context: ActionContext, running: RunningImport) {
    this.#context = context
    this.#running = running
  }

  async add(record: SourceRecord): Promise<void> {
    await this.#makeRoom(record.post)
    let item: GroupItem = { record, comments: [], isFirst: true }
    this.#items.push(item)
    for (const comment of record.comments) {
      if (await this.#makeRoom(comment)) {
        item = { record, comments: [], isFirst: false }
        this.#items.push(item)
      }
      item.comments.push(comment)
    }
  }

  /** Counts a row; true when the rows before it were written first. */
  async #makeRoom({ content }: SourcePost | SourceComment): Promise<boolean> {
    const isFull =
      this.#rows === importLimits.rowsPerGroup ||
      (this.#rows > 0 && this.#chars + content.length > importLimits.charsPerGroup)
    if (isFull) await this.flush()
    this.#rows++
    this.#chars += content.length
    return isFull
  }

  async flush(): Promise<void> {
    const items = this.#items
    this.#items = []
    this.#rows = 0
    this.#chars = 0
    if (items.length > 0) await importGroup(this.#context, this.#running, items)
  }
}
