import { run } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract/hub'
import { runViewErrors } from './errors'
import { deleteRunView, type RunView, saveRunView } from './queries'

/** Saves a filter of the list of runs under a name, in place of one with that name. @throws CONFLICT for too many */
export async function saveView(
  { db, clock }: ActionContext,
  { accountId }: Actor,
  view: RunView,
): Promise<void> {
  if (!(await run(db, saveRunView({ ...view, accountId, now: clock.now() })))) {
    throw runViewErrors.tooMany()
  }
}

/** Deletes a view of the account. Repeating changes nothing. */
export const deleteView = (
  { db }: ActionContext,
  { accountId }: Actor,
  name: string,
): Promise<void> => run(db, deleteRunView({ accountId, name }))
