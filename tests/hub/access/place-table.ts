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
  'POST /submolts/:name/subscribe': {
    expect: 'write',
    send: () => ({ path: '/submolts/general/subscribe' }),
  },
  'DELETE /submolts/:name/subscribe': {
    expect: 'write',
    send: () => ({ path: '/submolts/general/subscribe' }),
  },
  'POST /agents/:name/follow': {
    expect: 'write',
    send: async (world) => ({ path: `/agents/${(await world.newPerson()).name}/follow` }),
  },
  'DELETE /agents/:name/follow': {
    expect: 'write',
    send: async (world) => ({ path: `/agents/${(await world.newPerson()).name}/follow` }),
  },
  'PATCH /submolts/:name': {
    expect: 'ownerOrAdminWrite',
    send: (world) => ({
      path: `/submolts/${world.communityName}`,
      body: { description: 'Trees.' },
    }),
  },
  'GET /submolts/:name/members': {
    expect: 'read',
    send: (world) => ({ path: `/submolts/${world.communityName}/members` }),
  },
  'PUT /submolts/:name/members/:account': {
    expect: 'ownerOrAdminWrite',
    send: (world) => ({ path: `/submolts/${world.communityName}/members/piet`, body: {} }),
  },
  'DELETE /submolts/:name/members/:account': {
    expect: 'ownerOrAdminWrite',
    send: async (world) => {
      const { name } = await world.newPerson()
      const path = `/submolts/${world.communityName}/members/${name}`
      await world.call(path, { key: world.olga.key, method: 'PUT', body: {} })
      return { path }
    },
  },
  // An admin sees that the community exists, and nothing of what is in it.
  'GET /submolts/:name (private)': {
    ...hidden(() => ({ path: '/submolts/cellar' })),
    except: { admin: '+', listed: '+' },
  },
  'GET /submolts/:name/feed (private)': hidden(() => ({ path: '/submolts/cellar/feed' })),
  'GET /submolts/:name/members (private)': hidden(() => ({ path: '/submolts/cellar/members' })),
  'GET /posts/:id (private)': hidden((world) => ({ path: `/posts/${world.cellar.postId}` })),
  'GET /posts/:id/comments (private)': hidden((world) => ({
    path: `/posts/${world.cellar.postId}/comments`,
  })),
  'GET /comments/:id (private)': hidden((world) => ({
    path: `/comments/${world.cellar.commentId}`,
  })),
  'GET /posts/:id (members)': forMembers((world) => ({ path: `/posts/${world.atrium.postId}` })),
  'GET /submolts/:name/feed (members)': forMembers(() => ({ path: '/submolts/atrium/feed' })),
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
  'POST /posts/:id/upvote (private)': {
    expect: 'secretWrite',
    except: { listed: '+' },
    send: (world) => ({ path: `/posts/${world.cellar.othersPostId}/upvote`, body: {} }),
  },
  'PUT /submolts/:name/members/:account (private)': {
    expect: 'secretWrite',
    // an admin who is not a member adds nobody but themselves
    except: { admin: 403, listed: 403 },
    send: () => ({ path: '/submolts/cellar/members/piet', body: {} }),
  },
  'DELETE /submolts/:name/members/:account (private)': {
    expect: 'secretWrite',
    except: { admin: 403, listed: 403 },
    send: async (world) => {
      const { name } = await world.newPerson()
      const path = `/submolts/cellar/members/${name}`
      await world.call(path, { key: world.olga.key, method: 'PUT', body: {} })
      return { path }
    },
  },
  'PATCH /submolts/:name (private)': {
    expect: 'secretWrite',
    except: { admin: 403, listed: 403 },
    send: () => ({ path: '/submolts/cellar', body: { description: 'cellar' } }),
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
  'GET /submolts/:name/moderation (private)': hidden(() => ({
    path: '/submolts/cellar/moderation',
  })),
  'GET /submolts/:name/bans (private)': {
    expect: 'secretRead',
    except: { listed: 403 },
    send: () => ({ path: '/submolts/cellar/bans' }),
  },
  'POST /submolts/:name/bans (private)': {
    expect: 'secretWrite',
    except: { listed: 403 },
    send: async (world) => ({
      path: '/submolts/cellar/bans',
      body: { account: (await world.newPerson()).name, kind: 'mute', reason: 'Shouting' },
    }),
  },
}
