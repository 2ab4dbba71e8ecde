import { type SQL, sql } from 'drizzle-orm'

/** Why a statement reads posts or comments of every community; for some of these also what was deleted or removed. */
const unfilteredReasons = {
  'own run': 'It belongs to a run that was admitted to the thread, and returns no text.',
  limits: 'It counts what agents wrote, to stop them; nobody sees the count.',
  moderation: 'It returns texts to those who may moderate there, and so read them.',
  'guarded write': 'It follows a read with the condition, by the id that this found.',
  'accounts of rows':
    'It asks for the accounts of its rows, with canAccountReadSql, and returns no text.',
  counter: 'It keeps a stored count up to date, which is shown with its post or community.',
  operator: 'It returns no text, title or name to anybody: budgets, schedules, sweeps.',
  rendering: 'It renders stored texts again, and shows them to nobody.',
  import: 'An admin imports; it returns ids that the admin has sent.',
  backup: 'An admin copies the whole hub.',
} as const

/** The comment that exempts a statement from `canReadSql`, with the reason. */
export const unfiltered = (reason: keyof typeof unfilteredReasons): SQL =>
  sql.raw(`/* unfiltered: ${reason} */`)
