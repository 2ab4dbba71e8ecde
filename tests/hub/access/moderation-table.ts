import type { Table } from './cells'

const why = { body: { reason: 'Off topic' } }

/** Who can report, moderate and appeal. */
export const moderationTable: Table = {
  // T11
  'PUT /accounts/:name/moderator': {
    expect: 'admin',
    send: async (world) => ({
      path: `/accounts/${(await world.newPerson()).name}/moderator`,
      body: { is_moderator: true },
    }),
  },
  // C1: who asked the agent there, the author of the post, moderators.
  'DELETE /posts/:id/following/:agent': {
    expect: 'ownerOrAdminWrite',
    except: { moderator: '+' },
    send: (world) => ({ path: `/posts/${world.postId}/following/scout` }),
  },
  // C8: the accounts that the mention was for, moderators.
  'POST /posts/:id/lifted-limits': {
    expect: 'ownerOrAdminWrite',
    except: { moderator: '+' },
    send: async (world) => ({ path: `/posts/${await world.newStop()}/lifted-limits` }),
  },
  'POST /posts/:id/report': {
    expect: 'write',
    send: async (world) => ({ path: `/posts/${await world.newPost(world.piet)}/report`, ...why }),
  },
  'POST /comments/:id/report': {
    expect: 'write',
    send: async (world) => ({
      path: `/comments/${await world.newComment(world.piet, world.postId)}/report`,
      ...why,
    }),
  },
  'POST /posts/:id/remove': {
    expect: 'moderator',
    send: async (world) => ({ path: `/posts/${await world.newPost(world.olga)}/remove`, ...why }),
  },
  'POST /posts/:id/restore': {
    expect: 'moderator',
    send: async (world) => ({
      path: `/posts/${(await world.newRemoval()).postId}/restore`,
      ...why,
    }),
  },
  'POST /comments/:id/remove': {
    expect: 'moderator',
    send: async (world) => ({
      path: `/comments/${await world.newComment(world.olga, world.postId)}/remove`,
      ...why,
    }),
  },
  'POST /comments/:id/restore': {
    expect: 'moderator',
    send: async (world) => {
      const id = await world.newComment(world.olga, world.postId)
      await world.call(`/comments/${id}/remove`, { key: world.acting.key, ...why })
      return { path: `/comments/${id}/restore`, ...why }
    },
  },
  'POST /posts/:id/lock': {
    expect: 'moderator',
    send: async (world) => ({ path: `/posts/${await world.newPost(world.olga)}/lock`, ...why }),
  },
  'POST /posts/:id/unlock': {
    expect: 'moderator',
    send: async (world) => {
      const path = `/posts/${await world.newPost(world.olga)}`
      await world.call(`${path}/lock`, { key: world.acting.key, ...why })
      return { path: `${path}/unlock`, ...why }
    },
  },
  'POST /posts/:id/pin': {
    expect: 'moderator',
    send: async (world) => ({ path: `/posts/${await world.newPost(world.olga)}/pin`, ...why }),
  },
  'POST /posts/:id/unpin': {
    expect: 'moderator',
    send: async (world) => ({ path: `/posts/${await world.newPinned()}/unpin`, ...why }),
  },
  'GET /moderation/queue': { expect: 'own' },
  'GET /reports': { expect: 'own' },
  'POST /reports/:id/dismiss': {
    expect: 'moderator',
    send: async (world) => ({ path: `/reports/${await world.newReport()}/dismiss`, ...why }),
  },
  'GET /appeals': { expect: 'own' },
  'POST /appeals': {
    expect: 'secretWrite',
    send: async (world) => ({
      body: { action_id: (await world.newRemoval()).actionId, text: 'It is true.' },
    }),
  },
  'POST /appeals/:id/decide': {
    expect: 'moderator',
    send: async (world) => ({
      path: `/appeals/${await world.newAppeal()}/decide`,
      body: { decision: 'uphold', reason: 'It stays.' },
    }),
  },
  'GET /communities/:name/moderation': {
    expect: 'read',
    send: () => ({ path: '/communities/general/moderation' }),
  },
  'GET /communities/:name/bans': {
    expect: 'moderator',
    send: () => ({ path: '/communities/general/bans' }),
  },
  'POST /communities/:name/bans': {
    expect: 'moderator',
    send: async (world) => ({
      path: '/communities/general/bans',
      body: { account: (await world.newPerson()).name, kind: 'mute', reason: 'Shouting' },
    }),
  },
  'POST /communities/:name/bans/:id/lift': {
    expect: 'moderator',
    send: async (world) => ({
      path: `/communities/general/bans/${await world.newCommunityBan()}/lift`,
      ...why,
    }),
  },
  // T11: a banned account reads its ban and appeals it.
  'GET /bans': { expect: 'own', except: { banned: '+' } },
  'GET /bans/appeals': { expect: 'admin' },
  // Whose own ban it is: tests/hub/moderation/hub-bans.test.ts.
  'POST /bans/:id/appeal': {
    expect: 'secretWrite',
    except: { writer: 404, owner: 404, banned: 404 },
    send: async (world) => ({
      path: `/bans/${(await world.newHubBan()).id}/appeal`,
      body: { text: 'It is not true.' },
    }),
  },
  'POST /bans/:id/decide': {
    expect: 'admin',
    send: async (world) => ({
      path: `/bans/${(await world.newHubBan()).id}/decide`,
      body: { decision: 'uphold', reason: 'It stays.' },
    }),
  },
}
