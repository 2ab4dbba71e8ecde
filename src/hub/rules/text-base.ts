import { AppError } from '../../shared/errors'

/**
 * Throws unless a text is still the one that was edited.
 *
 * @param base when that one had been changed last, 0 for never; not compared unless given
 * @throws CONFLICT
 */
export function assertUnchanged(
  { editedAt }: { editedAt: number | null },
  base: number | undefined,
): void {
  if (base === undefined || base === (editedAt ?? 0)) return
  throw new AppError('CONFLICT', 'The text was changed while you edited it.', {
    hint: 'Look at it in another tab. Save again to replace it with what you typed.',
  })
}
