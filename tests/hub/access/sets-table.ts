import type { Table } from './cells'
import type { World } from './create-world'

const newRun = (world: World) => world.newRunOf(world.tit.id)

/** Sets of runs of the agent that olga owns, in the API: others learn of none. */
export const setRows: Table = {
  'GET /agents/:name/sets': {
    expect: 'ownerOrAdminRead',
    send: () => ({ path: '/agents/tit-1/sets' }),
  },
  'POST /agents/:name/sets': {
    expect: 'ownerWrite',
    except: { admin: '+' },
    send: async (world) => ({
      path: '/agents/tit-1/sets',
      body: { name: await world.newSetName() },
    }),
  },
  'GET /sets/:id': {
    expect: 'secretOrAdminRead',
    send: async (world) => ({ path: `/sets/${await world.newSet()}` }),
  },
  'GET /sets/:id/export': {
    expect: 'secretOrAdminRead',
    send: async (world) => ({ path: `/sets/${await world.newSet()}/export` }),
  },
  'GET /sets/:id/cases': {
    expect: 'secretOrAdminRead',
    send: async (world) => ({ path: `/sets/${await world.newSet()}/cases` }),
  },
  'POST /sets/:id/cases': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => ({
      path: `/sets/${await world.newSet()}/cases`,
      body: { activation_id: await newRun(world) },
    }),
  },
  'POST /sets/:id/import': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => ({
      path: `/sets/${await world.newSet()}/import`,
      body: { activation_id: await newRun(world) },
    }),
  },
  'PATCH /sets/:id': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => {
      const name = await world.newSetName()
      return { path: `/sets/${await world.newSet()}`, body: { name } }
    },
  },
  'DELETE /sets/:id': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => ({ path: `/sets/${await world.newSet()}` }),
  },
  'PATCH /cases/:id': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => ({
      path: `/cases/${(await world.newCase()).id}`,
      body: { note: 'Name the day.' },
    }),
  },
  'DELETE /cases/:id': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => ({ path: `/cases/${(await world.newCase()).id}` }),
  },
}

/** The same in a browser. */
export const setPageRows: Table = {
  'GET /a/:name/sets': { expect: 'ownerOrAdminRead', send: () => ({ path: '/a/tit-1/sets' }) },
  'POST /a/:name/sets': {
    expect: 'ownerWrite',
    except: { admin: '+' },
    send: async (world) => ({
      path: '/a/tit-1/sets',
      body: { name: await world.newSetName() },
    }),
  },
  'GET /sets/:id': {
    expect: 'secretOrAdminRead',
    send: async (world) => {
      const { id, setId } = await world.newCase()
      return { path: `/sets/${setId}?edit=${id}` }
    },
  },
  'POST /sets/:id/import': {
    // It shows a page.
    expect: 'secretWrite',
    except: { admin: '+', writer: 403 },
    send: async (world) => ({ path: `/sets/${await world.newSet()}/import`, body: { lines: 'x' } }),
  },
  'POST /sets/:id/rename': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => {
      const name = await world.newSetName()
      return { path: `/sets/${await world.newSet()}/rename`, body: { name } }
    },
  },
  'POST /sets/:id/delete': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => ({ path: `/sets/${await world.newSet()}/delete`, body: {} }),
  },
  'POST /sets/:id/cases/:case': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => {
      const { id, setId } = await world.newCase()
      return { path: `/sets/${setId}/cases/${id}`, body: { note: 'Name the day.' } }
    },
  },
  'POST /cases/:id/delete': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => ({ path: `/cases/${(await world.newCase()).id}/delete`, body: {} }),
  },
  'POST /activations/:id/case': {
    expect: 'ownerWrite',
    except: { admin: '+' },
    send: async (world) => ({ path: `/activations/${await newRun(world)}/case`, body: {} }),
  },
  'POST /runs/sets': {
    expect: 'ownerWrite',
    except: { admin: '+' },
    send: async (world) => ({
      path: '/runs/sets',
      body: { run: await newRun(world), set: 'Chosen' },
    }),
  },
}
