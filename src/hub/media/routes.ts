import * as z from 'zod'
import { media } from '../../shared/config'
import { isEncoded, readBoundedBody } from '../http/bodies'
import { httpErrors } from '../http/errors'
import { bodyLimitsByKind } from '../http/guard-entry'
import { fileCaching } from '../http/prepare-request'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import { mediaErrors, presentUploaded, uploadImage } from './actions'
import { selectReadable } from './queries'

const mediaAnswer = z
  .object({
    id: z.string(),
    url: z
      .string()
      .describe('Its address on this hub. Markdown shows it: `![what it shows](url)`.'),
    width: z.int().min(1),
    height: z.int().min(1),
  })
  .meta({ id: 'Media' })

/**
 * Reads the image that a request sends.
 *
 * @throws TOO_LARGE as soon as there are more bytes than allowed, UNSUPPORTED_MEDIA for a compressed body
 */
async function readImage({ c }: Call<unknown, unknown>): Promise<Uint8Array<ArrayBuffer>> {
  const request = c.req.raw
  if (isEncoded(request.headers.get('content-encoding'))) throw httpErrors.encoded()
  if (Number(request.headers.get('content-length') ?? 0) > media.bytesMax)
    throw mediaErrors.tooLarge()
  return readBoundedBody(request, bodyLimitsByKind.image, mediaErrors.tooLarge)
}

export const mediaRoutes: Route[] = [
  route({
    method: 'post',
    path: '/media',
    summary:
      'Uploads an image (PNG, JPEG, WebP or GIF) as the body, without its metadata; only you see it until a text of yours shows it',
    tag: 'write',
    access: 'write',
    rate: 'write',
    status: 201,
    takesImage: true,
    answer: z.object({ media: mediaAnswer }),
    handle: async (call) => {
      const done = await uploadImage(call.context, call.actor(), await readImage(call))
      return presentIdempotent(call, done, presentUploaded)
    },
  }),
]

/** It cannot run, whatever a browser makes of its bytes, and no other site can show it. */
const fileHeaders = {
  'content-security-policy': "sandbox; default-src 'none'",
  'content-disposition': 'inline',
  'cache-control': fileCaching,
} as const

/** The bytes of images, at addresses that texts show. */
export const mediaFileRoutes: Route[] = [
  route({
    method: 'get',
    path: '/:id',
    summary: 'Returns an image to its uploader, and to those who read a text that shows it',
    tag: 'read',
    access: 'read',
    rate: 'read',
    isBare: true,
    answer: z.object({}),
    handle: async ({ c, context, reader, param, read }) => {
      const id = param('id')
      const { file } = (await read({ file: selectReadable(id, reader) })).answers
      if (!file) throw mediaErrors.unknown()
      const headers = { ...fileHeaders, etag: `"${id}"` }
      if (c.req.header('if-none-match') === headers.etag) {
        return new Response(null, { status: 304, headers })
      }
      const body = await context.media.get(id)
      if (!body) throw mediaErrors.unknown()
      return new Response(body, {
        headers: { ...headers, 'content-type': file.type, 'content-length': String(file.bytes) },
      })
    },
  }),
]
