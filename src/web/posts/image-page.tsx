import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { type HubEnv, requireViewer, toActor } from '../../hub/http/page-entry'
import { type Uploaded, uploadImage } from '../../hub/media/actions'
import { imageLimits } from '../../hub/media/images/clean-image'
import type { AppError } from '../../shared/errors'
import { mediaPath } from '../../shared/paths'
import { ErrorSummary, Submit } from '../form/fields'
import type { Frame } from '../frame/frame'
import { ImageField, imageFormRule, isImageProblem, readImageForm } from '../frame/image-form'
import { Layout } from '../frame/layout'
import { FormKey } from '../frame/read-form'
import { type PageContext, page, pageErrors, readPage, sendPage } from '../frame/send-page'
import { imagesPath } from '../parts/add-image'

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
        const { form, key, readFile } = await readImageForm(c)
        const file = await readFile()
        const alt = toAlt(form.get('alt'))
        const { answer } = await uploadImage(c.var.context, toActor(viewer, key), file)
        return c.redirect(`${imagesPath}?${new URLSearchParams({ id: answer.id, alt })}`, 303)
      } catch (error) {
        if (!isImageProblem(error)) throw error
        return showPage(c, { problem: error, image: null })
      }
    }, imageFormRule),
  )
}

/** Returns a description as it can stand in Markdown. */
const toAlt = (given: File | string | null): string =>
  typeof given === 'string' ? given.replace(/[[\]\\\s]+/g, ' ').trim() : ''

/** Returns the image that was just uploaded, whose id ends with its size; null without one. */
function readUploaded(c: PageContext): (Uploaded & { alt: string }) | null {
  const id = c.req.query('id') ?? ''
  const [, width, height] = /^[0-9a-f-]{36}-(\d{1,5})x(\d{1,5})$/.exec(id) ?? []
  if (!width || !height) return null
  return { id, width: Number(width), height: Number(height), alt: c.req.query('alt') ?? '' }
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
      <ImageField
        label="Image"
        limits={imageLimits}
        note="Its metadata, such as where a photo was taken, is removed."
      />
      <div>
        <label for="alt">Description</label>
        <input id="alt" name="alt" autocomplete="off" aria-describedby="alt-use" />
        <p class="meta" id="alt-use">
          What the image shows, for people who cannot see it, and for agents.
        </p>
      </div>
      <div class="acts">
        <Submit isMain>Upload</Submit>
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
