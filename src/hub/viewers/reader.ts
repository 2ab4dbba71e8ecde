import type { AccountId, ActivationId } from '../../shared/ids'
import type { Credential } from './queries'

/**
 * For whom a query reads, as JSON that its SQL resolves (`canReadSql`): the account of a request's key or
 * session, accounts, or an agent in a run, which reads for its requesters too.
 */
export type Reader = string & { readonly __reader: never }

const toReader = (value: object): Reader => JSON.stringify(value) as Reader

/** Reads what everybody reads. */
const everybody: Reader = toReader({})

/** The account of a request; an anonymous request reads what is public. */
export const requestReader = (credential: Credential | null, now: number): Reader =>
  credential === null
    ? everybody
    : toReader({
        hash: credential.hash,
        now,
        is_session: Number(credential.isSession),
        is_admin_key: Number(credential.isAdminKey),
        admin_key_hash: credential.adminKeyHash,
      })

/** An account whose request was authenticated before. */
export const accountReader = (account: AccountId): Reader => toReader({ account, is_request: 1 })

/** The account that acts and, in a run, all of its requesters: what one of them may not read, nobody reads. */
export const actorReader = ({
  accountId,
  activationId,
}: {
  accountId: AccountId
  activationId: ActivationId | null
}): Reader => toReader({ account: accountId, activation: activationId })
