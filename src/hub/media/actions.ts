import { batch, run, type Statements } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import { formatBytes } from '../../shared/format'
import { mediaPath } from '../../shared/paths'
import { sha256 } from '../../shared/sha256'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { type IdempotentResult, runOnce } from '../database/run-once'
import { isEncoded, readBoundedBody } from '../http/bodies'
import { httpErrors } from '../http/errors'
import { bodyLimitsByKind } from '../http/guard-entry'
import {
  type CleanedImage,
  cleanImage,
  type ImageLimits,
  imageLimits,
  pictureLimits,
  reducedLimits,
} from './images/clean-image'
import {
  deleteRows,
  insertMedia,
  markUnused,
  type PictureOwner,
  replacePicture,
  selectOriginal,
} from './queries'

/** Errors of images, as users read them. */
export const mediaErrors = {
  unknown: () => notFound('image'),
  tooLarge: ({ accepted: hint }: ImageLimits) =>
    new AppError('TOO_LARGE', 'The image is too large.', { hint }),
  refused: (
    { kind, reason }: Exclude<CleanedImage, { kind: 'image' }>,
    { accepted: hint }: ImageLimits,
  ) => new AppError(kind === 'tooManyPixels' ? 'TOO_LARGE' : 'UNSUPPORTED_MEDIA', reason, { hint }),
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

/**
 * Reads the image that a request sends as its body.
 *
 * @throws TOO_LARGE as soon as there are more bytes than allowed, UNSUPPORTED_MEDIA for a compressed body
 */
export async function readImage(
  request: Request,
  limits: ImageLimits = imageLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const { bytesMax } = limits
  const toTooLarge = () => mediaErrors.tooLarge(limits)
  if (isEncoded(request.headers.get('content-encoding'))) throw httpErrors.encoded()
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) throw toTooLarge()
  return readBoundedBody(request, { ...bodyLimitsByKind.image, bytesMax }, toTooLarge)
}

/** The same for the picture of an account or a community. */
export const readPicture = (request: Request): Promise<Uint8Array<ArrayBuffer>> =>
  readImage(request, pictureLimits)

/** The same for the reduced form of an image. */
export const readReduced = (request: Request): Promise<Uint8Array<ArrayBuffer>> =>
  readImage(request, reducedLimits)

/** An image that was uploaded. */
export interface Uploaded {
  id: string
  width: number
  height: number
}

/** Whose quota an image counts for. */
type Uploader = Pick<Actor, 'accountId' | 'idempotencyKey'>

/**
 * Stores an image without its metadata. Nobody but its uploader sees it until a text of theirs shows it.
 *
 * @throws UNSUPPORTED_MEDIA for a file that is no whole image, TOO_LARGE for too many pixels, and when the images of the
 *   account have used up its quota
 */
export async function uploadImage(
  context: ActionContext,
  actor: Uploader,
  file: Uint8Array<ArrayBuffer>,
  limits: ImageLimits = imageLimits,
): Promise<IdempotentResult<Uploaded>> {
  const { db, clock, settings, media } = context
  if (file.length > limits.bytesMax) throw mediaErrors.tooLarge(limits)
  const image = cleanImage(file, limits)
  if (image.kind !== 'image') throw mediaErrors.refused(image, limits)
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
 * Gives an image of the uploader a reduced form, in place of an earlier one. Models see it when the image itself is too
 * large for them, or can be animated: nothing here can scale an image, and browsers can.
 *
 * @throws NOT_FOUND for an image of somebody else, and as `uploadImage`
 */
export async function uploadReduced(
  context: ActionContext,
  uploader: Uploader,
  originalId: string,
  file: Uint8Array<ArrayBuffer>,
): Promise<IdempotentResult<Uploaded>> {
  const original = await run(context.db, selectOriginal({ id: originalId, ...uploader }))
  if (!original) throw mediaErrors.unknown()
  const done = await uploadImage(context, uploader, file, reducedLimits)
  await batch(context.db, {
    reduced: replacePicture({ id: originalId, kind: 'image' }, done.answer.id),
  })
  return done
}

/**
 * Gives an account or a community a picture. It is uploaded first, so that no page shows a picture without bytes; one
 * that a crash leaves behind is unused, and deleted after a day as the picture before it is.
 *
 * @param statements written with the change: who may make it, and the record of it
 * @throws as `uploadImage`
 */
export async function setPicture(
  context: ActionContext,
  uploader: Uploader,
  owner: PictureOwner,
  file: Uint8Array<ArrayBuffer>,
  statements: Statements,
): Promise<string> {
  const { answer } = await uploadImage(context, uploader, file, pictureLimits)
  await batch(context.db, { ...statements, picture: replacePicture(owner, answer.id) })
  return answer.id
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
  await batch(db, deleteRows(ids))
}

/** The answer to an upload. */
export const presentUploaded = ({ id, width, height }: Uploaded) => ({
  media: { id, url: mediaPath(id), width, height },
})
