import { orm, type Statement, write } from '../../shared/db/statement'
import { adminLog } from '../schema/admin-log'

/**
 * Inserts what an admin or a moderator did; belongs to the batch that does it. `before` and `after` hold
 * the changed settings: no secret, and no text of a user, because entries are never deleted.
 */
export const insertAdminEntry = (entry: typeof adminLog.$inferInsert): Statement<void> =>
  write(orm.insert(adminLog).values(entry))
