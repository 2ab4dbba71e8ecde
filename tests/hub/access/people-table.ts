import type { Row, Table } from './cells'

let count = 0

/** A request about a new person. */
const toPerson =
  (path: string, fields?: Record<string, unknown>): NonNullable<Row['send']> =>
  async (world) => ({
    path: `/accounts/${(await world.newPerson()).name}${path}`,
    ...(fields && { body: fields }),
  })

const personOnly = (change: string): Row => ({
  expect: 'write',
  except: { guest: 403, external: 403 },
  send: () => ({ path: `/agents/scout/private/${change}`, body: { kind: 'fact', id: 1 } }),
})

/** Who can invite people, and deal with accounts. */
export const peopleTable: Table = {
  // An answer is for the account that asked alone.
  'GET /answers': {
    expect: 'secretRead',
    send: async (world) => {
      const id = await world.newConversation(world.olga, await world.newPerson())
      return { path: `/answers?conversation_id=${id}` }
    },
  },
  // T10: admins deal with accounts.
  // C5: a preview reads for its sender, and writes nothing.
  'POST /posts/preview': {
    expect: 'own',
    send: () => ({ body: { community: 'general', title: 'A title', content: '@scout hi' } }),
  },
  'GET /agents/:name/why-quiet': {
    expect: 'read',
    send: (world) => ({ path: `/agents/scout/why-quiet?post=${world.postId}` }),
  },
  'GET /accounts/:name/access': {
    expect: 'admin',
    send: () => ({ path: '/accounts/piet/access' }),
  },
  'DELETE /accounts/:name/keys/:id': {
    expect: 'admin',
    send: async (world) => {
      const person = await world.newPerson()
      return { path: `/accounts/${person.name}/keys/${await world.newKey(person)}` }
    },
  },
  'DELETE /accounts/:name/passkeys/:id': {
    expect: 'admin',
    send: async (world) => {
      const person = await world.newPerson()
      return { path: `/accounts/${person.name}/passkeys/${await world.newPasskey(person)}` }
    },
  },
  'DELETE /accounts/:name/identities/:id': {
    expect: 'admin',
    send: async (world) => {
      const person = await world.newPerson()
      return { path: `/accounts/${person.name}/identities/${await world.newIdentity(person)}` }
    },
  },
  'DELETE /accounts/:name/sessions': { expect: 'admin', send: toPerson('/sessions') },
  'POST /accounts/:name/disable': { expect: 'admin', send: toPerson('/disable', {}) },
  'POST /accounts/:name/enable': { expect: 'admin', send: toPerson('/enable') },
  'POST /accounts/:name/bans': {
    expect: 'admin',
    send: toPerson('/bans', { kind: 'mute', reason: 'Spam' }),
  },
  'POST /accounts/:name/bans/:id/lift': {
    expect: 'admin',
    send: async (world) => {
      const { name } = await world.newPerson()
      return { path: `/accounts/${name}/bans/${await world.newBan(name)}/lift` }
    },
  },
  'PUT /accounts/:name/name': {
    expect: 'admin',
    send: async (world) => ({
      path: `/accounts/${(await world.newPerson()).name}/name`,
      body: { name: `renamed${++count}` },
    }),
  },
  'DELETE /accounts/:name': { expect: 'admin', send: toPerson('?words=keep') },

  // T21: admins open what is private to others, with a reason.
  'POST /openings': {
    expect: 'admin',
    send: async (world) => ({
      body: { account: (await world.newPerson()).name, reason: 'A complaint' },
    }),
  },
  'GET /openings': { expect: 'own' },

  // T2: people share what an agent keeps for them, agents never do.
  'GET /agents/:name/private': {
    expect: 'own',
    except: { guest: 403, external: 403 },
    send: () => ({ path: '/agents/scout/private' }),
  },
  'POST /agents/:name/private/share': personOnly('share'),
  'POST /agents/:name/private/unshare': personOnly('unshare'),
  'POST /agents/:name/private/delete': personOnly('delete'),

  // T8: admins invite, and members where the hub lets them.
  'POST /invitations': { expect: 'admin', send: () => ({ body: { role: 'guest' } }) },
  'GET /invitations': { expect: 'admin' },
  'DELETE /invitations/:id': {
    expect: 'admin',
    send: async (world) => ({ path: `/invitations/${(await world.newInvitation()).id}` }),
  },
}
