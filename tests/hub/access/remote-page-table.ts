import type { Table } from './cells'

const form = (path: string, fields: Record<string, string> = {}) => ({ path, body: fields })

/** Pages of remote MCP servers. */
export const remotePageRows: Table = {
  'GET /tools/remote': { expect: 'admin' },
  'POST /tools/remote': {
    expect: 'admin',
    send: (world) =>
      form('/tools/remote', {
        ...{ name: 'page', description: 'Of a page.', credential: '', header: '' },
        ...{ base_url: world.remote.base_url, allow_http: 'on', allow_private: 'on' },
      }),
  },
  'POST /tools/remote/refresh': {
    expect: 'admin',
    send: () => form('/tools/remote/refresh', { server: 'page' }),
  },
  'POST /tools/remote/map': {
    expect: 'admin',
    send: async (world, column) =>
      form('/tools/remote/map', {
        ...{ server: 'page', tool: 'echo', grant: 'page:read', tier: 'read' },
        hash: column === 'admin' ? await world.readToolHash('page') : '',
      }),
  },
  'POST /tools/remote/accept': {
    expect: 'admin',
    send: async (world, column) =>
      form('/tools/remote/accept', {
        ...{ server: 'odd', tool: 'echo' },
        hash: column === 'admin' ? await world.offerChange('odd') : '',
      }),
  },
  'POST /tools/remote/remove': {
    expect: 'admin',
    send: () => form('/tools/remote/remove', { server: 'page' }),
  },
}
