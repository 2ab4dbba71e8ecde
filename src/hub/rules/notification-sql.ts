import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { PushKind } from '../schema/inbox'

/**
 * What an inbox item notifies its account of; NULL: it is shown in the inbox only.
 *
 * @param from the account that it is from; its columns may be NULL
 */
export const notificationKindSql = (
  item: { type: SQLWrapper },
  from: { kind: SQLWrapper },
): SQL<PushKind> => sql<PushKind>`CASE
  WHEN ${item.type} = 'dm' THEN 'dm'
  WHEN ${item.type} = 'approval_request' THEN 'approval'
  WHEN ${item.type} IN ('reply', 'comment') AND ${from.kind} = 'agent' THEN 'run'
  WHEN ${item.type} IN ('mention', 'reply', 'comment') THEN 'mention' END`
