import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { adminKey, type createTestHub } from '../create-test-hub'

export interface Table {
  name: string
  columns: string[]
  key: string[]
  has_two_passes: boolean
}

interface Begun {
  id: string
  tables: Table[]
  migrations: string[]
}

/** Calls a hub's routes of backups and restores. */
export function createTransferClient(hub: ReturnType<typeof createTestHub>) {
  const send = (method: string, path: string, body?: unknown) =>
    hub.call(path, { key: adminKey, method, ...(body === undefined ? {} : { body }) })
  /** Begins a backup or restore as its client does. */
  const begin = async (path: '/backup' | '/restore', fields: object): Promise<Begun> => {
    const kind = path.slice(1)
    for (let id: string | null = null; ; ) {
      const { status, body } = await send('POST', path, { ...fields, [kind]: id })
      expect(status, JSON.stringify(body)).toBe(200)
      id = body[kind] as string
      if (body.is_ready) return { ...body, id }
    }
  }
  const end = async (id: string) => {
    for (;;) if ((await send('DELETE', `/backup/${id}`)).body.guards_left === 0) return
  }
  return { send, begin, end }
}

/** A row of an agent with a value for each column that needs one. */
export async function readAgent(): Promise<Record<string, unknown>> {
  const { results } = await env.DB.prepare(
    'SELECT name, type, "notnull", dflt_value FROM pragma_table_info(\'agents\')',
  ).all<{ name: string; type: string; notnull: number }>()
  return Object.fromEntries(
    results.flatMap(({ name, type, notnull }) =>
      name === 'account_id'
        ? [[name, 'x']]
        : notnull === 1
          ? [[name, type === 'TEXT' ? '[]' : 0]]
          : [],
    ),
  )
}
