import { reservedNames } from '../accounts/reserved-names'
import type { ActionContext } from '../action-context'
import type { ImportReport } from './import-report'
import { distinguishName } from './normalise-name'
import {
  type ExistingRecords,
  insertAuthors,
  insertComments,
  insertCommunities,
  insertPosts,
  type NewAuthor,
  selectExisting,
  updateCounters,
} from './queries'
import type { SourceAuthor } from './read-author'
import type { ParsedRecord, SourcePost } from './read-record'
import { toStableId } from './stable-id'

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
  const existing = await readExisting(context, { posts, comments, authors })

  const { ids, newAuthors } = assignAccounts(authors, existing)
  const newPosts = posts.filter(isNew(existing.posts))
  const newComments = comments.filter(isNew(existing.comments))
  const newCommunities = await listNewCommunities(newPosts, existing)
  addToReport(report, group, { posts: newPosts, comments: newComments })
  report.imported.accounts += newAuthors.length
  report.imported.communities += newCommunities.length
  if (newPosts.length + newComments.length === 0) return

  const authorOf = ({ author }: { author: SourceAuthor }) => ids.get(author.id) ?? author.id
  await db.d1.batch([
    insertCommunities(db, newCommunities),
    insertAuthors(db, newAuthors),
    insertPosts(
      db,
      newPosts.map((post) => ({
        ...post,
        community: post.community.name,
        authorId: authorOf(post),
      })),
    ),
    insertComments(
      db,
      newComments.map((comment) => ({
        ...comment,
        authorId: authorOf(comment),
        deletedAt: comment.isDeleted ? comment.createdAt : null,
      })),
    ),
    ...updateCounters(
      db,
      [...new Set([...newPosts.map(({ id }) => id), ...newComments.map(({ postId }) => postId)])],
      [...new Set(newPosts.map(({ community }) => community.name))],
    ),
  ])
}

const uniqueById = <Row extends { id: string }>(rows: Row[]): Row[] =>
  [...new Map(rows.toReversed().map((row) => [row.id, row])).values()].reverse()

const isNew = (existing: { id: string }[]): ((row: { id: string }) => boolean) => {
  const ids = new Set(existing.map(({ id }) => id))
  return ({ id }) => !ids.has(id)
}

async function readExisting(
  { db }: ActionContext,
  group: { posts: SourcePost[]; comments: { id: string }[]; authors: SourceAuthor[] },
): Promise<ExistingRecords> {
  const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id)
  const { posts, comments, authors } = group
  const results = await db.d1.batch(
    selectExisting(db, {
      accounts: idsOf(authors),
      names: authors.map(({ name }) => name),
      communities: posts.map(({ community }) => community.name),
      posts: idsOf(posts),
      comments: idsOf(comments),
    }),
  )
  const [accounts = [], communities = [], oldPosts = [], oldComments = []] = results.map(
    (result) => result.results,
  )
  return { accounts, communities, posts: oldPosts, comments: oldComments } as ExistingRecords
}

/**
 * Assigns an account to every author: the account with the author's id; without an id, an imported
 * account of the same name; otherwise a new account. If the name of a new account is taken, the end of
 * its id is appended.
 */
function assignAccounts(
  authors: (SourceAuthor & { createdAt: number })[],
  existing: ExistingRecords,
): { ids: Map<string, string>; newAuthors: NewAuthor[] } {
  const ids = new Map<string, string>()
  const newAuthors: NewAuthor[] = []
  const byId = new Set(existing.accounts.map(({ id }) => id))
  const byName = new Map(existing.accounts.map((account) => [account.name, account]))
  // Authors with an id come first, so that authors with only a name can match them.
  for (const author of authors.toSorted(
    (one, other) => Number(one.isByName) - Number(other.isByName),
  )) {
    if (byId.has(author.id)) continue
    const holder = byName.get(author.name)
    if (author.isByName && holder?.isImported === 1) {
      ids.set(author.id, holder.id)
      continue
    }
    const isTaken = holder !== undefined || reservedNames.has(author.name)
    const name = isTaken ? distinguishName(author.name, author.id) : author.name
    byName.set(name, { id: author.id, name, isImported: 1 })
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
      id: await toStableId('community', null, row.name),
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
