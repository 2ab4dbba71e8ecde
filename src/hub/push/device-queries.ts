import { and, eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { pushLimits } from '../../shared/config'
import {
  manySql,
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { bare, insertSelect } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { apiKeys } from '../schema/keys'
import { type PushDevice, pushDevices, pushSettings } from '../schema/push'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'

const d = alias(pushDevices, 'd')
const w = alias(pushSettings, 'w')
const k = alias(apiKeys, 'k')

type NewDevice = Omit<PushDevice, 'lastSentAt' | 'failure'>

/**
 * Inserts a device of a session; a browser that was added before moves to this session and account.
 * Answers false when the account has as many devices as it can have, or the key is not a session.
 */
export const insertDevice = (device: NewDevice): Statement<boolean> => {
  const { id, accountId, sessionId, endpoint, p256dh, auth, serverKey, label, createdAt } = device
  const taken = ['accountId', 'sessionId', 'p256dh', 'auth', 'serverKey', 'label'] as const
  const updates = taken.map(
    (name) => sql`${bare(pushDevices[name])} = excluded.${bare(pushDevices[name])}`,
  )
  return writeChanges(
    insertSelect(
      pushDevices,
      { id, accountId, sessionId, endpoint, p256dh, auth, serverKey, label, createdAt },
      sql`FROM ${apiKeys} ${k} WHERE ${k.id} = ${sessionId} AND ${k.kind} = 'session'
        AND (SELECT count(*) FROM ${pushDevices} ${d} WHERE ${d.accountId} = ${accountId}
          AND ${d.endpoint} <> ${endpoint}) < ${pushLimits.devicesPerAccountMax}
        ON CONFLICT (endpoint) DO UPDATE SET ${sql.join(updates, sql`, `)}, failure = NULL`,
    ),
  )
}

/** A device, as its account sees it. */
export type OwnDevice = Pick<
  PushDevice,
  'id' | 'label' | 'createdAt' | 'lastSentAt' | 'failure' | 'serverKey'
>

const selectOfViewer = prepare((v: Params<ViewerValues>) =>
  manySql(
    {
      id: d.id,
      label: d.label,
      createdAt: d.createdAt,
      lastSentAt: d.lastSentAt,
      failure: d.failure,
      serverKey: d.serverKey,
    },
    sql`FROM ${viewer} JOIN ${pushDevices} ${d} ON ${d.accountId} = ${viewer.id}
      ORDER BY ${d.createdAt} DESC, ${d.id} DESC`,
    viewerCte(v),
  ),
)

/** Selects the devices of the viewer's account, the last added first. */
export const selectOwnDevices = (credential: Credential, now: number): Statement<OwnDevice[]> =>
  selectOfViewer(viewerValues(credential, now))

/** What an account wants to be reached for. */
export type PushSettings = Omit<typeof pushSettings.$inferSelect, 'accountId'>

const selectSettingsOfViewer = prepare((v: Params<ViewerValues>) =>
  oneSql(
    { kinds: w.kinds, quietFrom: w.quietFrom, quietTo: w.quietTo, timezone: w.timezone },
    sql`FROM ${viewer} JOIN ${pushSettings} ${w} ON ${w.accountId} = ${viewer.id}`,
    viewerCte(v),
  ),
)

/** Selects what the viewer wants to be reached for; undefined: nothing was chosen yet. */
export const selectOwnPushSettings = (
  credential: Credential,
  now: number,
): Statement<PushSettings | undefined> => selectSettingsOfViewer(viewerValues(credential, now))

/** Stores what an account wants to be reached for. */
export const upsertPushSettings = (accountId: AccountId, settings: PushSettings): Statement<void> =>
  write(
    orm
      .insert(pushSettings)
      .values({ accountId, ...settings })
      .onConflictDoUpdate({ target: pushSettings.accountId, set: settings }),
  )

/** Selects a device of an account. */
export const selectDevice = (accountId: AccountId, id: string): Statement<PushDevice | undefined> =>
  one(
    orm
      .select()
      .from(pushDevices)
      .where(and(eq(pushDevices.id, id), eq(pushDevices.accountId, accountId))),
  )

/** Deletes a device of an account; answers whether the account had it. */
export const deleteOwnDevice = (accountId: AccountId, id: string): Statement<boolean> =>
  writeChanges(
    orm
      .delete(pushDevices)
      .where(and(eq(pushDevices.id, id), eq(pushDevices.accountId, accountId))),
  )

/** Deletes a device and the messages that wait for it. */
export const deleteDevice = prepare(({ id }: Params<{ id: string }>) =>
  write(orm.delete(pushDevices).where(eq(pushDevices.id, id))),
)
