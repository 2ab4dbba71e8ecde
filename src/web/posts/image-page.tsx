import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import type { EntryRule, HubEnv } from '../../hub/http/page-entry'
import { httpErrors, readBoundedBody, requireViewer, toActor } from '../../hub/http/page-entry'
import { mediaErrors, type Uploaded, uploadImage } from '../../hub/media/actions'
import { acceptedImages } from '../../hub/media/images/clean-image'
import { bodyLimits, media } from '../../shared/config'
import { AppError } from '../../shared/errors'
import { mediaPath } from '../../shared/paths'
import { ErrorSummary } from '../form/fields'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { FormKey, toFormKey } from '../frame/read-form'
import { type PageContext, page, pageErrors, readPage, sendPage } from '../frame/send-page'
import { imagesPath } from '../parts/add-image'

/** The form has a few fields besides the image. */
const body = { bytesMax: media.bytesMax + 16 * 1024, readMs: bodyLimits.uploadReadMs }
const rule: EntryRule = { rate: 'write', body: 'image' }

/** Registers the page that uploads an image for a text, for browsers without the script of the forms. */
export function registerImagePages(app: Hono<HubEnv>): void {
  app.get(
    imagesPath,
    page(async (c) => showPage(c, { problem: null, image: readUploaded(c) })),
  )
  app.post(
    imagesPath,
    page(async (c) => {
      const viewer = await requireViewer(c, 'write', { isWriting: true })
      try {
        const { file, alt, key } = await readImageForm(c)
        const { answer } = await uploadImage(c.var.context, toActor(viewer, key), file)
        return c.redirect(`${imagesPath}?${new URLSearchParams({ id: answer.id, alt })}`, 303)
      } catch (error) {
        if (!(error instanceof AppError) || error.status >= 500) throw error
        return showPage(c, { problem: error, image: null })
      }
    }, rule),
  )
}

/** @throws TOO_LARGE, VALIDATION for a form without a file */
async function readImageForm(
  c: PageContext,
): Promise<{ file: Uint8Array<ArrayBuffer>; alt: string; key: string }> {
  const bytes = await readBoundedBody(c.req.raw, body, mediaErrors.tooLarge)
  const headers = { 'content-type': c.req.header('content-type') ?? '' }
  const form = await new Response(bytes, { headers }).formData().catch((cause: unknown) => {
    throw httpErrors.malformedForm(cause)
  })
  const [file, alt] = [form.get('file'), form.get('alt')]
  if (file === null || typeof file === 'string') throw imageErrors.none()
  return {
    file: new Uint8Array(await file.arrayBuffer()),
    alt: typeof alt === 'string' ? alt.replace(/[[\]\\\s]+/g, ' ').trim() : '',
    key: await toFormKey(c, form),
  }
}

/** Returns the image that was just uploaded, whose id ends with its size; null without one. */
function readUploaded(c: PageContext): (Uploaded & { alt: string }) | null {
  const id = c.req.query('id') ?? ''
  const [, width, height] = /^[0-9a-f-]{36}-(\d{1,5})x(\d{1,5})$/.exec(id) ?? []
  if (!width || !height) return null
  return { id, width: Number(width), height: Number(height), alt: c.req.query('alt') ?? '' }
}

/** Errors of the form, as users read them. */
const imageErrors = {
  none: () => new AppError('VALIDATION', 'No image was chosen.', { hint: 'Choose a file.' }),
}

interface ImagePageProps {
  frame: Frame
  problem: AppError | null
  image: (Uploaded & { alt: string }) | null
}

async function showPage(c: PageContext, of: Omit<ImagePageProps, 'frame'>): Promise<Response> {
  const { frame } = await readPage(c, {})
  if (!frame.viewer) throw pageErrors.signInRequired()
  return sendPage(c, <ImagePage frame={frame} {...of} />, of.problem?.status ?? 200)
}

const ImagePage: FC<ImagePageProps> = ({ frame, problem, image }) => (
  <Layout frame={frame} title="Add an image">
    <h1>Add an image</h1>
    <ErrorSummary problem={problem} />
    {image && <UploadedImage image={image} />}
    <form class="form up4" method="post" action={imagesPath} enctype="multipart/form-data">
      <FormKey />
      <div>
        <label for="file">Image</label>
        <input
          id="file"
          name="file"
          type="file"
          required
          accept="image/png,image/jpeg,image/webp,image/gif"
          aria-describedby="accepted"
        />
        <p class="meta" id="accepted">
          {acceptedImages} Its metadata, such as where a photo was taken, is removed.
        </p>
      </div>
      <div>
        <label for="alt">Description</label>
        <input id="alt" name="alt" autocomplete="off" aria-describedby="alt-use" />
        <p class="meta" id="alt-use">
          What the image shows, for people who cannot see it, and for agents.
        </p>
      </div>
      <div class="acts">
        <button class="btn go" type="submit">
          Upload
        </button>
      </div>
    </form>
  </Layout>
)

const UploadedImage: FC<{ image: Uploaded & { alt: string } }> = ({ image }) => {
  const { id, width, height, alt } = image
  return (
    <section class="block prose" aria-labelledby="done">
      <h2 id="done">Your image is uploaded</h2>
      <p>Copy this line into your post, comment or message. Until then only you see the image.</p>
      <p>
        <code>{`![${alt}](${mediaPath(id)})`}</code>
      </p>
      <p>
        <img src={mediaPath(id)} width={width} height={height} alt={alt} />
      </p>
    </section>
  )
}
