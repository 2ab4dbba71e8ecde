import { limits } from '../../shared/config'
import type { CommentId, CommunityId, PostId } from '../../shared/ids'
import { assignAccounts, type Naming, type WritingAuthor } from './assign-accounts'
import { quote } from './import-report'
import type { Existing } from './queries'
import type { CommentKeys, SourceComment } from './read-comments'
import type { SourceRecord } from './read-record'
import type { NewAuthor, NewComment, NewCommunity, NewPost, NewRecord } from './write-queries'

/** A record with the comments that a group writes of it; a record with many is in several groups. */
export interface GroupItem {
  record: SourceRecord
  comments: SourceComment[]
  isFirst: boolean
}

/** What a group writes, and what to report once it is written. */
export interface Plan {
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
export function planGroup(items: GroupItem[], existing: Existing, naming: Naming): Plan {
  const draft: Draft = {
    plan: { communities: [], records: [], touched: [], notes: [] },
    ...{ posts: [], comments: [], writing: [] },
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
    ...{ id, ...place, content, upvotes, downvotes, createdAt, deletedAt },
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
