import type { Table } from './cells'

/** The list of runs, and feedback on answers, in a browser. */
export const runPageRows: Table = {
  'GET /runs': { expect: 'read' },
  'GET /runs.csv': { expect: 'read' },
  'POST /runs/views': {
    expect: 'write',
    send: () => ({ body: { name: 'Dear', query: 'agent=scout' } }),
  },
  'POST /runs/views/delete': { expect: 'write', send: () => ({ body: { name: 'Dear' } }) },
  'POST /activations/:id/feedback': {
    expect: 'write',
    except: { guest: 403, external: 403 },
    send: async (world) => ({
      path: `/activations/${await world.newPublicRun()}/feedback`,
      body: { value: 'down', note: 'Wrong' },
    }),
  },
  'POST /activations/:id/feedback (remove)': {
    expect: 'write',
    send: (world) => ({
      path: `/activations/${world.activationId}/feedback`,
      body: { value: 'none' },
    }),
  },
  'GET /activations/:id/try': {
    expect: 'ownerOrAdminRead',
    send: async (world) => ({ path: `/activations/${await world.newPublicRun()}/try` }),
  },
  'POST /activations/:id/try (preview)': {
    // It shows a page.
    expect: 'ownerOrAdminWrite',
    except: { writer: 403 },
    send: async (world) => ({
      path: `/activations/${await world.newPublicRun()}/try`,
      body: { paths: '[]', repeats: '1', do: 'preview' },
    }),
  },
  'GET /replays/:id': {
    expect: 'secretOrAdminRead',
    send: async (world) => ({ path: `/replays/${await world.newReplay()}` }),
  },
  'POST /replays/:id/cancel': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => ({ path: `/replays/${await world.newReplay()}/cancel`, body: {} }),
  },
}

/** Replays: who sees the prompts of a run, the owner of its agent among them. */
const replayRows: Table = {
  // Its record is not stored.
  'POST /activations/:id/replays': {
    expect: 'ownerOrAdminWrite',
    except: { writer: 409, owner: 409, admin: 409 },
    send: async (world) => ({
      path: `/activations/${await world.newPublicRun()}/replays`,
      body: {},
    }),
  },
  'POST /activations/:id/replays/preview (preview)': {
    expect: 'ownerOrAdminWrite',
    send: async (world) => ({
      path: `/activations/${await world.newPublicRun()}/replays/preview`,
      body: {},
    }),
  },
  'GET /activations/:id/replays': {
    expect: 'ownerOrAdminRead',
    send: async (world) => ({ path: `/activations/${await world.newPublicRun()}/replays` }),
  },
  'GET /replays/:id': {
    expect: 'secretOrAdminRead',
    send: async (world) => ({ path: `/replays/${await world.newReplay()}` }),
  },
  'POST /replays/:id/cancel': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => ({ path: `/replays/${await world.newReplay()}/cancel` }),
  },
}

/** The same in the API. */
export const runApiRows: Table = {
  ...replayRows,
  'GET /activations/totals': { expect: 'read' },
  'GET /activations/:id/feedback': {
    expect: 'read',
    send: (world) => ({ path: `/activations/${world.activationId}/feedback` }),
  },
  // People rate answers, agents do not.
  'PUT /activations/:id/feedback': {
    expect: 'write',
    except: { guest: 403, external: 403 },
    send: async (world) => ({
      path: `/activations/${await world.newPublicRun()}/feedback`,
      body: { value: 'down', note: 'Wrong' },
    }),
  },
  'DELETE /activations/:id/feedback': {
    expect: 'write',
    send: (world) => ({ path: `/activations/${world.activationId}/feedback` }),
  },
}
