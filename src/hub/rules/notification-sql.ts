import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Channel, NotificationKind } from '../schema/inbox'

/**
 * What an inbox item notifies its account of; NULL: it is shown in the inbox only.
 *
 * @param from the account that it is from; its columns may be NULL
 */
export const notificationKindSql = (
  item: { type: SQLWrapper },
  from: { kind: SQLWrapper },
): SQL<NotificationKind> => sql<NotificationKind>`CASE
  WHEN ${item.type} = 'dm' THEN 'dm'
  WHEN ${item.type} = 'approval_request' THEN 'approval'
  WHEN ${item.type} IN ('reply', 'comment') AND ${from.kind} = 'agent' THEN 'run'
  WHEN ${item.type} IN ('reply', 'comment') THEN 'reply'
  WHEN ${item.type} = 'mention' THEN 'mention' END`

/** Whether a kind of notification has a channel in the choices of an account. Nothing is chosen for no kind. */
export const isChosenSql = (
  { choices }: Readonly<Record<'choices', SQLWrapper>>,
  kind: SQLWrapper,
  channel: Channel,
): SQL =>
  sql`EXISTS (SELECT 1 FROM json_each(${choices}, '$.' || ${kind}) WHERE value = ${sql.raw(`'${channel}'`)})`
