import * as z from 'zod'
import { importLimits } from '../../shared/config'
import { countAnswer } from '../http/answers'
import { type Route, routesOf } from '../http/route'
import { importArchive } from './import-actions'

const route = routesOf('hub')

const records = z.array(z.unknown()).max(importLimits.recordsMax)

/** A list of records, or an object with the list as `items` or `posts`. */
const importInput = z.union([
  records,
  z.object({ items: records }).transform(({ items }) => items),
  z.object({ posts: records }).transform(({ posts }) => posts),
])

const importQuery = z.object({
  source: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,59}$/, 'Must be a name of a-z, 0-9, ".", "_" and "-"')
    .default('')
    .describe(
      'Where the archive is from, such as the host of a site. Ids of one source mean nothing in another.',
    ),
})

const entries = z.array(
  z.object({
    index: countAnswer.describe('Position in the archive.'),
    id: z.string().nullable().describe('Of the post or comment at its source.'),
    reason: z.string(),
  }),
)

const importAnswer = z.object({
  imported: z.object({
    posts: countAnswer,
    comments: countAnswer,
    accounts: countAnswer,
    communities: countAnswer,
  }),
  skipped: entries.describe('Posts and comments that were left out, the first of them.'),
  changed: entries.describe('Posts and comments that differ from their source, the first of them.'),
  not_listed: countAnswer.describe('Entries of both lists beyond the first.'),
  unchanged: countAnswer.describe('Records that already existed completely.'),
})

export const importRoutes: Route[] = [
  route({
    method: 'post',
    path: '/import',
    summary:
      'Imports an archive of posts with their comments; importing it again adds nothing (admin)',
    access: 'admin',
    rate: 'upload',
    query: importQuery,
    body: importInput,
    answer: importAnswer,
    handle: async (call) => {
      const { reader, query } = call
      const importer = { accountId: call.viewer().id, reader, source: query.source }
      const { notListed, ...report } = await importArchive(call.context, importer, call.body)
      return { ...report, not_listed: notListed }
    },
  }),
]
