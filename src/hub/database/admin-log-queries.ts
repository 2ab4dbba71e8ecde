import { type SQL, sql } from 'drizzle-orm'
import { orm, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, Clock } from '../../shared/ids'
import type { AdminAction } from '../contract/hub'
import { adminLog } from '../schema/audit'

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
const insertAdminEntryIfChanged = (entry: typeof adminLog.$inferInsert): Statement<void> =>
  insertAdminEntryIf(entry, sql`changes() > 0`)

const toValues = ({ before, after, reason, ...entry }: typeof adminLog.$inferInsert) => ({
  ...entry,
  reason: reason ?? null,
  before: before ? sql`${JSON.stringify(before)}` : null,
  after: after ? sql`${JSON.stringify(after)}` : null,
})

const compose = (clock: Clock, accountId: AccountId, action: AdminAction) => ({
  id: clock.newId(),
  accountId,
  ...action,
  createdAt: clock.now(),
})

/** Returns the statement that records what an admin does; it belongs to the batch that does it. */
export const recordAdminAction = (
  { clock }: { clock: Clock },
  accountId: AccountId,
  action: AdminAction,
): Statement<void> => insertAdminEntry(compose(clock, accountId, action))

/** The same when the statement before it in the batch changed a row. */
export const recordIfChanged = (
  { clock }: { clock: Clock },
  accountId: AccountId,
  action: AdminAction,
): Statement<void> => insertAdminEntryIfChanged(compose(clock, accountId, action))
