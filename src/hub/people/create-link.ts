import { limits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import { type AccountRow, selectAccountByName } from '../accounts/queries'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract/hub'
import { adminAccountId } from '../schema/accounts'
import { createSignInLink, type Token } from '../sign-in/actions'
import { findBlock } from '../viewers/find-block'
import { selectAccountBlock } from '../viewers/queries'
import { peopleErrors } from './errors'
import { insertLinkNotice } from './queries'

/**
 * Creates a sign-in link for an account, by default that of the admin key. The account is notified of a link
 * that another one creates.
 *
 * @param askedBy id of the key or session of the request; null for the admin key
 * @throws NOT_FOUND, FORBIDDEN for an account of the hub itself, CONFLICT for one that cannot sign in
 */
export async function createLinkFor(
  context: ActionContext,
  actor: Actor,
  askedBy: string | null,
  name: string | undefined,
): Promise<Token> {
  const account = name === undefined ? { id: adminAccountId } : await findLinked(context, name)
  const link = { askedBy, actor, minutes: limits.signInLinkHours * 60 }
  if (account.id === actor.accountId) {
    return createSignInLink(context, account.id, { ...link, needs: { isUnlimited: true } })
  }
  const { clock } = context
  const notice = insertLinkNotice({
    id: clock.newId(),
    accountId: account.id,
    now: clock.now(),
    by: { id: actor.accountId, name: actor.name },
  })
  return createSignInLink(context, account.id, { ...link, needs: { role: 'admin' }, notice })
}

async function findLinked({ db, clock }: ActionContext, name: string): Promise<AccountRow> {
  const account = await run(db, selectAccountByName(name))
  if (!account || account.deletedAt !== null) throw peopleErrors.notFound()
  if (account.kind === 'system') throw peopleErrors.systemAccount()
  const block = await run(db, selectAccountBlock(account.id, clock.now()))
  if (account.isImported || (block && findBlock(block))) throw peopleErrors.cannotSignIn()
  return account
}
