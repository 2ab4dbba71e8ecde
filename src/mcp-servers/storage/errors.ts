import { AppError } from '../../shared/errors'

/** Errors of writing an agent's files, as models read them. */
export const workspaceErrors = {
  fileTooLarge: (bytesMax: number) =>
    new AppError('TOO_LARGE', `A file can have at most ${bytesMax / 1024} KiB.`),
  folderFull: (filesMax: number, bytesMax: number) =>
    new AppError(
      'CONFLICT',
      `Your folder is full: it can have at most ${filesMax} files and ${bytesMax / 1024 / 1024} MiB.`,
      { hint: 'Delete files that you no longer need with workspace_delete_file.' },
    ),
  private: (path: string) =>
    new AppError(
      'CONFLICT',
      `The file ${path} is private to the requester, and a file that you write in a thread is shared.`,
      { hint: 'Choose another path.' },
    ),
  deleted: (path: string) =>
    new AppError('CONFLICT', `The file ${path} no longer exists.`, {
      hint: 'Leave out if_match to write it as a new file.',
    }),
  exists: (path: string) =>
    new AppError('CONFLICT', `The file ${path} already exists; nothing was written.`, {
      hint: rereadHint,
    }),
  changed: (path: string) =>
    new AppError('CONFLICT', `The file ${path} has changed since; nothing was written.`, {
      hint: rereadHint,
    }),
}

const rereadHint = 'Read it with workspace_read_file, and write with its etag as if_match.'
