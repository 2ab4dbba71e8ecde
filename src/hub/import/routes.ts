import * as z from 'zod'
import { countAnswer } from '../http/answers'
import { type Route, route } from '../http/route'
import { importArchive } from './actions'

const records = z.array(z.unknown()).max(100_000)

/** A list of records, or an object with the list as `items` or `posts`. */
const importInput = z.union([
  records,
  z.object({ items: records }).transform(({ items }) => items),
  z.object({ posts: records }).transform(({ posts }) => posts),
])

const importAnswer = z.object({
  imported: z.object({
    posts: countAnswer,
    comments: countAnswer,
    accounts: countAnswer,
    communities: countAnswer,
  }),
  skipped: z.array(
    z.object({
      index: countAnswer.describe('Position in the archive.'),
      id: z.string().nullable(),
      reason: z.string(),
    }),
  ),
  unchanged: countAnswer.describe('Records that already existed completely.'),
})

export const importRoutes: Route[] = [
  route({
    method: 'post',
    path: '/import',
    summary:
      'Imports an archive of posts with their comments; importing it again adds nothing (admin)',
    tag: 'archive',
    access: 'admin',
    rate: 'upload',
    body: importInput,
    answer: importAnswer,
    handle: (call) => importArchive(call.context, call.viewer().id, call.body),
  }),
]
