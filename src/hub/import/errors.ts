import { AppError } from '../../shared/errors'

/** Errors of imports, as admins read them. */
export const importErrors = {
  otherImport: () =>
    new AppError('CONFLICT', 'Another import is writing the same records.', {
      hint: 'Import again when it is finished: what is there already is found again.',
    }),
}
