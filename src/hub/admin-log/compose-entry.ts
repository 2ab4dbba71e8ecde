import type { Statement } from '../../shared/db/statement'
import type { AccountId, Clock } from '../../shared/ids'
import type { AdminAction } from '../contract/hub'
import { insertAdminEntry, insertAdminEntryIfChanged } from './queries'

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
