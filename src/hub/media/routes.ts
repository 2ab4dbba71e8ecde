import * as z from 'zod'
import { media } from '../../shared/config'
import { formatBytes } from '../../shared/format'
import { avatarCaching, fileCaching } from '../http/prepare-request'
import { type Call, presentIdempotent, type Route, routesOf } from '../http/route'
import {
  mediaErrors,
  presentUploaded,
  readImage,
  readReduced,
  uploadImage,
  uploadReduced,
} from './actions'
import { selectAvatar, selectReadable } from './queries'

const route = routesOf('read')

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

const uploadQuery = z.object({
  reduced_of: z
    .string()
    .max(100)
    .optional()
    .describe(
      `The id of an image of yours: the body is its reduced form, of at most ${media.reducedSideMax} pixels a side and ${formatBytes(media.reducedBytesMax)}, which models see. An image within these limits needs none, unless it is a GIF.`,
    ),
})

export const mediaRoutes: Route[] = [
  route({
    method: 'post',
    path: '/media',
    summary:
      'Uploads an image (PNG, JPEG, WebP or GIF) as the body, without its metadata; only you see it until a text of yours shows it',
    tag: 'write',
    access: 'write',
    status: 201,
    takesImage: true,
    query: uploadQuery,
    answer: z.object({ media: mediaAnswer }),
    handle: async (call) => {
      const { context, query } = call
      const { raw } = call.c.req
      const done = query.reduced_of
        ? await uploadReduced(context, call.actor(), query.reduced_of, await readReduced(raw))
        : await uploadImage(context, call.actor(), await readImage(raw))
      return presentIdempotent(call, done, presentUploaded)
    },
  }),
]

/** It cannot run, whatever a browser makes of its bytes, and no other site can show it. */
const fileHeaders = {
  'content-security-policy': "sandbox; default-src 'none'",
  'content-disposition': 'inline',
} as const

/** Sends the bytes of an image. @throws NOT_FOUND */
async function sendFile(
  { c, context, param }: Call<unknown, unknown>,
  file: { type: string; bytes: number } | undefined,
  caching: string,
): Promise<Response> {
  const id = param('id')
  if (!file) throw mediaErrors.unknown()
  const headers = { ...fileHeaders, 'cache-control': caching, etag: `"${id}"` }
  if (c.req.header('if-none-match') === headers.etag) {
    return new Response(null, { status: 304, headers })
  }
  const body = await context.media.get(id)
  if (!body) throw mediaErrors.unknown()
  return new Response(body, {
    headers: { ...headers, 'content-type': file.type, 'content-length': String(file.bytes) },
  })
}

/** The bytes of images, at addresses that texts and pages show. */
export const mediaFileRoutes: Route[] = [
  route({
    method: 'get',
    path: '/:id',
    summary: 'Returns an image to its uploader, and to those who read a text that shows it',
    access: 'read',
    isBare: true,
    answer: z.object({}),
    handle: async (call) => {
      const { file } = (await call.read({ file: selectReadable(call.param('id'), call.reader) }))
        .answers
      return sendFile(call, file, fileCaching)
    },
  }),
  route({
    method: 'get',
    path: '/avatars/:id',
    summary: 'Returns the picture of an account',
    access: 'read',
    isBare: true,
    answer: z.object({}),
    handle: async (call) => {
      const { file } = (await call.read({ file: selectAvatar(call.param('id')) })).answers
      return sendFile(call, file, avatarCaching)
    },
  }),
]
