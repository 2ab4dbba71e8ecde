import type { Table } from './cells'

/** Trials of the agent that olga owns, in a browser: others learn of none. */
export const trialPageRows: Table = {
  'GET /trials/:id': {
    expect: 'secretOrAdminRead',
    send: async (world) => ({ path: `/trials/${(await world.newTrial()).id}` }),
  },
  'POST /trials/:id/cancel': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => ({ path: `/trials/${await world.newOpenTrial()}/cancel`, body: {} }),
  },
  'GET /trials/:id/compare': {
    expect: 'secretOrAdminRead',
    send: async (world) => ({ path: `/trials/${(await world.newTrial()).id}/compare` }),
  },
  'POST /trials/:id/compare': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => {
      const { id, caseId } = await world.newTrial()
      return { path: `/trials/${id}/compare`, body: { case: caseId, judgement: 'first' } }
    },
  },
}
