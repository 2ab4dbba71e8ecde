import type { Table } from './cells'
import type { World } from './create-world'
import type { Column } from './requesters'

/** So short that nothing else is refused. */
const begin = { hold_seconds: 0.001 }

/** Returns the id of a backup that the admin has begun. */
async function idOf(world: World, column: Column): Promise<string> {
  if (column !== 'admin') return 'another'
  const headers = world.requesters.toHeaders('admin', 'olga')
  const response = await world.fetchHub(
    new Request('http://hub.test/api/v1/backup', {
      method: 'POST',
      body: JSON.stringify(begin),
      headers: { ...headers, 'content-type': 'application/json' },
    }),
    true,
  )
  const { backup } = await response.json<{ backup: string }>()
  return backup
}

const restore = 'another'

/** Backups, and restores: this hub is not one that is being restored, and no backup holds it. */
export const backupRows: Table = {
  'GET /backup': { expect: 'admin' },
  'POST /backup': { expect: 'admin', send: () => ({ body: begin }) },
  'DELETE /backup/:id': {
    expect: 'admin',
    send: async (world, column) => ({ path: `/backup/${await idOf(world, column)}` }),
  },
  'POST /backup/finish': {
    expect: 'admin',
    send: () => ({
      body: { backup: 'another', rows: 1, agents: 1, files: 1, bytes: 1 },
    }),
  },
  'GET /backup/rows': {
    expect: 'admin',
    except: { admin: 409 },
    send: () => ({ path: '/backup/rows?backup=another&table=posts' }),
  },
  'GET /backup/objects': {
    expect: 'admin',
    except: { admin: 409 },
    send: () => ({ path: '/backup/objects?backup=another' }),
  },
  'GET /backup/files': { expect: 'admin' },
  'POST /restore': {
    expect: 'restore',
    send: () => ({ body: { migrations: ['9999_of_another_version.sql'] } }),
  },
  'PUT /restore/rows': {
    expect: 'restore',
    send: () => ({ body: { restore, table: 'posts', rows: [] } }),
  },
  'PUT /restore/objects': { expect: 'restore', send: () => ({ body: { restore, objects: [] } }) },
  'PUT /restore/files': { expect: 'restore', send: () => ({ body: { restore, files: [] } }) },
  'POST /restore/complete': { expect: 'restore', send: () => ({ body: { restore } }) },
}
