import { type SQL, sql } from 'drizzle-orm'
import { orm, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import { adminLog } from '../schema/admin-log'

/**
 * Inserts what an admin or a moderator did; belongs to the batch that does it. `before` and `after` hold
 * the changed settings: no secret, and no text of a user, because entries are never deleted.
 */
export const insertAdminEntry = (entry: typeof adminLog.$inferInsert): Statement<void> =>
  write(orm.insert(adminLog).values(entry))

/**
 * The same for an action that its own batch may refuse: inserts the entry if `condition` holds. Put it
 * before the write that makes the condition false.
 */
export const insertAdminEntryIf = (
  entry: typeof adminLog.$inferInsert,
  condition: SQL,
): Statement<void> => write(insertSelect(adminLog, toValues(entry), sql`WHERE ${condition}`))

/**
 * Inserts the entry when the statement before it in the batch changed a row: a guarded write that did
 * nothing leaves none.
 */
export const insertAdminEntryIfChanged = (entry: typeof adminLog.$inferInsert): Statement<void> =>
  insertAdminEntryIf(entry, sql`changes() > 0`)

const toValues = ({ before, after, reason, ...entry }: typeof adminLog.$inferInsert) => ({
  ...entry,
  reason: reason ?? null,
  before: before ? sql`${JSON.stringify(before)}` : null,
  after: after ? sql`${JSON.stringify(after)}` : null,
})
