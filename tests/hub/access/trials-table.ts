import type { Table } from './cells'

/** Trials of the agent that olga owns, in the API: others learn of none. */
export const trialRows: Table = {
  // Its cases have no record.
  'POST /sets/:id/trials': {
    expect: 'secretWrite',
    except: { admin: 409, owner: 409, writer: 409 },
    send: async (world) => ({
      path: `/sets/${(await world.newTrial()).setId}/trials`,
      body: { files: {} },
    }),
  },
  'POST /sets/:id/trials/preview (preview)': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => ({
      path: `/sets/${(await world.newTrial()).setId}/trials/preview`,
      body: { files: {} },
    }),
  },
  'GET /sets/:id/trials': {
    expect: 'secretOrAdminRead',
    send: async (world) => ({ path: `/sets/${(await world.newTrial()).setId}/trials` }),
  },
  'GET /trials/:id': {
    expect: 'secretOrAdminRead',
    send: async (world) => ({ path: `/trials/${(await world.newTrial()).id}` }),
  },
  'POST /trials/:id/cancel': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => ({ path: `/trials/${await world.newOpenTrial()}/cancel` }),
  },
  'GET /trials/:id/blind': {
    expect: 'secretOrAdminRead',
    send: async (world) => ({ path: `/trials/${(await world.newTrial()).id}/blind` }),
  },
  'POST /trials/:id/cases/:case_id/verdict': {
    expect: 'secretWrite',
    except: { admin: '+' },
    send: async (world) => {
      const { id, caseId } = await world.newTrial()
      return { path: `/trials/${id}/cases/${caseId}/verdict`, body: { says: 'same' } }
    },
  },
}
