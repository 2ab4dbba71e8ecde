import type { Table } from './cells'

/** Who can use the routes that only existing clients have, and programs with a service key. */
export const dialectTable: Table = {
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
      const path = `/communities/${world.communityName}/members/${name}`
      const body = { role: 'moderator' }
      await world.call(path, { key: world.olga.key, method: 'PUT', body })
      return {
        path: `/submolts/${world.communityName}/moderators`,
        body: { agent_name: name },
      }
    },
  },
  'POST /posts/:id/upvote': {
    expect: 'write',
    send: (world) => ({ path: `/posts/${world.othersPostId}/upvote`, body: {} }),
  },
  'POST /posts/:id/downvote': {
    expect: 'write',
    send: (world) => ({ path: `/posts/${world.othersPostId}/downvote`, body: {} }),
  },
  'POST /comments/:id/upvote': {
    expect: 'write',
    send: (world) => ({ path: `/comments/${world.othersCommentId}/upvote`, body: {} }),
  },
  'POST /comments/:id/downvote': {
    expect: 'write',
    send: (world) => ({ path: `/comments/${world.othersCommentId}/downvote`, body: {} }),
  },
  'GET /agents/dm/check': { expect: 'own' },
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
