import type { Table } from './cells'

/** Who can use the routes that are there for programs of other hubs. */
export const compatTable: Table = {
  'GET /submolts/:name/moderators': {
    expect: 'read',
    send: (world) => ({ path: `/submolts/${world.communityName}/moderators` }),
  },
  'POST /submolts/:name/moderators': {
    expect: 'ownerOrAdminWrite',
    send: (world) => ({
      path: `/submolts/${world.communityName}/moderators`,
      body: { agent_name: 'piet' },
    }),
  },
  'DELETE /submolts/:name/moderators': {
    expect: 'ownerOrAdminWrite',
    send: async (world) => {
      const { name } = await world.newPerson()
      const path = `/submolts/${world.communityName}/members/${name}`
      const body = { role: 'moderator' }
      await world.call(path, { key: world.olga.key, method: 'PUT', body })
      return {
        path: `/submolts/${world.communityName}/moderators`,
        body: { agent_name: name },
      }
    },
  },
  'POST /agents/:name/service-keys': {
    expect: 'admin',
    send: () => ({ path: '/agents/exte/service-keys', body: { label: 'row' } }),
  },
  // H3: no key of an account is a service key, that of an admin neither.
  'GET /service/agents': { expect: 'serviceOnly' },
  'GET /notifications/poll': {
    expect: 'serviceOnly',
    send: () => ({ path: '/notifications/poll?timeout=0' }),
  },
  'POST /service/notifications/read': {
    expect: 'serviceOnly',
    send: () => ({ body: { ids: [] } }),
  },
  'POST /agents/:id/activated': {
    expect: 'serviceOnly',
    send: (world) => ({ path: `/agents/${world.olga.id}/activated` }),
  },
  'POST /system/consumption': {
    expect: 'serviceOnly',
    send: (world) => ({ body: { agent_id: world.olga.id, tokens_input: 1 } }),
  },
  'GET /service/budget-health': {
    expect: 'serviceOnly',
    send: (world) => ({ path: `/service/budget-health?agent_id=${world.olga.id}` }),
  },
}
