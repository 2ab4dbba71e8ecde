import { pastPostPath } from '../../../src/shared/paths'
import type { Table } from './cells'
import { definitionPageRows } from './definition-table'
import { mailPageRows } from './mail-table'
import { modelPageRows } from './model-table'
import { peoplePageTable } from './people-page-table'
import { remotePageRows } from './remote-page-table'
import { runnerPageRows } from './runner-table'
import { runPageRows } from './runs-table'
import { setPageRows } from './sets-table'
import { sendImageForm, showImage, showPicture } from './show-image'
import { signInTable } from './sign-in-table'
import { standingRulePageRows } from './standing-rule-table'
import { trialPageRows } from './trial-page-table'
import { triggerPageRows } from './trigger-table'
import { webhookPageRows } from './webhook-table'

const form = (path: string, fields: Record<string, string> = {}) => ({ path, body: fields })
const only = (fields: Record<string, string>) => () => ({ body: fields })

const thresholds = { warning_percent: '80', throttle_percent: '90', critical_percent: '100' }
const amounts = { limit_dollars: '20', limit_tokens: '', ...thresholds }
const policy = { allowed: 'hub:read', denied: '', require_approval: '', rate_limits: '' }
let corners = 0
const upgrade = { upgrade: 'websocket' }

/** Who can open and send what in a browser. The pages of pages.md, and what the root serves beside them. */
export const pageTable: Table = {
  ...signInTable,
  ...mailPageRows,
  'GET /healthz': { expect: 'open' },
  'GET /readyz': { expect: 'open' },
  'GET /metrics': { expect: 'read' },
  'GET /openapi.json': { expect: 'open' },
  'GET /skill.md': { expect: 'open' },
  'GET /docs': { expect: 'read' },
  'GET /docs/guides/:name': { expect: 'read', send: () => ({ path: '/docs/guides/models' }) },
  'GET /docs/:group': { expect: 'read', send: () => ({ path: '/docs/write' }) },
  'GET /assets/:file': {
    expect: 'open',
    send: async (world) => ({ path: await world.findAsset() }),
  },
  'GET /favicon.svg': { expect: 'open' },
  'GET /favicon.ico': { expect: 'open' },
  'GET /push-worker.js': { expect: 'open' },
  'GET /manifest.webmanifest': { expect: 'open' },

  'GET /images': { expect: 'own' },
  'POST /images': { expect: 'write', send: sendImageForm },
  // H18: an image is for those who read a text that shows it, and its uploader.
  'GET /media/:id': { expect: 'read', send: (world) => showImage(world, 'community') },
  'GET /media/:id (of a private community)': {
    expect: 'hiddenRead',
    privately: 'secretRead',
    except: { listed: '+' },
    send: (world) => showImage(world, 'cellar'),
  },
  'GET /media/:id (of a message)': {
    expect: 'hiddenRead',
    privately: 'secretRead',
    send: (world) => showImage(world, 'message'),
  },
  'GET /media/:id (not shown)': {
    expect: 'hiddenRead',
    privately: 'secretRead',
    send: (world) => showImage(world, null),
  },

  // The picture of an account is for everybody who reads the hub, that of a community for its readers.
  'GET /media/avatars/:id': { expect: 'read', send: (world) => showPicture(world, 'olga') },
  'GET /media/:id (picture of a private community)': {
    expect: 'hiddenRead',
    privately: 'secretRead',
    except: { listed: '+' },
    send: (world) => showPicture(world, 'cellar'),
  },

  'GET /': { expect: 'read' },
  'GET /posts-new': { expect: 'read' },
  'GET /feed.atom': { expect: 'read' },
  'GET /m/:file{[^/]+\\.atom}': { expect: 'read', send: () => ({ path: '/m/general.atom' }) },
  'GET /m/:file{[^/]+\\.atom} (private)': {
    expect: 'hiddenRead',
    privately: 'secretRead',
    except: { listed: '+' },
    send: () => ({ path: '/m/cellar.atom' }),
  },
  'GET /a/:file{[^/]+\\.atom}': { expect: 'read', send: () => ({ path: '/a/olga.atom' }) },
  'GET /p/:file{[^/]+\\.atom}': {
    expect: 'read',
    send: (world) => ({ path: `/p/${world.postId}.atom` }),
  },
  'GET /p/:file{[^/]+\\.atom} (private)': {
    expect: 'hiddenRead',
    privately: 'secretRead',
    except: { listed: '+' },
    send: (world) => ({ path: `/p/${world.cellar.postId}.atom` }),
  },
  'GET /m': { expect: 'read' },
  'GET /m/:name': { expect: 'read', send: () => ({ path: '/m/general' }) },
  'GET /m/:name/settings': { expect: 'read', send: () => ({ path: '/m/orchard/settings' }) },
  'POST /m/:name/settings': {
    expect: 'ownerOrAdminWrite',
    send: () => form('/m/orchard/settings', { display_name: 'Trees', visibility: 'public' }),
  },
  'POST /m/:name/picture': {
    expect: 'ownerOrAdminWrite',
    send: async () => ({ path: '/m/orchard/picture', ...(await sendImageForm()) }),
  },
  'POST /m/:name/members': {
    expect: 'ownerOrAdminWrite',
    send: () => form('/m/orchard/members', { account: 'piet', role: 'member' }),
  },
  'POST /m/:name/members/remove': {
    expect: 'ownerOrAdminWrite',
    send: async (world) => {
      const { name } = await world.newPerson()
      const path = `/communities/orchard/members/${name}`
      await world.call(path, { key: world.olga.key, method: 'PUT', body: {} })
      return form('/m/orchard/members/remove', { account: name })
    },
  },
  'POST /m/:name/subscribe': {
    expect: 'write',
    send: () => form('/m/general/subscribe', { on: 'yes' }),
  },
  'POST /a/:name/follow': {
    expect: 'write',
    send: async (world) => form(`/a/${(await world.newPerson()).name}/follow`, { on: 'yes' }),
  },
  'GET /communities-new': { expect: 'read' },
  'POST /communities-new': {
    expect: 'write',
    send: () => form('/communities-new', { name: `corner-${++corners}`, visibility: 'public' }),
  },
  'GET /m/:name (private)': {
    expect: 'hiddenRead',
    privately: 'secretRead',
    except: { admin: '+', listed: '+' },
    send: () => ({ path: '/m/cellar' }),
  },
  'GET /m/:name/settings (private)': {
    expect: 'hiddenRead',
    privately: 'secretRead',
    except: { admin: 403, listed: '+' },
    send: () => ({ path: '/m/cellar/settings' }),
  },
  'POST /m/:name/settings (private)': {
    expect: 'secretWrite',
    except: { admin: 403, listed: 403 },
    send: () =>
      form('/m/cellar/settings', {
        display_name: 'cellar',
        description: 'cellar',
        visibility: 'private',
      }),
  },
  'POST /m/:name/members (private)': {
    expect: 'secretWrite',
    except: { admin: 403, listed: 403 },
    send: () => form('/m/cellar/members', { account: 'piet', role: 'member' }),
  },
  'GET /p/:id/versions': {
    expect: 'read',
    send: (world) => ({ path: `/p/${world.postId}/versions` }),
  },
  'GET /p/:id/versions (private)': {
    expect: 'hiddenRead',
    privately: 'secretRead',
    except: { listed: '+' },
    send: (world) => ({ path: `/p/${world.cellar.postId}/versions` }),
  },
  'GET /p/:id (private)': {
    expect: 'hiddenRead',
    privately: 'secretRead',
    except: { listed: '+' },
    send: (world) => ({ path: `/p/${world.cellar.postId}` }),
  },
  'GET /p/:id (members)': {
    expect: 'membersRead',
    privately: 'privateMembersRead',
    send: (world) => ({ path: `/p/${world.atrium.postId}` }),
  },
  'GET /live/posts/:id (private)': {
    expect: 'hiddenRead',
    privately: 'secretRead',
    except: { listed: '+' },
    send: (world) => ({ path: `/live/posts/${world.cellar.postId}`, headers: upgrade }),
  },
  'GET /p/:id': { expect: 'read', send: (world) => ({ path: `/p/${world.postId}` }) },
  'GET /p/:id (as it was)': {
    expect: 'read',
    send: (world) => ({ path: pastPostPath(world.postId, world.hub.clock.now()) }),
  },
  'GET /p/:id (as it was, private)': {
    expect: 'hiddenRead',
    privately: 'secretRead',
    except: { listed: '+' },
    send: (world) => ({ path: pastPostPath(world.cellar.postId, world.hub.clock.now()) }),
  },
  'POST /p/:id/following': {
    expect: 'ownerOrAdminWrite',
    except: { moderator: '+' },
    send: (world) => form(`/p/${world.postId}/following`, { agent: 'scout' }),
  },
  'POST /p/:id/lifted-limits': {
    expect: 'ownerOrAdminWrite',
    except: { moderator: '+' },
    send: async (world) => form(`/p/${await world.newStop()}/lifted-limits`, {}),
  },
  'GET /a/:name': { expect: 'read', send: () => ({ path: '/a/scout' }) },
  ...definitionPageRows,
  'POST /posts-preview': {
    expect: 'own',
    send: () => ({ body: { community: 'general', title: 'A title', content: '@scout hi' } }),
  },
  'GET /agents/:name/why-quiet': {
    expect: 'read',
    send: (world) => ({ path: `/agents/scout/why-quiet?post=${world.postId}` }),
  },
  'GET /activations/:id': {
    expect: 'read',
    send: (world) => ({ path: `/activations/${world.activationId}` }),
  },
  ...runPageRows,
  ...trialPageRows,
  ...setPageRows,
  'GET /search': { expect: 'read', send: () => ({ path: '/search?q=title' }) },
  'GET /scheduler': { expect: 'read' },
  'GET /scheduler.csv': { expect: 'read' },
  'GET /budgets': { expect: 'read' },
  'GET /budgets.csv': { expect: 'read' },
  'GET /live/feed': { expect: 'read', send: () => ({ path: '/live/feed', headers: upgrade }) },
  'GET /live/posts/:id': {
    expect: 'read',
    send: (world) => ({ path: `/live/posts/${world.postId}`, headers: upgrade }),
  },
  'GET /live/activations/:id': {
    expect: 'read',
    send: (world) => ({ path: `/live/activations/${world.activationId}`, headers: upgrade }),
  },

  ...peoplePageTable,
  ...runnerPageRows,
  ...webhookPageRows,
  ...triggerPageRows,
  // The requester and admins.
  'POST /activations/:id/stop': {
    expect: 'ownerOrAdminWrite',
    send: (world) => form(`/activations/${world.activationId}/stop`),
  },
  'POST /activations/:id/open': {
    expect: 'admin',
    send: async (world) =>
      form(`/activations/${await world.newPrivateRun()}/open`, { reason: 'A complaint' }),
  },
  'POST /a/:name/private': {
    expect: 'write',
    except: { guest: 403, external: 403 },
    send: () => form('/a/scout/private', { kind: 'fact', id: '1', change: 'share' }),
  },
  'POST /a/:name/pause': { expect: 'admin', send: () => form('/a/scout/pause') },
  'POST /a/:name/resume': { expect: 'admin', send: () => form('/a/scout/resume') },
  'POST /a/:name/role': {
    expect: 'admin',
    send: async (world) => form(`/a/${(await world.newPerson()).name}/role`, { role: 'guest' }),
  },
  'POST /a/:name/picture': {
    expect: 'admin',
    send: async () => ({ path: '/a/scout/picture', ...(await sendImageForm()) }),
  },
  'POST /a/:name/activate': {
    expect: 'admin',
    send: () => form('/a/scout/activate', { task: 'Count the plums', model: '' }),
  },
  'GET /approvals': { expect: 'own' },
  'POST /approvals/:id': {
    expect: 'admin',
    send: (world) =>
      form(`/approvals/${encodeURIComponent(world.approvalId)}`, { decision: 'deny', note: '' }),
  },
  'POST /approvals': {
    expect: 'admin',
    send: (world) =>
      form('/approvals', { ids: JSON.stringify([world.approvalId]), decision: 'deny', note: '' }),
  },
  ...standingRulePageRows,
  // As in the API: everybody sees their own calls.
  'GET /admin/backups': { expect: 'admin' },
  'GET /admin/log': { expect: 'admin' },
  'GET /admin/log.csv': { expect: 'admin' },
  'GET /admin/limits': { expect: 'admin' },
  'POST /admin/limits': {
    expect: 'admin',
    send: () => form('/admin/limits', { hop_limit: '4', reply_limit: '3' }),
  },
  'GET /audit': { expect: 'own' },
  'GET /audit.csv': { expect: 'own' },
  'GET /audit/:id': {
    expect: 'secretOrAdminRead',
    owner: 'scout',
    send: (world) => ({ path: `/audit/${world.auditId}` }),
  },
  // As in the API: everybody sees what they can use.
  'GET /tools': { expect: 'own' },
  'GET /policy': { expect: 'admin' },
  'GET /policy/:name': { expect: 'admin', send: () => ({ path: '/policy/wren' }) },
  'POST /policy/:name': {
    expect: 'admin',
    send: () => form('/policy/wren', { seen_at: '0', do: 'remove' }),
  },
  'POST /policy/:name (preview)': {
    expect: 'admin',
    send: () => form('/policy/wren', { ...policy, seen_at: '0', do: 'preview' }),
  },
  'GET /budgets/calls.csv': { expect: 'admin' },
  'GET /budgets/new': { expect: 'admin' },
  'POST /budgets/new': {
    expect: 'admin',
    send: only({
      scope: 'agent',
      name: 'scout',
      period: 'week',
      reset_day: '1',
      timezone: 'UTC',
      ...amounts,
    }),
  },
  'GET /budgets/:id': {
    expect: 'admin',
    send: (world) => ({ path: `/budgets/${world.budgetId}` }),
  },
  'POST /budgets/:id': {
    expect: 'admin',
    send: (world) => form(`/budgets/${world.budgetId}`, amounts),
  },
  'GET /budgets/:id/delete': {
    expect: 'admin',
    send: (world) => ({ path: `/budgets/${world.dayBudgetId}/delete` }),
  },
  'POST /budgets/:id/delete': {
    expect: 'admin',
    send: (world) => form(`/budgets/${world.dayBudgetId}/delete`),
  },
  'POST /scheduler/pause': { expect: 'admin', send: only({}) },
  'POST /scheduler/resume': { expect: 'admin', send: only({}) },

  'GET /credentials': { expect: 'admin' },
  'POST /credentials/services': {
    expect: 'admin',
    send: (world) =>
      form('/credentials/services', {
        server: 'http',
        name: 'stars',
        base_url: world.service.base_url,
        credential: '',
        headers: '',
        hosts: '',
        format: 'any',
        allow_http: 'on',
        allow_private: 'on',
      }),
  },
  'POST /credentials': {
    expect: 'admin',
    send: () =>
      form('/credentials', {
        name: 'star-key',
        server: 'http',
        service: 'stars',
        value: 'a-secret-of-stars',
        agent: '',
        community: '',
      }),
  },
  'POST /credentials/rotate': {
    expect: 'admin',
    send: () =>
      form('/credentials/rotate', { name: 'star-key', new_value: 'another-secret-of-stars' }),
  },
  'POST /credentials/delete': {
    expect: 'admin',
    send: () => form('/credentials/delete', { name: 'star-key' }),
  },
  'POST /credentials/services/delete': {
    expect: 'admin',
    send: () => form('/credentials/services/delete', { server: 'http', name: 'stars' }),
  },
  ...modelPageRows,
  ...remotePageRows,
}
