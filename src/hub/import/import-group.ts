import { type Answers, batch } from '../../shared/db/batch'
import type { AccountId, CommunityId } from '../../shared/ids'
import { reservedNames } from '../accounts/reserved-names'
import type { ActionContext } from '../action-context'
import type { ImportReport } from './import-report'
import { distinguishName } from './normalise-name'
import {
  insertAuthors,
  insertComments,
  insertCommunities,
  insertPosts,
  type NewAuthor,
  selectExisting,
  updateCommentCounts,
  updatePostCounts,
} from './queries'
import type { SourceAuthor } from './read-author'
import type { ParsedRecord, SourcePost } from './read-record'
import { toStableId } from './stable-id'

type ExistingRecords = Answers<ReturnType<typeof selectExisting>>

type Group = Extract<ParsedRecord, { ok: true }>[]

/** Imports one group: one batch reads the existing records, another batch inserts the missing ones. */
export async function importGroup(
  context: ActionContext,
  group: Group,
  report: ImportReport,
): Promise<void> {
  const { db } = context
  const posts = uniqueById(group.map(({ post }) => post))
  const comments = uniqueById(group.flatMap((record) => record.comments))
  const writers = [...posts, ...comments]
  const authors = uniqueById(writers.map(({ author, createdAt }) => ({ ...author, createdAt })))
  const existing = await batch(
    db,
    selectExisting({
      accounts: idsOf(authors),
      names: authors.map(({ name }) => name),
      communities: posts.map(({ community }) => community.name),
      posts: idsOf(posts),
      comments: idsOf(comments),
    }),
  )

  const { ids, newAuthors } = assignAccounts(authors, existing)
  const newPosts = posts.filter(isNew(existing.posts))
  const newComments = comments.filter(isNew(existing.comments))
  const newCommunities = await listNewCommunities(newPosts, existing)
  addToReport(report, group, { posts: newPosts, comments: newComments })
  report.imported.accounts += newAuthors.length
  report.imported.communities += newCommunities.length
  if (newPosts.length + newComments.length === 0) return

  const authorOf = ({ author }: { author: SourceAuthor }) => ids.get(author.id) ?? author.id
  const touchedPosts = [...newPosts.map(({ id }) => id), ...newComments.map(({ postId }) => postId)]
  await batch(db, {
    communities: insertCommunities(newCommunities),
    authors: insertAuthors(newAuthors),
    posts: insertPosts(
      newPosts.map((post) => ({
        ...post,
        community: post.community.name,
        authorId: authorOf(post),
      })),
    ),
    comments: insertComments(
      newComments.map((comment) => ({
        ...comment,
        authorId: authorOf(comment),
        deletedAt: comment.isDeleted ? comment.createdAt : null,
      })),
    ),
    commentCounts: updateCommentCounts([...new Set(touchedPosts)]),
    postCounts: updatePostCounts([...new Set(newPosts.map(({ community }) => community.name))]),
  })
}

const idsOf = <Id extends string>(rows: { id: Id }[]): Id[] => rows.map(({ id }) => id)

const uniqueById = <Row extends { id: string }>(rows: Row[]): Row[] =>
  [...new Map(rows.toReversed().map((row) => [row.id, row])).values()].reverse()

const isNew = (existing: { id: string }[]): ((row: { id: string }) => boolean) => {
  const ids = new Set(existing.map(({ id }) => id))
  return ({ id }) => !ids.has(id)
}

/**
 * Assigns an account to every author: the account with the author's id; without an id, an imported
 * account of the same name; otherwise a new account. If the name of a new account is taken, the end of
 * its id is appended.
 */
function assignAccounts(
  authors: (SourceAuthor & { createdAt: number })[],
  existing: ExistingRecords,
): { ids: Map<AccountId, AccountId>; newAuthors: NewAuthor[] } {
  const ids = new Map<AccountId, AccountId>()
  const newAuthors: NewAuthor[] = []
  const byId = new Set(existing.accounts.map(({ id }) => id))
  const byName = new Map(existing.accounts.map((account) => [account.name, account]))
  // Authors with an id come first, so that authors with only a name can match them.
  for (const author of authors.toSorted(
    (one, other) => Number(one.isByName) - Number(other.isByName),
  )) {
    if (byId.has(author.id)) continue
    const holder = byName.get(author.name)
    if (author.isByName && holder?.isImported) {
      ids.set(author.id, holder.id)
      continue
    }
    const isTaken = holder !== undefined || reservedNames.has(author.name)
    const name = isTaken ? distinguishName(author.name, author.id) : author.name
    byName.set(name, { id: author.id, name, isImported: true })
    const { id, displayName, description, karma, createdAt } = author
    newAuthors.push({ id, name, displayName, description, karma, createdAt })
  }
  return { ids, newAuthors }
}

async function listNewCommunities(posts: SourcePost[], existing: ExistingRecords) {
  const names = new Set(existing.communities.map(({ name }) => name.toLowerCase()))
  const rows = new Map(
    posts
      .filter(({ community }) => !names.has(community.name))
      .map(({ community, createdAt }) => [community.name, { ...community, createdAt }]),
  )
  return Promise.all(
    [...rows.values()].map(async (row) => ({
      ...row,
      id: await toStableId<CommunityId>('community', null, row.name),
    })),
  )
}

function addToReport(
  report: ImportReport,
  group: Group,
  added: { posts: { id: string }[]; comments: { postId: string }[] },
): void {
  report.imported.posts += added.posts.length
  report.imported.comments += added.comments.length
  const touched = new Set([
    ...added.posts.map(({ id }) => id),
    ...added.comments.map(({ postId }) => postId),
  ])
  report.unchanged += group.filter(({ post }) => !touched.has(post.id)).length
}
