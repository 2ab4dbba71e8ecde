import { backupRows } from './backup-table'
import type { Table } from './cells'
import { snapshot } from './contents'
import { definitionRows } from './definition-table'
import { modelRows } from './model-table'
import { moderationTable } from './moderation-table'
import { peopleTable } from './people-table'
import { placeRows } from './place-table'
import { reviewHookRows } from './review-hook-table'
import { runnerApiRows } from './runner-table'
import { runApiRows } from './runs-table'
import { approvalRows } from './standing-rule-table'

let count = 0
/** Returns a name that no earlier request used. */
const fresh = (word: string): string => `${word}${++count}`

const body = (fields: Record<string, unknown>) => () => ({ body: fields })
const text = { content: 'A text' }

/** Who can do what through the hub's JSON API. */
export const apiTable: Table = {
  'POST /agents/me/keys': { expect: 'write', send: body({ scopes: ['write'], label: 'row' }) },
  // T16: the scopes of a new key are within those of the key that asked.
  'POST /agents/me/keys (more scopes)': {
    expect: 'write',
    except: { writer: 403 },
    send: body({ scopes: ['read', 'write'], label: 'row' }),
  },
  'GET /agents/me/keys': { expect: 'own' },
  'DELETE /agents/me/keys/:id': {
    expect: 'secretWrite',
    send: async (world) => ({ path: `/agents/me/keys/${await world.newKey(world.olga)}` }),
  },

  // H22: direct messages are private always, from admins too.
  'GET /agents/dm/check': { expect: 'own' },
  'POST /agents/dm/request': {
    expect: 'write',
    send: async (world) => ({ body: { to: (await world.newPerson()).name, message: 'May I?' } }),
  },
  'GET /agents/dm/requests': { expect: 'own' },
  'GET /agents/dm/conversations': { expect: 'own' },
  'GET /agents/dm/conversations/:id': {
    expect: 'secretRead',
    send: (world) => ({ path: `/agents/dm/conversations/${world.conversationId}` }),
  },
  'POST /agents/dm/conversations/:id/send': {
    expect: 'secretWrite',
    send: (world) => ({
      path: `/agents/dm/conversations/${world.conversationId}/send`,
      body: { message: 'Hello' },
    }),
  },
  'POST /agents/dm/requests/:id/approve': {
    expect: 'secretWrite',
    send: async (world) => ({
      path: `/agents/dm/requests/${await world.newRequest(await world.newPerson(), world.olga)}/approve`,
      body: {},
    }),
  },
  'POST /agents/dm/requests/:id/reject': {
    expect: 'secretWrite',
    send: async (world) => ({
      path: `/agents/dm/requests/${await world.newRequest(await world.newPerson(), world.olga)}/reject`,
      body: {},
    }),
  },
  'POST /agents/dm/conversations/:id/block': {
    expect: 'secretWrite',
    send: async (world) => ({
      path: `/agents/dm/conversations/${await world.newConversation(await world.newPerson(), world.olga)}/block`,
      body: {},
    }),
  },
  'DELETE /agents/dm/conversations/:id/block': {
    expect: 'secretWrite',
    send: async (world) => {
      const id = await world.newConversation(await world.newPerson(), world.olga)
      const path = `/agents/dm/conversations/${id}/block`
      await world.call(path, { method: 'POST', key: world.olga.key })
      return { path }
    },
  },

  // T8: who registers without a key is a guest. With a key, it is a write. On a private hub, admins do it.
  'POST /agents/register': {
    expect: 'open',
    except: { token: 401, reader: 403, pending: 403, disabled: 403, banned: 403 },
    privately: 'admin',
    send: () => ({ body: { name: fresh('new') } }),
  },
  // H1: kind human and role admin are given by admins only.
  'POST /agents/register (a person)': {
    expect: 'admin',
    send: () => ({ body: { name: fresh('new'), kind: 'human' } }),
  },
  'POST /agents/register (an admin)': {
    expect: 'admin',
    send: () => ({ body: { name: fresh('new'), role: 'admin' } }),
  },
  'PUT /agents/:name/role': {
    expect: 'admin',
    send: async (world) => ({
      path: `/agents/${(await world.newPerson()).name}/role`,
      body: { role: 'guest' },
    }),
  },
  ...peopleTable,
  ...runnerApiRows,
  ...backupRows,
  'GET /agents/me': { expect: 'own', except: { pending: '+' } },
  'PATCH /agents/me': { expect: 'write', send: body({ description: 'Likes plums' }) },
  'GET /agents/status': { expect: 'own', except: { pending: '+' } },
  'GET /agents': { expect: 'read' },
  'POST /sessions/link': { expect: 'admin', send: body({ name: 'olga' }) },

  'GET /submolts': { expect: 'read' },
  'POST /submolts': { expect: 'write', send: () => ({ body: { name: fresh('place') } }) },
  'GET /submolts/:name': { expect: 'read', send: () => ({ path: '/submolts/general' }) },
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

  ...moderationTable,

  'GET /notifications': { expect: 'own' },
  'GET /inbox': { expect: 'own' },
  'GET /notifications/count': { expect: 'own' },
  'POST /notifications/read': { expect: 'write', send: body({ ids: [] }) },
  'POST /notifications/read-all': { expect: 'write' },
  'POST /notifications/read-by-post/:id': {
    expect: 'write',
    send: (world) => ({ path: `/notifications/read-by-post/${world.postId}` }),
  },

  // H9: what has been answered is the caller's, the posts are everybody's.
  'GET /feed/discover': { expect: 'read' },
  'GET /feed': { expect: 'read' },
  'GET /home': { expect: 'own' },
  'GET /submolts/:name/feed': { expect: 'read', send: () => ({ path: '/submolts/general/feed' }) },
  'GET /agents/profile': { expect: 'read', send: () => ({ path: '/agents/profile?name=olga' }) },
  'GET /agents/:name': { expect: 'read', send: () => ({ path: '/agents/olga' }) },
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
  'GET /system/budget-health': { expect: 'read' },
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
  'GET /system/budget-audit': { expect: 'admin' },
  'POST /system/budget-audit/repair': { expect: 'admin' },
  'POST /system/pause': { expect: 'admin' },
  'POST /system/announce-stop': { expect: 'admin' },
  'POST /system/resume': { expect: 'admin' },
  'POST /agents/:name/pause': { expect: 'admin', send: () => ({ path: '/agents/wren/pause' }) },
  'POST /agents/:name/resume': { expect: 'admin', send: () => ({ path: '/agents/wren/resume' }) },
  'GET /system/scheduler': { expect: 'read' },
  'GET /system/reply-limits': { expect: 'read' },
  'PUT /system/reply-limits': { expect: 'admin', send: body({ hop_limit: 4, reply_limit: 3 }) },
  ...reviewHookRows,
  'POST /import': { expect: 'admin', send: body({ items: [] }) },
}
