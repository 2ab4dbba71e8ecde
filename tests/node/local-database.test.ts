import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { D1Database } from '@cloudflare/workers-types'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bindLocalDatabase, databaseFlag } from '../../scripts/local-database/plugin.mjs'
import { answer, type Case, cases, schema, sendMany } from './database-cases.mjs'

const folder = mkdtempSync(join(tmpdir(), 'rookery-database-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const databaseId = '00000000-0000-0000-0000-000000000000'
/** Runs a case by its name, inside of the Worker. */
const script = `
  import { answer, cases, sendMoreThanIsKept } from './database-cases.mjs'
  const all = { ...cases, sendMoreThanIsKept }
  export default {
    async fetch(request, { DB }) {
      return Response.json(await answer(all[await request.text()], DB))
    }
  }`

interface Opened {
  /** As Node reads it. */
  database: D1Database
  /** Runs a case in the Worker. */
  inWorker: (name: string) => Promise<unknown>
  close: () => Promise<void>
}

/** The database of a data directory, by Miniflare's D1 or by ours. */
async function open(kind: 'd1' | 'local', dataDir: string): Promise<Opened> {
  const binding =
    kind === 'd1'
      ? { d1Databases: { DB: databaseId } }
      : {
          unsafeBindings: [bindLocalDatabase('DB', databaseId, dataDir)],
          compatibilityFlags: [databaseFlag],
        }
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      name: 'test',
      modules: [
        { type: 'ESModule', path: join(import.meta.dirname, 'main.mjs'), contents: script },
        { type: 'ESModule', path: join(import.meta.dirname, 'database-cases.mjs') },
      ],
      modulesRoot: import.meta.dirname,
      compatibilityDate: '2026-06-11',
      resourcePersistencePath: dataDir,
      cf: false,
      port: 0,
      ...binding,
    }),
  )
  const { DB } = await miniflare.getBindings<{ DB: D1Database }>()
  const inWorker = async (name: string) => {
    const response = await miniflare.dispatchFetch('http://test/', { method: 'POST', body: name })
    return response.json()
  }
  return { database: DB, inWorker, close: () => miniflare.dispose() }
}

/** What the client of D1 itself makes of these failures with the flag of the local database. */
const errorsWithFlag: Record<string, string> = {
  'several lines of which one is wrong':
    'D1_EXEC_ERROR: near "nothing": syntax error at offset 7: SQLITE_ERROR',
  'a deferred foreign key that stays broken': 'D1_ERROR: internal error; reference = ',
}

describe('the local database answers as D1 does', () => {
  const kinds = ['d1', 'local'] as const
  /** Two of each, since the cases write: one for Node and one for a Worker. */
  const opened: Record<string, Opened> = {}
  beforeAll(async () => {
    for (const kind of kinds) {
      for (const from of ['node', 'worker']) {
        opened[`${kind} ${from}`] = await open(kind, join(folder, kind, from))
      }
    }
  })
  afterAll(() => Promise.all(Object.values(opened).map(({ close }) => close())))

  test.each(Object.entries(cases))('%s', async (name, run) => {
    const inWorker = kinds.map((kind) => opened[`${kind} worker`]?.inWorker(name))
    const [expected, answered] = await Promise.all(inWorker)
    const error = errorsWithFlag[name]
    const cause = error?.replace(/^\w+: /, '')
    expect(answered).toEqual(error === undefined ? expected : { error, cause })
    const inNode = kinds.map((kind) => {
      const from = opened[`${kind} node`]
      return from && answer(run, from.database)
    })
    const [expectedInNode, answeredInNode] = await Promise.all(inNode)
    expect(answeredInNode).toEqual(expectedInNode)
  })

  test('more statements than it keeps, and the first again', async () => {
    expect(await opened['local worker']?.inWorker('sendMoreThanIsKept')).toEqual([])
  })
})

test('both open the same file: what one wrote, the other reads', async () => {
  const dataDir = join(folder, 'shared')
  const read = async ({ database }: Opened) =>
    (await database.prepare('SELECT name FROM parents ORDER BY id').raw()).flat()
  const use = async (kind: 'd1' | 'local', work: Case) => {
    const opened = await open(kind, dataDir)
    try {
      await work(opened.database)
      return await read(opened)
    } finally {
      await opened.close()
    }
  }
  const add = (name: string) => sendMany(`INSERT INTO parents (name) VALUES ('${name}')`)
  await use('d1', sendMany(...schema))
  expect(await use('d1', add('by D1'))).toEqual(['by D1'])
  expect(await use('local', add('by ours'))).toEqual(['by D1', 'by ours'])
  expect(await use('d1', add('by D1 again'))).toEqual(['by D1', 'by ours', 'by D1 again'])
})
