import { samples } from '../media/samples'
import { backupRows } from './backup-table'
import type { Table } from './cells'
import { snapshot } from './contents'
import { definitionRows } from './definition-table'
import { modelRows } from './model-table'
import { moderationTable } from './moderation-table'
import { peopleTable } from './people-table'
import { placeRows } from './place-table'
import { runnerApiRows } from './runner-table'
import { runApiRows } from './runs-table'
import { setRows } from './sets-table'
import { approvalRows } from './standing-rule-table'
import { trialRows } from './trials-table'
import { triggerRows } from './trigger-table'
import { webhookRows } from './webhook-table'

let count = 0
/** Returns a name that no earlier request used. */
const fresh = (word: string): string => `${word}${++count}`

const body = (fields: Record<string, unknown>) => () => ({ body: fields })
const text = { content: 'A text' }

/** Who can do what through the hub's JSON API. */
export const apiTable: Table = {
  'POST /me/keys': { expect: 'write', send: body({ scopes: ['write'], label: 'row' }) },
  // T16: the scopes of a new key are within those of the key that asked.
  'POST /me/keys (more scopes)': {
    expect: 'write',
    except: { writer: 403 },
    send: body({ scopes: ['read', 'write'], label: 'row' }),
  },
  'GET /me/keys': { expect: 'own' },
  'POST /accounts/:name/service-keys': {
    expect: 'admin',
    send: () => ({ path: '/accounts/exte/service-keys', body: { label: 'row' } }),
  },
  'DELETE /me/keys/:id': {
    expect: 'secretWrite',
    send: async (world) => ({ path: `/me/keys/${await world.newKey(world.olga)}` }),
  },

  'POST /media': { expect: 'write', send: () => ({ image: samples.png }) },

  'PUT /me/avatar': { expect: 'write', send: () => ({ image: samples.png }) },
  'DELETE /me/avatar': { expect: 'write' },
  // The owner of an agent sets its picture, too: `tests/hub/media/pictures.test.ts`.
  'PUT /accounts/:name/avatar': {
    expect: 'admin',
    send: () => ({ path: '/accounts/scout/avatar', image: samples.png }),
  },
  'DELETE /accounts/:name/avatar': {
    expect: 'admin',
    send: () => ({ path: '/accounts/piet/avatar' }),
  },
  'PUT /communities/:name/picture': {
    expect: 'ownerOrAdminWrite',
    send: (world) => ({ path: `/communities/${world.communityName}/picture`, image: samples.png }),
  },
  'DELETE /communities/:name/picture': {
    expect: 'ownerOrAdminWrite',
    send: (world) => ({ path: `/communities/${world.communityName}/picture` }),
  },

  // H22: direct messages are private always, from admins too.
  'POST /conversations': {
    expect: 'write',
    send: async (world) => ({ body: { to: (await world.newPerson()).name, content: 'May I?' } }),
  },
  'GET /conversations/requests': { expect: 'own' },
  'GET /conversations': { expect: 'own' },
  'GET /conversations/:id/messages': {
    expect: 'secretRead',
    send: (world) => ({ path: `/conversations/${world.conversationId}/messages` }),
  },
  'POST /conversations/:id/messages': {
    expect: 'secretWrite',
    send: (world) => ({
      path: `/conversations/${world.conversationId}/messages`,
      body: { content: 'Hello' },
    }),
  },
  'POST /conversations/requests/:id/approve': {
    expect: 'secretWrite',
    send: async (world) => ({
      path: `/conversations/requests/${await world.newRequest(await world.newPerson(), world.olga)}/approve`,
      body: {},
    }),
  },
  'POST /conversations/requests/:id/reject': {
    expect: 'secretWrite',
    send: async (world) => ({
      path: `/conversations/requests/${await world.newRequest(await world.newPerson(), world.olga)}/reject`,
      body: {},
    }),
  },
  'PUT /conversations/:id/block': {
    expect: 'secretWrite',
    send: async (world) => ({
      path: `/conversations/${await world.newConversation(await world.newPerson(), world.olga)}/block`,
      body: {},
    }),
  },
  'DELETE /conversations/:id/block': {
    expect: 'secretWrite',
    send: async (world) => {
      const id = await world.newConversation(await world.newPerson(), world.olga)
      const path = `/conversations/${id}/block`
      await world.call(path, { method: 'PUT', key: world.olga.key, body: {} })
      return { path }
    },
  },

  // T8: who registers without a key is a guest. With a key, it is a write. On a private hub, admins do it.
  'POST /accounts': {
    expect: 'open',
    except: { token: 401, reader: 403, pending: 403, disabled: 403, banned: 403 },
    privately: 'admin',
    send: () => ({ body: { name: fresh('new') } }),
  },
  // H1: kind human and role admin are given by admins only.
  'POST /accounts (a person)': {
    expect: 'admin',
    send: () => ({ body: { name: fresh('new'), kind: 'human' } }),
  },
  'POST /accounts (an admin)': {
    expect: 'admin',
    send: () => ({ body: { name: fresh('new'), role: 'admin' } }),
  },
  'PUT /accounts/:name/role': {
    expect: 'admin',
    send: async (world) => ({
      path: `/accounts/${(await world.newPerson()).name}/role`,
      body: { role: 'guest' },
    }),
  },
  ...peopleTable,
  ...runnerApiRows,
  ...backupRows,
  'GET /me': { expect: 'own', except: { pending: '+' } },
  'PATCH /me': { expect: 'write', send: body({ description: 'Likes plums' }) },
  'GET /accounts': { expect: 'read' },
  'POST /sessions/link': { expect: 'admin', send: body({ name: 'olga' }) },

  'GET /communities': { expect: 'read' },
  'POST /communities': { expect: 'write', send: () => ({ body: { name: fresh('place') } }) },
  'GET /communities/:name': { expect: 'read', send: () => ({ path: '/communities/general' }) },
  ...placeRows,

  'POST /posts': { expect: 'write', send: body({ community: 'general', title: 'A title' }) },
  'GET /posts': { expect: 'read' },
  // T11: nobody rewrites the words of others. A moderator removes them, with a reason.
  'PATCH /posts/:id': {
    expect: 'ownerWrite',
    send: (world) => ({ path: `/posts/${world.postId}`, body: { title: 'A better title' } }),
  },
  'DELETE /posts/:id': {
    expect: 'ownerWrite',
    send: async (world) => ({ path: `/posts/${await world.newPost(world.olga)}` }),
  },
  'GET /posts/:id': { expect: 'read', send: (world) => ({ path: `/posts/${world.postId}` }) },
  'GET /posts/:id/versions': {
    expect: 'read',
    send: (world) => ({ path: `/posts/${world.postId}/versions` }),
  },
  'GET /comments/:id/versions': {
    expect: 'read',
    send: (world) => ({ path: `/comments/${world.commentId}/versions` }),
  },
  'GET /posts/:id/comments': {
    expect: 'read',
    send: (world) => ({ path: `/posts/${world.postId}/comments` }),
  },
  'POST /posts/:id/comments': {
    expect: 'write',
    send: (world) => ({ path: `/posts/${world.postId}/comments`, body: text }),
  },
  'GET /comments/:id': {
    expect: 'read',
    send: (world) => ({ path: `/comments/${world.commentId}` }),
  },
  // T11: nobody rewrites the words of others. A moderator removes them, with a reason.
  'PATCH /comments/:id': {
    expect: 'ownerWrite',
    send: (world) => ({ path: `/comments/${world.commentId}`, body: text }),
  },
  'DELETE /comments/:id': {
    expect: 'ownerWrite',
    send: async (world) => ({
      path: `/comments/${await world.newComment(world.olga, world.othersPostId)}`,
    }),
  },
  'PUT /posts/:id/vote': {
    expect: 'write',
    send: (world) => ({ path: `/posts/${world.othersPostId}/vote`, body: { value: 1 } }),
  },
  'PUT /comments/:id/vote': {
    expect: 'write',
    send: (world) => ({ path: `/comments/${world.othersCommentId}/vote`, body: { value: -1 } }),
  },

  ...moderationTable,

  'GET /inbox': { expect: 'own' },
  'GET /inbox/count': { expect: 'own' },
  'POST /inbox/read': { expect: 'write', send: body({ ids: [] }) },
  // A mail service reports with a secret of its own: `tests/hub/mail/bounces.test.ts`.
  'POST /mail/bounces': { expect: 'unset', send: body({}) },
  'GET /settings/notifications': { expect: 'own' },
  'PATCH /settings/notifications': { expect: 'write', send: body({ dm: ['push'] }) },

  // H9: what has been answered is the caller's, the posts are everybody's.
  'GET /feed/discover': { expect: 'read' },
  'GET /feed': { expect: 'read' },
  'GET /home': { expect: 'own' },
  'GET /communities/:name/feed': {
    expect: 'read',
    send: () => ({ path: '/communities/general/feed' }),
  },
  'GET /accounts/:name': { expect: 'read', send: () => ({ path: '/accounts/olga' }) },
  'GET /search': { expect: 'read', send: () => ({ path: '/search?q=title' }) },

  // T2: a session has what its requesters said in private. The agent itself and admins see it.
  'GET /agents/:name/sessions': {
    expect: 'ownerOrAdminRead',
    owner: 'scout',
    send: () => ({ path: '/agents/scout/sessions' }),
  },
  'GET /agents/:name/sessions/:id': {
    expect: 'ownerOrAdminRead',
    owner: 'scout',
    send: (world) => ({ path: `/agents/scout/sessions/${world.sessionId}` }),
  },
  'PUT /agents/:name/sessions/:id': {
    expect: 'ownerOrAdminWrite',
    owner: 'scout',
    send: () => ({ path: '/agents/scout/sessions/general_p2', body: snapshot }),
  },
  'DELETE /agents/:name/sessions/:id': {
    expect: 'ownerOrAdminWrite',
    owner: 'scout',
    send: async (world) => ({
      path: `/agents/scout/sessions/${await world.newSession('general_p3')}`,
    }),
  },
  'POST /agents/:name/sessions/:id/compact': {
    expect: 'ownerOrAdminWrite',
    owner: 'scout',
    send: async (world) => ({
      path: `/agents/scout/sessions/${await world.newSession('general_p4')}/compact`,
    }),
  },

  ...definitionRows,
  'POST /agents/:name/activate': {
    expect: 'admin',
    send: () => ({ path: '/agents/scout/activate', body: { task: 'Count the plums' } }),
  },
  'GET /agents/:name/grants': { expect: 'admin', send: () => ({ path: '/agents/scout/grants' }) },
  'PUT /agents/:name/grants': {
    expect: 'admin',
    send: () => ({ path: '/agents/scout/grants', body: { allowed: ['hub:read'] } }),
  },
  'DELETE /agents/:name/grants': {
    expect: 'admin',
    send: () => ({ path: '/agents/scout/grants' }),
  },
  'GET /tools': { expect: 'own' },

  // Every run can be inspected; what stands in it is redacted for those who may not see it (M9).
  'GET /activations': { expect: 'read' },
  ...runApiRows,
  ...trialRows,
  ...setRows,
  'GET /activations/:id': {
    expect: 'read',
    send: (world) => ({ path: `/activations/${world.activationId}` }),
  },
  'GET /activations/:id/events': {
    expect: 'read',
    send: (world) => ({ path: `/activations/${world.activationId}/events` }),
  },
  'GET /activations/:id/otlp': {
    expect: 'read',
    send: (world) => ({ path: `/activations/${world.activationId}/otlp` }),
  },
  // The requester and admins.
  'POST /activations/:id/cancel': {
    expect: 'ownerOrAdminWrite',
    send: (world) => ({ path: `/activations/${world.activationId}/cancel` }),
  },
  ...approvalRows,
  ...modelRows,
  'GET /admin/log': { expect: 'admin' },
  'GET /audit': { expect: 'own' },
  'GET /audit/:id': {
    expect: 'secretOrAdminRead',
    owner: 'scout',
    send: (world) => ({ path: `/audit/${world.auditId}` }),
  },

  // pages.md: a person understands in ten seconds what the hub costs.
  'GET /budgets/health': { expect: 'read' },
  'GET /budgets': { expect: 'read' },
  'PATCH /budgets/:id': {
    expect: 'admin',
    send: (world) => ({ path: `/budgets/${world.budgetId}`, body: { limit_microusd: 20_000_000 } }),
  },
  'POST /budgets': {
    expect: 'admin',
    send: body({ scope: 'agent', name: 'wren', period: 'month', limit_microusd: 1 }),
  },
  'DELETE /budgets/:id': {
    expect: 'admin',
    send: (world) => ({ path: `/budgets/${world.weekBudgetId}` }),
  },
  'GET /usage': { expect: 'read' },
  'GET /budgets/audit': { expect: 'admin' },
  'POST /budgets/audit/repair': { expect: 'admin' },
  'POST /system/pause': { expect: 'admin' },
  'POST /system/announce-stop': { expect: 'admin' },
  'POST /system/welcome (used hub)': { expect: 'admin' },
  'POST /system/resume': { expect: 'admin' },
  'POST /agents/:name/pause': { expect: 'admin', send: () => ({ path: '/agents/wren/pause' }) },
  'POST /agents/:name/resume': { expect: 'admin', send: () => ({ path: '/agents/wren/resume' }) },
  'GET /system/scheduler': { expect: 'read' },
  'GET /system/reply-limits': { expect: 'read' },
  'PUT /system/reply-limits': { expect: 'admin', send: body({ hop_limit: 4, reply_limit: 3 }) },
  ...webhookRows,
  ...triggerRows,
  'POST /import': { expect: 'admin', send: body({ items: [] }) },
}
