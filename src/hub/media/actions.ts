import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import { formatBytes } from '../../shared/format'
import { mediaPath } from '../../shared/paths'
import { sha256 } from '../../shared/sha256'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { type IdempotentResult, runOnce } from '../database/run-once'
import { acceptedImages, type CleanedImage, cleanImage } from './images/clean-image'
import { deleteRows, insertMedia, markUnused } from './queries'

/** Errors of images, as users read them. */
export const mediaErrors = {
  unknown: () => notFound('image'),
  tooLarge: () => new AppError('TOO_LARGE', 'The image is too large.', { hint: acceptedImages }),
  refused: ({ kind, reason }: Exclude<CleanedImage, { kind: 'image' }>) =>
    new AppError(kind === 'tooManyPixels' ? 'TOO_LARGE' : 'UNSUPPORTED_MEDIA', reason, {
      hint: acceptedImages,
    }),
  quota: (quotaBytes: number) => (cause: unknown) =>
    new AppError(
      'TOO_LARGE',
      `Your images would have more than ${formatBytes(quotaBytes)}, which this hub allows an account.`,
      {
        hint: 'Delete posts, comments or images that you no longer need. Images that no text shows are deleted after a day.',
        cause,
      },
    ),
}

/** An image that was uploaded. */
export interface Uploaded {
  id: string
  width: number
  height: number
}

/**
 * Stores an image without its metadata. Nobody but its uploader sees it until a text of theirs shows it.
 *
 * @throws UNSUPPORTED_MEDIA for a file that is no whole image, TOO_LARGE for too many pixels, and when the images of the
 *   account have used up its quota
 */
export async function uploadImage(
  context: ActionContext,
  actor: Actor,
  file: Uint8Array<ArrayBuffer>,
): Promise<IdempotentResult<Uploaded>> {
  const { db, clock, settings, media } = context
  const image = cleanImage(file)
  if (image.kind !== 'image') throw mediaErrors.refused(image)
  const { type, width, height, bytes } = image
  const { accountId, idempotencyKey: key } = actor
  const now = clock.now()
  const id = `${clock.newId()}-${width}x${height}`
  const quotaBytes = settings.ROOKERY_MEDIA_QUOTA_MB * 1_000_000
  const row = { id, accountId, type, width, height, bytes: bytes.length, createdAt: now }
  const input = { sha256: await sha256(file) }
  const done = await runOnce(
    db,
    { accountId, key, action: 'media.upload', input },
    {
      now,
      answer: { id, width, height },
      statements: { media: insertMedia(row, quotaBytes) },
      constraints: { access_media: mediaErrors.quota(quotaBytes) },
    },
  )
  // After the row, so that no bytes are left without one. A retry writes them again: the first try may have ended here.
  await media.put(done.answer.id, bytes)
  return done
}

/**
 * Deletes images that no text shows: marks them, then deletes their bytes, then their rows. A crash in between leaves
 * rows, which the next sweep takes.
 */
export async function deleteUnused(
  { db, media }: Pick<ActionContext, 'db' | 'media'>,
  unused: readonly { id: string }[],
  now: number,
): Promise<void> {
  if (unused.length === 0) return
  const found = await batch(
    db,
    markUnused(
      unused.map(({ id }) => id),
      now,
    ),
  )
  const ids = found.marked.map(({ id }) => id)
  await media.delete(ids)
  await run(db, deleteRows(ids))
}

/** The answer to an upload. */
export const presentUploaded = ({ id, width, height }: Uploaded) => ({
  media: { id, url: mediaPath(id), width, height },
})
