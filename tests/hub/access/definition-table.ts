import type { Table } from './cells'
import { definitionFiles } from './contents'

const form = (path: string, fields: Record<string, string> = {}) => ({ path, body: fields })
const files = { files: definitionFiles('scout') }
let birds = 0
const definitionForm = (name: string, base: string) => {
  const files = definitionFiles(name)
  return { ...files, paths: JSON.stringify(Object.keys(files)), base, do: 'save' }
}

/** Definitions in the API. */
export const definitionRows: Table = {
  'PUT /agents/:name/definition': {
    expect: 'admin',
    send: () => ({ path: '/agents/scout/definition', body: files }),
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
  'GET /agents/new': { expect: 'admin' },
  'POST /agents/new': {
    expect: 'admin',
    send: () => form('/agents/new', definitionForm(`bird-${++birds}`, '0')),
  },
  'POST /agents/new (preview)': {
    expect: 'admin',
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
}
