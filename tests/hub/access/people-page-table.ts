import type { Row, Table } from './cells'

const form = (path: string, fields: Record<string, string> = {}) => ({ path, body: fields })
const only = (fields: Record<string, string>) => () => ({ body: fields })

const toPerson =
  (action: string, fields: Record<string, string> = {}): NonNullable<Row['send']> =>
  async (world) =>
    form(`/admin/people/${(await world.newPerson()).name}/${action}`, fields)
let count = 0
const fresh = (word: string): string => `${word}${++count}`

const why = { reason: 'Off topic' }

/** Who can join, deal with accounts and moderate on pages. */
export const peoplePageTable: Table = {
  // T8: whoever has the link. The form needs a session for a claim, none for an invitation.
  'GET /join/:token': {
    expect: 'open',
    send: async (world) => ({ path: (await world.newInvitation()).path }),
  },
  'POST /join/:token': {
    expect: 'open',
    send: async (world) => form((await world.newInvitation()).path, { name: fresh('joined') }),
  },
  'GET /claim/:token': { expect: 'own', send: async (world) => ({ path: await world.newClaim() }) },
  'POST /claim/:token': {
    expect: 'write',
    except: { guest: 403 },
    send: async (world) => form(await world.newClaim(), { role: 'guest' }),
  },

  // T10: admins deal with accounts.
  'GET /admin/people': { expect: 'admin' },
  'GET /admin/people/:name': { expect: 'admin', send: () => ({ path: '/admin/people/piet' }) },
  'POST /admin/people/invitations': {
    expect: 'admin',
    send: only({ role: 'guest', expires_in_days: '7', note: '' }),
  },
  'POST /admin/people/invitations/:id/withdraw': {
    expect: 'admin',
    send: async (world) =>
      form(`/admin/people/invitations/${(await world.newInvitation()).id}/withdraw`),
  },
  'POST /admin/people/:name/disable': { expect: 'admin', send: toPerson('disable') },
  'POST /admin/people/:name/enable': { expect: 'admin', send: toPerson('enable') },
  'POST /admin/people/:name/ban': {
    expect: 'admin',
    send: toPerson('ban', { kind: 'ban', reason: 'Spam', days: '' }),
  },
  'POST /admin/people/:name/bans/:id/lift': {
    expect: 'admin',
    send: async (world) => {
      const { name } = await world.newPerson()
      return form(`/admin/people/${name}/bans/${await world.newBan(name)}/lift`)
    },
  },
  'POST /admin/people/:name/keys/:id/revoke': {
    expect: 'admin',
    send: async (world) => {
      const person = await world.newPerson()
      return form(`/admin/people/${person.name}/keys/${await world.newKey(person)}/revoke`)
    },
  },
  'POST /admin/people/:name/passkeys/:id/revoke': {
    expect: 'admin',
    send: async (world) => {
      const person = await world.newPerson()
      const id = await world.newPasskey(person)
      return form(`/admin/people/${person.name}/passkeys/${id}/revoke`)
    },
  },
  'POST /admin/people/:name/identities/:id/revoke': {
    expect: 'admin',
    send: async (world) => {
      const person = await world.newPerson()
      const id = await world.newIdentity(person)
      return form(`/admin/people/${person.name}/identities/${id}/revoke`)
    },
  },
  'POST /admin/people/:name/moderator': {
    expect: 'admin',
    send: toPerson('moderator', { is_moderator: 'true' }),
  },
  'POST /admin/people/:name/end-sessions': { expect: 'admin', send: toPerson('end-sessions') },
  'POST /admin/people/:name/rename': {
    expect: 'admin',
    send: async (world) =>
      form(`/admin/people/${(await world.newPerson()).name}/rename`, { name: fresh('other') }),
  },
  'POST /admin/people/:name/delete': {
    expect: 'admin',
    send: async (world) => {
      const { name } = await world.newPerson()
      return form(`/admin/people/${name}/delete`, { words: 'keep', confirm: name })
    },
  },

  'POST /posts-new': { expect: 'write', send: only({ community: 'general', title: 'A title' }) },
  'POST /p/:id/comments': {
    expect: 'write',
    send: (world) => form(`/p/${world.postId}/comments`, { content: 'A text' }),
  },
  'POST /p/:id/vote': {
    expect: 'write',
    send: (world) => form(`/p/${world.othersPostId}/vote`, { value: '1', next: '/' }),
  },
  'GET /inbox': { expect: 'own' },
  'POST /inbox/read': { expect: 'write', send: only({}) },
  'GET /dm': { expect: 'own' },
  'POST /dm': {
    expect: 'write',
    send: async (world) => form('/dm', { to: (await world.newPerson()).name, content: 'May I?' }),
  },
  'GET /dm/:id': {
    expect: 'secretRead',
    send: (world) => ({ path: `/dm/${world.conversationId}` }),
  },
  'POST /dm/:id': {
    expect: 'secretWrite',
    send: (world) => form(`/dm/${world.conversationId}`, { content: 'Hello' }),
  },
  'POST /dm/:id/approve': {
    expect: 'secretWrite',
    send: async (world) =>
      form(`/dm/${await world.newRequest(await world.newPerson(), world.olga)}/approve`),
  },
  'POST /dm/:id/reject': {
    expect: 'secretWrite',
    send: async (world) =>
      form(`/dm/${await world.newRequest(await world.newPerson(), world.olga)}/reject`),
  },
  'POST /dm/:id/block': {
    expect: 'secretWrite',
    send: async (world) =>
      form(`/dm/${await world.newConversation(await world.newPerson(), world.olga)}/block`),
  },
  'POST /dm/:id/unblock': {
    expect: 'secretWrite',
    send: async (world) => {
      const id = await world.newConversation(await world.newPerson(), world.olga)
      const path = `/conversations/${id}/block`
      await world.call(path, { method: 'PUT', key: world.olga.key, body: {} })
      return form(`/dm/${id}/unblock`)
    },
  },

  // T11: the author edits and deletes, everybody else reports, moderators act.
  'GET /p/:id/edit': {
    expect: 'ownerRead',
    send: (world) => ({ path: `/p/${world.postId}/edit` }),
  },
  'POST /p/:id/edit': {
    expect: 'ownerWrite',
    send: (world) =>
      form(`/p/${world.postId}/edit`, { title: 'A title', content: 'A text', url: '' }),
  },
  'POST /p/:id/delete': {
    expect: 'ownerWrite',
    send: async (world) => form(`/p/${await world.newPost(world.olga)}/delete`),
  },
  'GET /p/:id/report': {
    expect: 'own',
    send: (world) => ({ path: `/p/${world.othersPostId}/report` }),
  },
  'POST /p/:id/report': {
    expect: 'write',
    send: async (world) =>
      form(`/p/${await world.newPost(world.piet)}/report`, { reason: 'Off topic' }),
  },
  'GET /p/:id/moderate': {
    expect: 'moderator',
    send: async (world) => ({ path: `/p/${await world.newPost(world.olga)}/moderate` }),
  },
  'POST /p/:id/moderate': {
    expect: 'moderator',
    send: async (world) =>
      form(`/p/${await world.newPost(world.olga)}/moderate`, { ...why, action: 'lock', days: '' }),
  },
  // Who creates a community moderates it: olga here. A guest who created one does not.
  'GET /moderation': {
    expect: 'moderator',
    except: { reader: '+', owner: '+' },
    send: async (world) => {
      await world.leaveCommunities()
      return {}
    },
  },
  'POST /moderation/appeals/:id': {
    expect: 'moderator',
    send: async (world) =>
      form(`/moderation/appeals/${await world.newAppeal()}`, { ...why, decision: 'uphold' }),
  },
  'GET /moderation/mine': { expect: 'own' },
  'POST /moderation/mine': {
    expect: 'secretWrite',
    send: async (world) =>
      form('/moderation/mine', {
        action_id: (await world.newRemoval()).actionId,
        text: 'It is true.',
      }),
  },
  'GET /moderation/log/:name': {
    expect: 'read',
    send: () => ({ path: '/moderation/log/general' }),
  },
  'POST /moderation/log/:name/lift/:id': {
    expect: 'moderator',
    send: async (world) =>
      form(`/moderation/log/general/lift/${await world.newCommunityBan()}`, why),
  },
  'GET /moderation/notice': { expect: 'own', except: { banned: '+' } },
  'POST /moderation/notice': {
    expect: 'secretWrite',
    except: { writer: 404, owner: 404, banned: 404 },
    send: async (world) =>
      form('/moderation/notice', { ban_id: (await world.newHubBan()).id, text: 'It is not true.' }),
  },
  'POST /moderation/bans/:id': {
    expect: 'admin',
    send: async (world) =>
      form(`/moderation/bans/${(await world.newHubBan()).id}`, { ...why, decision: 'uphold' }),
  },
}
