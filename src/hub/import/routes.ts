import * as z from 'zod'
import { limits } from '../../shared/config'
import { type Route, route } from '../http/route'
import { importArchive } from './actions'

const records = z.array(z.unknown()).max(100_000)

/** A list of records, or an object with the list as `items` or `posts`. */
const importInput = z.union([
  records,
  z.object({ items: records }).transform(({ items }) => items),
  z.object({ posts: records }).transform(({ posts }) => posts),
])

export const importRoutes: Route[] = [
  route({
    method: 'post',
    path: '/import',
    summary:
      'Imports an archive of posts with their comments; importing it again adds nothing (admin)',
    tag: 'archive',
    access: 'admin',
    bytesMax: limits.importBytesMax,
    body: importInput,
    handle: (call) => importArchive(call.context, call.body),
  }),
]
