import type { Table } from './cells'
import type { World } from './create-world'
import type { Column } from './requesters'

const upgrade = { upgrade: 'websocket' }

/** Returns the id of a runner of its own for who may use it. */
const idOf = async (world: World, column: Column, isConnected: boolean): Promise<string> =>
  column === 'admin' ? world.newRunner(isConnected) : 'another'

/** Runners and their keys, by the API. */
export const runnerApiRows: Table = {
  'GET /runners': { expect: 'admin' },
  'POST /runners/keys': { expect: 'admin', send: () => ({ body: { label: 'The cellar' } }) },
  'DELETE /runners/keys/:id': {
    expect: 'admin',
    send: async (world, column) => ({
      path: `/runners/keys/${column === 'admin' ? (await world.newRunnerKey()).id : 'another'}`,
    }),
  },
  'PATCH /runners/:id': {
    expect: 'admin',
    send: async (world, column) => ({
      path: `/runners/${await idOf(world, column, true)}`,
      body: { is_draining: true },
    }),
  },
  'DELETE /runners/:id': {
    expect: 'admin',
    send: async (world, column) => ({ path: `/runners/${await idOf(world, column, false)}` }),
  },
}

/** The same by the page, and the runners' socket, which only a runner key opens. */
export const runnerPageRows: Table = {
  'GET /runners': { expect: 'admin' },
  'GET /runners/socket': {
    expect: 'runnerOnly',
    except: { runner: '+' },
    send: () => ({ path: '/runners/socket', headers: upgrade }),
  },
  'POST /runners/keys': {
    expect: 'admin',
    send: () => ({ path: '/runners/keys', body: { label: 'The cellar' } }),
  },
  'POST /runners/keys/revoke': {
    expect: 'admin',
    send: async (world, column) => ({
      path: '/runners/keys/revoke',
      body: { id: column === 'admin' ? (await world.newRunnerKey()).id : 'another' },
    }),
  },
  'POST /runners/drain': {
    expect: 'admin',
    send: async (world, column) => ({
      path: '/runners/drain',
      body: { id: await idOf(world, column, true), is_draining: 'true' },
    }),
  },
  'POST /runners/remove': {
    expect: 'admin',
    send: async (world, column) => ({
      path: '/runners/remove',
      body: { id: await idOf(world, column, false) },
    }),
  },
}
