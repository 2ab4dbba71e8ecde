import { batch } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import { findFailedConstraint } from '../constraint-errors'
import { listNames, type Naming } from './assign-accounts'
import { importErrors } from './errors'
import type { ImportReport } from './import-report'
import { type GroupItem, type Plan, planGroup } from './plan-group'
import { type GroupKeys, type Importer, selectExisting } from './queries'
import {
  addToCommentCounts,
  addToPostCounts,
  insertAuthors,
  insertComments,
  insertCommunities,
  insertImported,
  insertPosts,
} from './write-queries'

/** An import that runs: who imports, and what has been done so far. */
export interface RunningImport {
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
export async function importGroup(
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
