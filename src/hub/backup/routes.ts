import * as z from 'zod'
import { backupLimits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import type { ActionContext } from '../action-context'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import { type Route, route } from '../http/route'
import { withAdminKey } from './admin-key-route'
import { selectCopiedAgents } from './agent-queries'
import { beginBackup, findTable, releaseBackup, requireHold } from './backup-actions'
import { backupErrors } from './errors'
import { selectTransfer } from './hold-queries'
import { restoreRoutes } from './restore-routes'
import { selectRows, type Value } from './row-queries'
import { fileKey, fileShape, presentTable, tableAnswer, value } from './shapes'
import type { CopiedTable } from './tables'

const tag = 'hub'

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
  tag,
  access: 'admin',
  rate: 'read',
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
  tag,
  access: 'admin',
  rate: 'write',
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
  tag,
  access: 'admin',
  rate: 'write',
  answer: z.object({ guards_left: countAnswer }),
  handle: async (call) => ({
    guards_left: await releaseBackup(call.context, call.viewer().id, call.param('id')),
  }),
})

const rows = route({
  method: 'get',
  path: '/backup/rows',
  summary:
    'Returns rows of a table in the order of its key, as they were when the hold began (admin key)',
  tag,
  // The rows are read together with the viewer, in one round trip.
  access: 'own',
  rate: 'read',
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
  tag,
  access: 'own',
  rate: 'read',
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
  tag,
  access: 'admin',
  rate: 'read',
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
  ...[begin, release, rows, objects, files, ...restoreRoutes].map(withAdminKey),
]
