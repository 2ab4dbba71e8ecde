import type { Row, Table } from './cells'
import { canaries } from './contents'

/** A route that reads the private community of olga. */
const hidden = (path: NonNullable<Row['send']>): Row => ({
  expect: 'hiddenRead',
  privately: 'secretRead',
  except: { listed: '+' },
  send: path,
})

/** The same for members of the hub. */
const forMembers = (path: NonNullable<Row['send']>): Row => ({
  expect: 'membersRead',
  privately: 'privateMembersRead',
  send: path,
})

let people = 0

/** Rows of the API about members of communities and who reads them. */
export const placeRows: Table = {
  'PUT /communities/:name/subscription': {
    expect: 'write',
    send: () => ({ path: '/communities/general/subscription' }),
  },
  'DELETE /communities/:name/subscription': {
    expect: 'write',
    send: () => ({ path: '/communities/general/subscription' }),
  },
  'PUT /accounts/:name/follow': {
    expect: 'write',
    send: async (world) => ({ path: `/accounts/${(await world.newPerson()).name}/follow` }),
  },
  'DELETE /accounts/:name/follow': {
    expect: 'write',
    send: async (world) => ({ path: `/accounts/${(await world.newPerson()).name}/follow` }),
  },
  'PATCH /communities/:name': {
    expect: 'ownerOrAdminWrite',
    send: (world) => ({
      path: `/communities/${world.communityName}`,
      body: { description: 'Trees.' },
    }),
  },
  'GET /communities/:name/members': {
    expect: 'read',
    send: (world) => ({ path: `/communities/${world.communityName}/members` }),
  },
  'PUT /communities/:name/members/:account': {
    expect: 'ownerOrAdminWrite',
    send: (world) => ({ path: `/communities/${world.communityName}/members/piet`, body: {} }),
  },
  'DELETE /communities/:name/members/:account': {
    expect: 'ownerOrAdminWrite',
    send: async (world) => {
      const { name } = await world.newPerson()
      const path = `/communities/${world.communityName}/members/${name}`
      await world.call(path, { key: world.olga.key, method: 'PUT', body: {} })
      return { path }
    },
  },
  // An admin sees that the community exists, and nothing of what is in it.
  'GET /communities/:name (private)': {
    ...hidden(() => ({ path: '/communities/cellar' })),
    except: { admin: '+', listed: '+' },
  },
  'GET /communities/:name/feed (private)': hidden(() => ({ path: '/communities/cellar/feed' })),
  'GET /communities/:name/members (private)': hidden(() => ({
    path: '/communities/cellar/members',
  })),
  'GET /posts/:id (private)': hidden((world) => ({ path: `/posts/${world.cellar.postId}` })),
  'GET /posts/:id/comments (private)': hidden((world) => ({
    path: `/posts/${world.cellar.postId}/comments`,
  })),
  'GET /posts/:id/versions (private)': hidden((world) => ({
    path: `/posts/${world.cellar.postId}/versions`,
  })),
  'GET /comments/:id/versions (private)': hidden((world) => ({
    path: `/comments/${world.cellar.commentId}/versions`,
  })),
  'GET /comments/:id (private)': hidden((world) => ({
    path: `/comments/${world.cellar.commentId}`,
  })),
  'GET /posts/:id (members)': forMembers((world) => ({ path: `/posts/${world.atrium.postId}` })),
  'GET /communities/:name/feed (members)': forMembers(() => ({ path: '/communities/atrium/feed' })),
  'POST /posts/:id/comments (private)': {
    expect: 'secretWrite',
    except: { listed: '+' },
    send: (world) => ({
      path: `/posts/${world.cellar.postId}/comments`,
      body: { content: `A remark ${++people} ${canaries.cellar}` },
    }),
  },
  'POST /posts (private)': {
    expect: 'secretWrite',
    except: { listed: '+' },
    send: () => ({
      path: '/posts',
      body: { community: 'cellar', title: `A title ${canaries.cellar}` },
    }),
  },
  'PUT /posts/:id/vote (private)': {
    expect: 'secretWrite',
    except: { listed: '+' },
    send: (world) => ({ path: `/posts/${world.cellar.othersPostId}/vote`, body: { value: 1 } }),
  },
  'PUT /communities/:name/members/:account (private)': {
    expect: 'secretWrite',
    // an admin who is not a member adds nobody but themselves
    except: { admin: 403, listed: 403 },
    send: () => ({ path: '/communities/cellar/members/piet', body: {} }),
  },
  'DELETE /communities/:name/members/:account (private)': {
    expect: 'secretWrite',
    except: { admin: 403, listed: 403 },
    send: async (world) => {
      const { name } = await world.newPerson()
      const path = `/communities/cellar/members/${name}`
      await world.call(path, { key: world.olga.key, method: 'PUT', body: {} })
      return { path }
    },
  },
  'PATCH /communities/:name (private)': {
    expect: 'secretWrite',
    except: { admin: 403, listed: 403 },
    send: () => ({ path: '/communities/cellar', body: { description: 'cellar' } }),
  },
  'POST /posts/:id/report (private)': {
    expect: 'secretWrite',
    except: { listed: '+', writer: 400, owner: 400 },
    send: (world) => ({
      path: `/posts/${world.cellar.postId}/report`,
      body: { reason: 'Off topic' },
    }),
  },
  'POST /posts/:id/lock (private)': {
    expect: 'secretWrite',
    except: { listed: 403 },
    send: async (world) => ({
      path: `/posts/${await world.newPost(world.piet, canaries.cellar, 'cellar')}/lock`,
      body: { reason: 'Off topic' },
    }),
  },
  'GET /communities/:name/moderation (private)': hidden(() => ({
    path: '/communities/cellar/moderation',
  })),
  'GET /communities/:name/bans (private)': {
    expect: 'secretRead',
    except: { listed: 403 },
    send: () => ({ path: '/communities/cellar/bans' }),
  },
  'POST /communities/:name/bans (private)': {
    expect: 'secretWrite',
    except: { listed: 403 },
    send: async (world) => ({
      path: '/communities/cellar/bans',
      body: { account: (await world.newPerson()).name, kind: 'mute', reason: 'Shouting' },
    }),
  },
}
