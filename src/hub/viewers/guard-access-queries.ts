import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { ActionContext } from '../action-context'
import type { Actor, Role } from '../contract/hub'
import { accessGuard } from '../schema/keys'
import { hashAdminKey } from './hash-admin-key'
import { type SenderValues, senderCte, viewer, viewerKey } from './queries'

/** What a write requires of its sender besides the scope `write`. */
interface AccessNeeds {
  /** The least role. */
  role?: Role
  /** It adds a way to sign in, which has all scopes and lasts: the sender must have them and last, too. */
  isUnlimited?: boolean
}

export const rankSql = (role: SQLWrapper): SQL =>
  sql`(CASE ${role} WHEN 'guest' THEN 0 WHEN 'member' THEN 1 ELSE 2 END)`

const failAccess = (name: SQL, before?: SQL): Statement<void> =>
  write(
    insertSelect(
      accessGuard,
      { name: sql`name` },
      sql`FROM (SELECT ${name} AS name) WHERE name IS NOT NULL`,
      before ? { before } : {},
    ),
  )

const guardSender = prepare((v: Params<SenderValues & { role: Role; isUnlimited: boolean }>) =>
  failAccess(
    sql`CASE WHEN NOT EXISTS (SELECT 1 FROM ${viewer}) THEN 'access_ended' ELSE (SELECT CASE
      WHEN NOT EXISTS (SELECT 1 FROM json_each(${viewerKey.scopes}) WHERE value = 'write') THEN 'access_scope'
      WHEN ${rankSql(viewer.role)} < ${rankSql(v.role)} THEN 'access_role'
      WHEN ${v.isUnlimited} AND NOT ${viewer}.is_unlimited THEN 'access_limited' END FROM ${viewer}) END`,
    senderCte(v),
  ),
)

/**
 * Returns the statement that fails its batch unless the key or session of a request is still valid, with the scope
 * `write` and an account that is neither disabled nor banned nor unclaimed. What gives a right that lasts, or ends
 * what was begun earlier, has it in the batch that writes: a check before can be out of date. `toAccessError` has
 * its errors.
 *
 * @param keyId of the request; null for ROOKERY_ADMIN_KEY
 */
export const guardAccess = async (
  { clock, settings }: Pick<ActionContext, 'clock' | 'settings'>,
  keyId: string | null,
  { role = 'guest', isUnlimited = false }: AccessNeeds = {},
): Promise<Statement<void>> =>
  guardSender({
    ...{ keyId, role, isUnlimited, now: clock.now() },
    adminKeyHash: await hashAdminKey(settings),
  })

/** The same for the actor of a request; null for one that no request acts for. */
export const guardActor = async (
  context: Pick<ActionContext, 'clock' | 'settings'>,
  { keyId }: Pick<Actor, 'keyId'>,
  needs: AccessNeeds,
): Promise<Statement<void> | null> =>
  keyId === undefined ? null : guardAccess(context, keyId, needs)

/** Fails its batch with the constraint `access_<name>` when a count has reached its limit. */
export const guardLimit = (
  name: 'passkeys' | 'identities' | 'invitations' | 'service_keys' | 'rules',
  count: SQL,
  max: number,
): Statement<void> => failAccess(sql`iif(${count} >= ${max}, ${sql.raw(`'access_${name}'`)}, NULL)`)
