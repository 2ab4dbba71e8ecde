import { env } from 'cloudflare:workers'
import type { Table } from './cells'
import { definitionFiles } from './contents'
import type { World } from './create-world'

const form = (path: string, fields: Record<string, string> = {}) => ({ path, body: fields })
const files = { files: definitionFiles('scout') }
let birds = 0
const definitionForm = (name: string, base: string) => {
  const files = definitionFiles(name)
  return { ...files, paths: JSON.stringify(Object.keys(files)), base, do: 'save' }
}

/** The current version of the definition that olga owns. */
const readBase = async (world: World): Promise<string> => {
  const { definition } = await world.call('/agents/tit-1/definition', { key: world.olga.key })
  return String(definition.version)
}
const owned = { files: definitionFiles('tit-1') }
const daily = { do: 'save', cron: '@daily', timezone: 'UTC' }
const fact = { id: '1', change: 'delete_fact' }

/** Lets a change of the agent that olga owns wait for a trial that could not start. */
async function holdChange(world: World): Promise<string> {
  const { definition } = await world.call('/agents/tit-1/definition', { key: world.olga.key })
  await env.DB.prepare(
    `INSERT INTO held_definitions (id, agent_id, etag, base_version, saved_by, saved_at, gate, problem)
     SELECT 'held', a.id, g.definition_etag, ?, a.owner_id, 0, '{"set":"all","worseMax":0,"costChangeMax":null,"repeats":1}', 'no set'
     FROM accounts a JOIN agents g ON g.account_id = a.id WHERE a.name = 'tit-1'
     ON CONFLICT (id) DO UPDATE SET etag = excluded.etag, base_version = excluded.base_version, outcome = NULL`,
  )
    .bind(definition.version)
    .run()
  return definition.etag
}

/** Definitions in the API, and what agents know. */
export const definitionRows: Table = {
  'PUT /agents/:name/definition': {
    expect: 'admin',
    send: () => ({ path: '/agents/scout/definition', body: files }),
  },
  'PUT /agents/:name/definition (owned)': {
    expect: 'ownerOrAdminWrite',
    send: async (world) => {
      const body = { ...owned, base_version: Number(await readBase(world)) }
      return { path: '/agents/tit-1/definition', body }
    },
  },
  'GET /agents/:name/definition (owned)': {
    expect: 'ownerOrAdminRead',
    send: () => ({ path: '/agents/tit-1/definition' }),
  },
  'GET /agents/:name/definition/versions (owned)': {
    expect: 'ownerOrAdminRead',
    send: () => ({ path: '/agents/tit-1/definition/versions' }),
  },
  'POST /agents/:name/definition/restore (owned)': {
    expect: 'ownerOrAdminWrite',
    send: () => ({ path: '/agents/tit-1/definition/restore', body: { version: 1 } }),
  },
  'POST /agents/:name/definition/held/apply': {
    expect: 'admin',
    send: async (world) => {
      const body = { etag: await holdChange(world), reason: 'It is urgent.' }
      return { path: '/agents/tit-1/definition/held/apply', body }
    },
  },
  'DELETE /agents/:name/definition/held': {
    expect: 'ownerOrAdminWrite',
    send: async (world) => {
      return { path: `/agents/tit-1/definition/held?etag=${await holdChange(world)}` }
    },
  },
  'DELETE /accounts/:name (owned)': {
    expect: 'ownerOrAdminWrite',
    send: async (world) => ({ path: `/accounts/${(await world.newOwnedAgent()).name}?words=keep` }),
  },
  'GET /agents/:name/knowledge': {
    expect: 'own',
    send: () => ({ path: '/agents/tit-1/knowledge' }),
  },
  'PATCH /agents/:name/knowledge/facts/:id': {
    expect: 'ownerOrAdminWrite',
    send: () => ({ path: '/agents/tit-1/knowledge/facts/1', body: { text: 'Plums are blue' } }),
  },
  'DELETE /agents/:name/knowledge/facts/:id': {
    expect: 'ownerOrAdminWrite',
    send: () => ({ path: '/agents/tit-1/knowledge/facts/1' }),
  },
  'POST /agents/:name/knowledge/tasks/:id/close': {
    expect: 'ownerOrAdminWrite',
    send: () => ({ path: '/agents/tit-1/knowledge/tasks/1/close' }),
  },
  'DELETE /agents/:name/knowledge/files': {
    expect: 'ownerOrAdminWrite',
    send: () => ({ path: '/agents/tit-1/knowledge/files?path=notes.md' }),
  },
  'GET /agents/:name/definition': {
    expect: 'admin',
    send: () => ({ path: '/agents/scout/definition' }),
  },
  'GET /agents/:name/definition/versions': {
    expect: 'admin',
    send: () => ({ path: '/agents/scout/definition/versions' }),
  },
  'POST /agents/:name/definition/restore': {
    expect: 'admin',
    send: () => ({ path: '/agents/scout/definition/restore', body: { version: 1 } }),
  },
}

/** The pages of agents and their definitions. */
export const definitionPageRows: Table = {
  'GET /agents': { expect: 'read' },
  // Members create agents; guests and agents do not.
  'GET /agents/new': { expect: 'own', except: { guest: 403, external: 403 } },
  'POST /agents/new': {
    expect: 'write',
    except: { guest: 403, external: 403 },
    send: async (world) => {
      await world.releaseAgents()
      return form('/agents/new', definitionForm(`bird-${++birds}`, '0'))
    },
  },
  'POST /agents/new (preview)': {
    expect: 'write',
    // It shows a page, which needs the read scope.
    except: { guest: 403, external: 403, writer: 403 },
    send: () => form('/agents/new', { ...definitionForm('bird', '0'), do: 'preview' }),
  },
  'GET /a/:name/edit': { expect: 'admin', send: () => ({ path: '/a/wren/edit' }) },
  'POST /a/:name/edit': {
    expect: 'admin',
    send: () => form('/a/wren/edit', definitionForm('wren', '1')),
  },
  'GET /a/:name/versions': { expect: 'admin', send: () => ({ path: '/a/wren/versions' }) },
  'POST /a/:name/versions': {
    expect: 'admin',
    send: () => form('/a/wren/versions', { version: '1', base: '1' }),
  },
  'GET /a/:name/versions/:file': {
    expect: 'admin',
    send: () => ({ path: '/a/wren/versions/1.tar' }),
  },
  'GET /a/:name/edit (owned)': {
    expect: 'ownerOrAdminRead',
    send: () => ({ path: '/a/tit-1/edit' }),
  },
  'POST /a/:name/edit (owned)': {
    expect: 'ownerOrAdminWrite',
    send: async (world) => form('/a/tit-1/edit', definitionForm('tit-1', await readBase(world))),
  },
  'GET /a/:name/held': { expect: 'ownerOrAdminRead', send: () => ({ path: '/a/tit-1/held' }) },
  'POST /a/:name/held/apply': {
    expect: 'admin',
    send: async (world) => {
      const etag = await holdChange(world)
      return form('/a/tit-1/held/apply', { etag, reason: 'It is urgent.' })
    },
  },
  'POST /a/:name/held/discard': {
    expect: 'ownerOrAdminWrite',
    send: async (world) => {
      return form('/a/tit-1/held/discard', { etag: await holdChange(world) })
    },
  },
  'POST /a/:name/delete': {
    expect: 'ownerOrAdminWrite',
    send: async (world) => {
      const { name } = await world.newOwnedAgent()
      return form(`/a/${name}/delete`, { confirm: name })
    },
  },
  'GET /a/:name/knows': { expect: 'own', send: () => ({ path: '/a/tit-1/knows' }) },
  'POST /a/:name/knows': {
    expect: 'ownerOrAdminWrite',
    send: () => form('/a/tit-1/knows', fact),
  },
  'GET /a/:name/knows/:session': {
    expect: 'ownerOrAdminRead',
    send: () => ({ path: '/a/tit-1/knows/general_t1' }),
  },
  'POST /a/:name/knows/:session': {
    expect: 'ownerOrAdminWrite',
    send: () => form('/a/tit-1/knows/general_t1', { do: 'compact' }),
  },
  'GET /a/:name/schedules': {
    expect: 'ownerOrAdminRead',
    send: () => ({ path: '/a/tit-1/schedules' }),
  },
  'POST /a/:name/schedules': {
    expect: 'ownerOrAdminWrite',
    send: async (world) => {
      const task = `Count the plums, ${++birds}`
      return form('/a/tit-1/schedules', { ...daily, task, base: await readBase(world) })
    },
  },
}
