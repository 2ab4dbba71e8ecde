import { importLimits } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import { createNameCheck } from '../accounts/check-name'
import { selectStaffNames } from '../accounts/queries'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import { importGroup, type RunningImport } from './import-group'
import { ImportReport } from './import-report'
import type { GroupItem } from './plan-group'
import type { Importer } from './queries'
import type { SourceComment } from './read-comments'
import { readRecord, type SourcePost, type SourceRecord } from './read-record'

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
    ...{ importer, report, touched: new Set() },
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
