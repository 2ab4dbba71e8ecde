import * as z from 'zod'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { countAnswer } from '../http/answers'
import { type Route, route } from '../http/route'
import {
  beginRestore,
  completeRestore,
  writeFiles,
  writeObjects,
  writeRows,
} from './restore-actions'
import { indexedTables } from './row-queries'
import { fileInput, presentTable, tableAnswer, valueInput } from './shapes'

const common = { tag: 'hub', access: 'admin' } as const

const restore = z.string().min(1).max(100).describe('The id of the restore.')
const place = knownFields({ table: z.enum(indexedTables), after: z.int().min(0) })

const begin = route({
  ...common,
  method: 'post',
  path: '/restore',
  summary:
    'Begins a restore into an empty hub, which takes no other write until it is complete (admin key)',
  rate: 'write',
  body: knownFields({
    restore: restore.nullish().describe('The id of a restore that is not ready yet.'),
    migrations: z.array(z.string().max(200)).max(10_000),
  }),
  answer: z.object({
    restore: z.string(),
    is_ready: z.boolean().describe('False: call again with the id.'),
    tables: z.array(tableAnswer).describe('In the order in which their rows have to be sent.'),
  }),
  handle: async ({ context, body }) => {
    const begun = await beginRestore(context, {
      id: body.restore ?? null,
      migrations: body.migrations,
    })
    return { restore: begun.id, is_ready: begun.isReady, tables: begun.tables.map(presentTable) }
  },
})

const rows = route({
  ...common,
  method: 'put',
  path: '/restore/rows',
  summary: 'Writes rows of a table; can be repeated (admin key)',
  rate: 'upload',
  body: knownFields({
    restore,
    table: z.string().min(1).max(100),
    rows: z.array(z.array(valueInput)).max(10_000),
    is_second_pass: z
      .boolean()
      .default(false)
      .describe('Sets references to rows of the same table, after all rows were sent.'),
  }),
  answer: z.object({ written: countAnswer }),
  handle: async ({ context, body }) => {
    const { table, is_second_pass: isSecond } = body
    await writeRows(context, body.restore, { table, rows: body.rows, isSecond })
    return { written: body.rows.length }
  },
})

const objects = route({
  ...common,
  method: 'put',
  path: '/restore/objects',
  summary: 'Writes what agents remember; can be repeated (admin key)',
  rate: 'upload',
  body: knownFields({
    restore,
    objects: z
      .array(knownFields({ agent_id: z.string().min(1).max(100), content: z.string() }))
      .max(100),
  }),
  answer: z.object({ written: countAnswer }),
  handle: async ({ context, body }) => {
    const found = body.objects.map(({ agent_id, content }) => ({
      agentId: agent_id as AccountId,
      content,
    }))
    await writeObjects(context, body.restore, found)
    return { written: found.length }
  },
})

const files = route({
  ...common,
  method: 'put',
  path: '/restore/files',
  summary: 'Writes definitions, files of agents and long results; can be repeated (admin key)',
  rate: 'upload',
  body: knownFields({ restore, files: z.array(fileInput).max(1_000) }),
  answer: z.object({ written: countAnswer }),
  handle: async ({ context, body }) => {
    const found = body.files.map(({ content_type: contentType, ...file }) => ({
      ...file,
      contentType,
    }))
    await writeFiles(context, body.restore, found)
    return { written: found.length }
  },
})

const complete = route({
  ...common,
  method: 'post',
  path: '/restore/complete',
  summary: 'Indexes restored rows for search, and opens the hub; repeat it with `next` (admin key)',
  rate: 'upload',
  body: knownFields({ restore, next: place.nullish() }),
  answer: z.object({ next: place.nullable().describe('Null: the hub is open.') }),
  handle: async (call) => ({
    next: await completeRestore(
      call.context,
      call.viewer().id,
      call.body.restore,
      call.body.next ?? null,
    ),
  }),
})

/** Routes of restores. */
export const restoreRoutes: Route[] = [begin, rows, objects, files, complete]
