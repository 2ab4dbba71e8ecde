import { batch } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import { importGroup } from './import-group'
import type { ImportReport } from './import-report'
import { selectSystemCommunities } from './queries'
import { type ParsedRecord, readRecord } from './read-record'

/** Limits of a group, which is written in one batch: its parameters stay well below D1's 2 MB. */
const RECORDS_PER_GROUP = 100
const CHARS_PER_GROUP = 400_000

/** Why a record of a community of the hub is skipped, as admins read it. */
const systemReason = (community: string): string =>
  `Only the hub itself posts in m/${community}. Import the post into another community.`

/**
 * Imports an archive. Records keep the ids of their source, so a second import adds nothing and an
 * interrupted import can be repeated. Notifies no people and wakes no agents. Invalid records, and those
 * of communities in which only the hub posts, are skipped and listed in the report.
 */
export async function importArchive(
  context: ActionContext,
  by: AccountId,
  records: unknown[],
): Promise<ImportReport> {
  // Before the first group: an interrupted import has its entry.
  const entry = recordAdminAction(context, by, {
    action: 'archive.import',
    targetType: 'hub',
    targetId: 'posts',
    after: { records: records.length },
  })
  const { places } = await batch(context.db, { entry, places: selectSystemCommunities() })
  const closed = new Set(places.map(({ name }) => name.toLowerCase()))
  const report: ImportReport = {
    imported: { posts: 0, comments: 0, accounts: 0, communities: 0 },
    skipped: [],
    unchanged: 0,
  }
  let group: Extract<ParsedRecord, { ok: true }>[] = []
  let chars = 0
  const flush = async () => {
    if (group.length > 0) await importGroup(context, group, report)
    group = []
    chars = 0
  }
  for (const [index, record] of records.entries()) {
    const read = await readRecord(record, index, context.clock.now())
    if (!read.ok) {
      report.skipped.push(read.skipped)
      continue
    }
    const { id, community } = read.post
    if (closed.has(community.name)) {
      report.skipped.push({ index, id, reason: systemReason(community.name) })
      continue
    }
    report.skipped.push(...read.skipped)
    const size = estimateChars(read)
    if (group.length === RECORDS_PER_GROUP || chars + size > CHARS_PER_GROUP) await flush()
    group.push(read)
    chars += size
  }
  await flush()
  return report
}

const estimateChars = ({ post, comments }: Extract<ParsedRecord, { ok: true }>): number =>
  comments.reduce((sum, { content }) => sum + content.length + 600, post.content.length + 1_500)
