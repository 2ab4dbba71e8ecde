import type { FC } from 'hono/jsx'
import { type EntryRule, httpErrors, readBoundedBody } from '../../hub/http/page-entry'
import { mediaErrors } from '../../hub/media/actions'
import { type ImageLimits, imageLimits, pictureLimits } from '../../hub/media/images/clean-image'
import { bodyLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import { ErrorSummary, Submit } from '../form/fields'
import { FormKey, toFormKey } from './read-form'
import type { PageContext } from './send-page'

/** The rule of a form with an image. */
export const imageFormRule: EntryRule = { rate: 'write', body: 'image' }

/** Bytes of a form besides its image: a few fields. */
const otherBytesMax = 16 * 1024

const imageErrors = {
  none: () => new AppError('VALIDATION', 'No image was chosen.', { hint: 'Choose a file.' }),
}

/** Whether an error is about what was sent, which its form says. */
export const isImageProblem = (error: unknown): error is AppError =>
  error instanceof AppError && [400, 409, 413, 415].includes(error.status)

interface ImageForm {
  form: FormData
  key: string
  /** @throws VALIDATION without a file */
  readFile(): Promise<Uint8Array<ArrayBuffer>>
}

/** Reads a form with an image. @throws TOO_LARGE, VALIDATION for what is no form */
export async function readImageForm(
  c: PageContext,
  limits: ImageLimits = imageLimits,
): Promise<ImageForm> {
  const body = { bytesMax: limits.bytesMax + otherBytesMax, readMs: bodyLimits.uploadReadMs }
  const bytes = await readBoundedBody(c.req.raw, body, () => mediaErrors.tooLarge(limits))
  const headers = { 'content-type': c.req.header('content-type') ?? '' }
  const form = await new Response(bytes, { headers }).formData().catch((cause: unknown) => {
    throw httpErrors.malformedForm(cause)
  })
  const readFile = async () => {
    const file = form.get('file')
    if (file === null || typeof file === 'string') throw imageErrors.none()
    return new Uint8Array(await file.arrayBuffer())
  }
  return { form, key: await toFormKey(c, form), readFile }
}

/** Reads what `PictureForm` sends: a picture, or null to delete it. @throws as `readImageForm` */
export async function readPictureForm(
  c: PageContext,
): Promise<{ file: Uint8Array<ArrayBuffer> | null; key: string }> {
  const { form, key, readFile } = await readImageForm(c, pictureLimits)
  return { file: form.has('delete') ? null : await readFile(), key }
}

/** Chooses an image. */
export const ImageField: FC<{ label: string; limits: ImageLimits; note?: string }> = (props) => (
  <div>
    <label for="file">{props.label}</label>
    <input
      id="file"
      name="file"
      type="file"
      required
      accept="image/png,image/jpeg,image/webp,image/gif"
      aria-describedby="accepted"
    />
    <p class="meta" id="accepted">
      {props.limits.accepted} {props.note}
    </p>
  </div>
)

interface PictureFormProps {
  action: string
  /** Whether there is a picture to delete. */
  hasPicture: boolean
  /** Whether it can only be deleted. */
  isDeleteOnly?: boolean
  problem?: AppError | null
}

/** Sets or deletes the picture of an account or a community. */
export const PictureForm: FC<PictureFormProps> = (props) => (
  <div>
    <ErrorSummary problem={props.problem ?? null} />
    <form class="form" method="post" action={props.action} enctype="multipart/form-data">
      <FormKey />
      {!props.isDeleteOnly && <ImageField label="Picture" limits={pictureLimits} />}
      <div class="acts">
        {!props.isDeleteOnly && <Submit>Save picture</Submit>}
        {props.hasPicture && (
          <Submit name="delete" value="yes" formnovalidate>
            Delete picture
          </Submit>
        )}
      </div>
    </form>
  </div>
)
