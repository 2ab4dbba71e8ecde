import * as z from 'zod'
import { backupLimits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import type { ActionContext } from '../database/action-context'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import { type Call, type Route, routesOf } from '../http/route'
import {
  backupErrors,
  beginBackup,
  beginRestore,
  completeRestore,
  findTable,
  finishBackup,
  releaseBackup,
  requireHold,
  writeFiles,
  writeObjects,
  writeRows,
} from './backup-actions'
import {
  indexedTables,
  selectCopiedAgents,
  selectRows,
  selectTransfer,
  type Value,
} from './backup-queries'
import {
  type CopiedTable,
  fileInput,
  fileKey,
  fileShape,
  presentTable,
  tableAnswer,
  value,
  valueInput,
} from './backup-tables'

const route = routesOf('hub')

const restore = z.string().min(1).max(100).describe('The id of the restore.')
const place = knownFields({ table: z.enum(indexedTables), after: z.int().min(0) })

const beginRestoreRoute = route({
  method: 'post',
  path: '/restore',
  summary:
    'Begins a restore into an empty hub, which takes no other write until it is complete (admin key)',
  access: 'admin',
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

const restoreRows = route({
  method: 'put',
  path: '/restore/rows',
  summary: 'Writes rows of a table; can be repeated (admin key)',
  access: 'admin',
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

const restoreObjects = route({
  method: 'put',
  path: '/restore/objects',
  summary: 'Writes what agents remember; can be repeated (admin key)',
  access: 'admin',
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

const restoreFiles = route({
  method: 'put',
  path: '/restore/files',
  summary: 'Writes definitions, files of agents and long results; can be repeated (admin key)',
  access: 'admin',
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
  method: 'post',
  path: '/restore/complete',
  summary: 'Indexes restored rows for search, and opens the hub; repeat it with `next` (admin key)',
  access: 'admin',
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
const restoreRoutes: Route[] = [
  beginRestoreRoute,
  restoreRows,
  restoreObjects,
  restoreFiles,
  complete,
]

/**
 * Returns a route that answers the admin key alone: a backup holds direct messages, which no admin can read. Who
 * operates the hub has the key, and the files of the hub.
 */
const withAdminKey = (route: Route): Route => ({
  ...route,
  handle: async (call: Call<unknown, unknown>, found) => {
    if (call.credential?.isAdminKey) return route.handle(call, found)
    // A key that is not valid is refused for that, as everywhere. Other routes have looked at the caller already.
    if (route.access === 'own') await call.read({})
    throw backupErrors.adminKeyOnly()
  },
})

/** Of a page of rows; a longer row is a page of its own. */
const pageLimits = { rows: 2_000, chars: 1_000_000 }
/** Objects of a page; a deployed hub on the free plan calls at most 50. */
const objectsPerPage = 20
const objectCharsMax = 4_000_000

const transferQuery = z.object({
  backup: z.string().max(100).describe('The id of the backup, or of a restore that is checked.'),
})

const afterKey = z
  .string()
  .max(4_000)
  .transform((text, c) => {
    const parsed = z.array(value).min(1).safeParse(parseJson(text))
    if (parsed.success) return parsed.data
    c.addIssue('Must be the next_after of the page before')
    return z.NEVER
  })
  .optional()
  .describe('The `next_after` of the page before.')

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const nextAnswer = z
  .string()
  .nullable()
  .describe('`after` of the next page; null: this is the last.')

const status = route({
  method: 'get',
  path: '/backup',
  summary: 'Returns the backup that is being written, or the restore that has not finished (admin)',
  access: 'admin',
  answer: z.object({
    transfer: z
      .object({
        kind: z.enum(['backup', 'restore']),
        holds_until: timeAnswer,
        is_holding: z
          .boolean()
          .describe('False: it was interrupted, and the next sweep removes what is left of it.'),
      })
      .nullable(),
  }),
  handle: async ({ context }) => {
    const found = await run(context.db, selectTransfer())
    if (!found) return { transfer: null }
    const { kind, holds, holdsUntil } = found
    return { transfer: { kind, is_holding: Boolean(holds), holds_until: presentTime(holdsUntil) } }
  },
})

const begin = route({
  method: 'post',
  path: '/backup',
  summary:
    'Begins a backup: nothing else writes to the database until it is released, while reading goes on (admin key)',
  access: 'admin',
  body: knownFields({
    backup: z
      .string()
      .min(1)
      .max(100)
      .nullish()
      .describe('The id of a backup that is not ready yet.'),
    hold_seconds: z.number().min(0.001).max(backupLimits.holdSecondsMax).default(60),
  }),
  answer: z.object({
    backup: z.string(),
    is_ready: z.boolean().describe('False: call again with the id.'),
    holds_until: timeAnswer,
    migrations: z.array(z.string()),
    tables: z.array(tableAnswer),
  }),
  handle: async (call) => {
    const { backup, hold_seconds } = call.body
    const begun = await beginBackup(call.context, call.viewer().id, {
      id: backup ?? null,
      holdMs: Math.ceil(hold_seconds * 1_000),
    })
    return {
      backup: begun.id,
      is_ready: begun.isReady,
      holds_until: presentTime(begun.holdsUntil),
      migrations: begun.migrations,
      tables: begun.tables.map(presentTable),
    }
  },
})

const release = route({
  method: 'delete',
  path: '/backup/:id',
  summary: 'Ends the hold of a backup; repeat it until none of its guards are left (admin key)',
  access: 'admin',
  answer: z.object({ guards_left: countAnswer }),
  handle: async (call) => ({
    guards_left: await releaseBackup(call.context, call.viewer().id, call.param('id')),
  }),
})

const countInput = z.int().min(0)

const finish = route({
  method: 'post',
  path: '/backup/finish',
  summary: 'Records that a backup was written, and how much is in it; can be repeated (admin key)',
  access: 'admin',
  body: knownFields({
    backup: z.string().min(1).max(100).describe('The id of the backup.'),
    rows: countInput,
    agents: countInput,
    files: countInput,
    bytes: countInput,
  }),
  answer: z.object({ backup: z.string() }),
  handle: async ({ context, viewer, body }) => {
    await finishBackup(context, viewer().id, body)
    return { backup: body.backup }
  },
})

const rows = route({
  method: 'get',
  path: '/backup/rows',
  summary:
    'Returns rows of a table in the order of its key, as they were when the hold began (admin key)',
  // The rows are read together with the viewer, in one round trip.
  access: 'own',
  query: transferQuery.extend({ table: z.string().min(1).max(100), after: afterKey }),
  answer: z.object({ rows: z.array(z.array(value)), next_after: nextAnswer }),
  handle: async ({ context, query, read }) => {
    const table = await findTable(context.db, query.table)
    const hasOtherKey = table && query.after && query.after.length !== table.key.length
    if (hasOtherKey) throw backupErrors.wrongCursor(table.name)
    const { answers } = await read({
      rows: table ? selectRows(table, query.after ?? null, pageLimits) : null,
      transfer: selectTransfer(),
    })
    requireHold(answers.transfer, query.backup)
    if (!table || !answers.rows) throw backupErrors.unknownTable(query.table)
    return { rows: answers.rows, next_after: findNext(table, answers.rows) }
  },
})

/** Returns after which row the next page begins; null when this page was not filled. */
function findNext(table: CopiedTable, rows: Value[][]): string | null {
  const last = rows.at(-1)
  const chars = rows.flat().reduce<number>((sum, each) => sum + String(each).length + 4, 0)
  if (!last || (rows.length < pageLimits.rows && chars < pageLimits.chars)) return null
  return JSON.stringify(table.key.map((name) => last[table.columns.indexOf(name)]))
}

const objects = route({
  method: 'get',
  path: '/backup/objects',
  summary: 'Returns what agents remember: the tables of their objects, by agent (admin key)',
  access: 'own',
  query: transferQuery.extend({ after: z.string().max(100).optional() }),
  answer: z.object({
    objects: z.array(z.object({ agent_id: z.string(), content: z.string() })),
    next_after: nextAnswer,
  }),
  handle: async ({ context, query, read }) => {
    const { answers } = await read({
      agents: selectCopiedAgents(query.after ?? '', objectsPerPage),
      transfer: selectTransfer(),
    })
    requireHold(answers.transfer, query.backup)
    const found = await readObjects(
      context,
      answers.agents.map(({ id }) => id),
    )
    return { objects: found, next_after: found.at(-1)?.agent_id ?? null }
  },
})

async function readObjects(
  { agents }: ActionContext,
  ids: Parameters<typeof agents.transfer.readObject>[0][],
) {
  const found = []
  let chars = 0
  for (const id of ids) {
    const content = await agents.transfer.readObject(id)
    found.push({ agent_id: id, content })
    chars += content.length
    if (chars > objectCharsMax) break
  }
  return found
}

/** Files are not held: runs write new ones, and definitions never change. */
const files = route({
  method: 'get',
  path: '/backup/files',
  summary: 'Returns definitions, files of agents and long results, by key (admin key)',
  access: 'admin',
  query: z.object({ after: fileKey.optional() }),
  answer: z.object({ files: z.array(fileShape), next_after: nextAnswer }),
  handle: async ({ context, query }) => {
    const page = await context.agents.transfer.readFiles(query.after ?? null)
    return {
      files: page.files.map(({ contentType, ...file }) => ({ ...file, content_type: contentType })),
      next_after: page.next,
    }
  },
})

/** Routes of backups and restores. */
export const backupRoutes: Route[] = [
  status,
  ...[begin, release, finish, rows, objects, files, ...restoreRoutes].map(withAdminKey),
]
