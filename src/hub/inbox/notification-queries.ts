import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import { oneSql, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { type NotificationChoices, notificationSettings } from '../schema/inbox'
import { prepareForViewer, viewer, viewerCte } from '../viewers/queries'
import type { NotificationSettings } from './notification-settings'

const w = alias(notificationSettings, 'w')

const settingsFields = {
  choices: w.choices,
  quietFrom: w.quietFrom,
  quietTo: w.quietTo,
  timezone: w.timezone,
  digestHour: w.digestHour,
  digestAt: w.digestAt,
}

/** How an account wants to be notified, and when its next digest is due. */
export type StoredSettings = RowOf<typeof settingsFields>

/** Selects how the viewer wants to be notified; undefined: nothing was chosen yet. */
export const selectOwnSettings = prepareForViewer((v) =>
  oneSql(
    settingsFields,
    sql`FROM ${viewer} JOIN ${notificationSettings} ${w} ON ${w.accountId} = ${viewer.id}`,
    viewerCte(v),
  ),
)

/** The same for an account. */
export const selectSettingsOf = (accountId: AccountId): Statement<StoredSettings | undefined> =>
  oneSql(settingsFields, sql`FROM ${notificationSettings} ${w} WHERE ${w.accountId} = ${accountId}`)

interface Change {
  /** The settings as they are with the change, for an account that has stored none. */
  settings: NotificationSettings
  /** Kinds whose channels change. */
  choices: Partial<NotificationChoices>
  /** Null: no digest is due. */
  digestAt: number | null
  now: number
}

/**
 * Stores how an account wants to be notified. Kinds that are not named keep what another request gave them. A digest
 * begins with what comes after it was chosen.
 */
export function upsertSettings(
  accountId: AccountId,
  { settings, choices, digestAt, now }: Change,
): Statement<void> {
  const { quietFrom, quietTo, timezone, digestHour } = settings
  const taken: SQL[] = (
    ['quiet_from', 'quiet_to', 'timezone', 'digest_hour', 'digest_at'] as const
  ).map((name) => sql.raw(`${name} = excluded.${name}`))
  return write(
    insertSelect(
      notificationSettings,
      {
        accountId,
        quietFrom,
        quietTo,
        timezone,
        digestHour,
        digestAt,
        digestedAt: now,
        choices: sql`${JSON.stringify(settings.choices)}`,
      },
      sql`WHERE 1 ON CONFLICT (account_id) DO UPDATE SET
        choices = json_patch(${notificationSettings.choices}, ${JSON.stringify(choices)}),
        digested_at = iif(${notificationSettings.digestAt} IS NULL, ${now}, ${notificationSettings.digestedAt}),
        ${sql.join(taken, sql`, `)}`,
    ),
  )
}
