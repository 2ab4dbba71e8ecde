import { run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../database/action-context'
import { selectSettingsOf, upsertSettings } from './notification-queries'
import {
  changeSettings,
  defaultSettings,
  findDigestAt,
  hasChannel,
  type NotificationInput,
  type NotificationKind,
  notificationKinds,
  toChoices,
} from './notification-settings'

/** Changes how an account is notified. */
export async function saveNotificationSettings(
  { db, clock }: Pick<ActionContext, 'db' | 'clock'>,
  accountId: AccountId,
  input: NotificationInput,
): Promise<void> {
  const now = clock.now()
  const stored = (await run(db, selectSettingsOf(accountId))) ?? defaultSettings
  const settings = changeSettings(stored, input)
  const digestAt = hasChannel(settings.choices, 'digest') ? findDigestAt(settings, now) : null
  const change = { settings, choices: toChoices(input), digestAt, now }
  await run(db, upsertSettings(accountId, change))
}

/** Ends mail of a kind at once, or the digest. Doing it again changes nothing. */
export async function stopMail(
  context: Pick<ActionContext, 'db' | 'clock'>,
  accountId: AccountId,
  kind: NotificationKind | 'digest',
): Promise<void> {
  const stored = await run(context.db, selectSettingsOf(accountId))
  if (!stored) return
  const ended = kind === 'digest' ? 'digest' : 'mail'
  const kinds = kind === 'digest' ? notificationKinds : [kind]
  const left = kinds.map((each) => [
    each,
    stored.choices[each].filter((channel) => channel !== ended),
  ])
  const input: NotificationInput = Object.fromEntries(left)
  if (kind === 'digest') input.post = []
  await saveNotificationSettings(context, accountId, input)
}
