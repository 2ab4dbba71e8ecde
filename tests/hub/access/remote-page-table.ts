import type { Table } from './cells'

const form = (path: string, fields: Record<string, string> = {}) => ({ path, body: fields })

/** Pages of remote MCP servers. */
export const remotePageRows: Table = {
  'GET /tools/remote': { expect: 'admin' },
  'POST /tools/remote': {
    expect: 'admin',
    send: (world) =>
      form('/tools/remote', {
        name: 'page',
        description: 'Of a page.',
        credential: '',
        header: '',
        base_url: world.remote.base_url,
        allow_http: 'on',
        allow_private: 'on',
      }),
  },
  'POST /tools/remote/refresh': {
    expect: 'admin',
    send: () => form('/tools/remote/refresh', { server: 'page' }),
  },
  'GET /tools/remote/:server': { expect: 'admin', send: () => ({ path: '/tools/remote/page' }) },
  'GET /tools/remote/:server/:tool': {
    expect: 'admin',
    send: () => ({ path: '/tools/remote/page/echo' }),
  },
  'POST /tools/remote/tools': {
    expect: 'admin',
    send: async (world, column) => {
      const hash = column === 'admin' ? await world.readToolHash('page') : ''
      const mapping = { action: 'map', grant: 'page:read', tier: 'read' }
      return form('/tools/remote/tools', { server: 'page', tool: `echo ${hash}`, ...mapping })
    },
  },
  'POST /tools/remote/give': {
    expect: 'admin',
    // Nothing is checked.
    except: { admin: 400 },
    send: () => form('/tools/remote/give', { server: 'page' }),
  },
  'POST /tools/remote/instructions': {
    expect: 'admin',
    send: () => form('/tools/remote/instructions', { server: 'page' }),
  },
  'POST /tools/remote/remove': {
    expect: 'admin',
    send: () => form('/tools/remote/remove', { server: 'page' }),
  },
}
