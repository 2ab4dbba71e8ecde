import { AppError } from '../../shared/errors'

/** Errors of backups and restores, as their clients show them. */
export const backupErrors = {
  adminKeyOnly: () =>
    new AppError('FORBIDDEN', 'Only the admin key of the hub can do this.', {
      hint: 'A backup holds what admins cannot read either. Use the key that ROOKERY_ADMIN_KEY sets.',
    }),
  backupRunning: () =>
    new AppError('CONFLICT', 'Another backup of this hub is being written.', {
      hint: 'Wait until it is finished. After an interruption its hold ends by itself.',
    }),
  restoreRunning: () =>
    new AppError('CONFLICT', 'A restore into this hub has not finished.', {
      hint: 'Run the restore again, or start with an empty folder or database.',
    }),
  holdEnded: () =>
    new AppError('CONFLICT', 'The time in which nothing else could write has ended.', {
      hint: 'Write the backup again, with a longer hold: npm run backup -- <folder> --hold 300',
    }),
  noBackup: () =>
    new AppError('CONFLICT', 'No such backup of this hub has begun, or it has ended.', {
      hint: 'Begin one without an id.',
    }),
  notRestoring: () => new AppError('CONFLICT', 'No such restore into this hub has begun.'),
  notReady: () =>
    new AppError('CONFLICT', 'The restore is not ready. Nothing was changed.', {
      hint: 'Call POST /restore again with its id, until it is ready.',
    }),
  notIndexed: () =>
    new AppError('VALIDATION', 'The request is not valid.', {
      details: [
        { path: 'next', message: 'Must be the next of the answer before; begin without it' },
      ],
    }),
  isUsed: () =>
    new AppError('CONFLICT', 'This hub is not empty. Nothing was changed.', {
      hint: 'Restore into a new one: ROOKERY_STATE_DIR=<new folder> npm run restore -- <folder>',
    }),
  isNewer: (migration: string) =>
    new AppError(
      'CONFLICT',
      `A newer version of Rookery wrote this backup (migration ${migration}). Nothing was changed.`,
      { hint: 'Update this hub first.' },
    ),
  isOlder: (migration: string) =>
    new AppError(
      'CONFLICT',
      `An older version of Rookery wrote this backup (before migration ${migration}). Nothing was changed.`,
      { hint: 'Restore with the version that wrote it, then upgrade: docs/upgrading.md' },
    ),
  unknownTable: (table: string) =>
    new AppError('VALIDATION', 'The request is not valid.', {
      details: [{ path: 'table', message: `There is no table ${table.slice(0, 100)} to copy` }],
    }),
  wrongCursor: (table: string) =>
    new AppError('VALIDATION', 'The request is not valid.', {
      details: [
        { path: 'after', message: `Must be the next_after of the page of ${table} before` },
      ],
    }),
  noSecondPass: (table: string) =>
    new AppError('VALIDATION', 'The request is not valid.', {
      details: [
        { path: 'is_second_pass', message: `Rows of ${table} refer to no rows of ${table}` },
      ],
    }),
  refusedRows: (table: string, reason: string, cause: unknown) =>
    new AppError(
      'VALIDATION',
      `The table ${table} does not take these rows. Nothing was changed.`,
      {
        hint: 'Send tables in their order, and rows as the backup has them.',
        details: [{ path: 'rows', message: reason }],
        cause,
      },
    ),
  refusedObject: (agentId: string, reason: string) =>
    new AppError('VALIDATION', 'An object of an agent was not restored.', {
      hint: 'Send objects as the backup has them, after the rows.',
      details: [{ path: `objects ${agentId}`, message: `Not restored: ${reason}` }],
    }),
  wrongRows: (table: string) =>
    new AppError('VALIDATION', 'The request is not valid.', {
      details: [
        { path: 'rows', message: `Each row must have a value for each column of ${table}` },
      ],
    }),
}
