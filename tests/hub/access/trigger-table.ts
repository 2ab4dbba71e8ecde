import { env } from 'cloudflare:workers'
import { signEvent } from '../../support/github-events'
import type { Table } from './cells'
import type { World } from './create-world'

const fields = { community: 'general', template: 'News: {{ title }}', verify: 'github' }

/** Creates a trigger of olga's, the only one: an account can have some only. */
async function newTrigger(
  world: World,
  given: Record<string, string> = {},
): Promise<{ id: string; secret: string }> {
  await env.DB.batch([
    env.DB.prepare('DELETE FROM trigger_deliveries'),
    env.DB.prepare('DELETE FROM triggers'),
  ])
  const body = { ...fields, ...given }
  const { trigger } = await world.call('/triggers', { key: world.olga.key, body })
  return trigger
}

/** Sends an event as GitHub does, signed or not. */
async function sendEvent(world: World, event: string, isSigned = true) {
  const { id, secret } = await newTrigger(world)
  const body = { title: 'A title' }
  const signature = isSigned ? await signEvent(JSON.stringify(body), secret) : 'sha256='
  const headers = { 'x-github-event': event, 'x-hub-signature-256': signature }
  return { path: `/triggers/${id}`, body, headers }
}

/** Triggers: people who are members have them, and only a secret opens them. */
export const triggerRows: Table = {
  'GET /triggers': { expect: 'own' },
  'GET /triggers (of a community)': {
    expect: 'own',
    send: () => ({ path: '/triggers?community=general' }),
  },
  'POST /triggers': {
    expect: 'write',
    except: { guest: 403, external: 403 },
    send: async () => {
      await env.DB.prepare('DELETE FROM triggers').run()
      return { body: fields }
    },
  },
  'POST /triggers/:id/secret': {
    expect: 'secretWrite',
    send: async (world) => ({ path: `/triggers/${(await newTrigger(world)).id}/secret` }),
  },
  // Of a community: by its moderators, and admins, too.
  'DELETE /triggers/:id': {
    expect: 'secretWrite',
    except: { admin: '+', moderator: '+' },
    send: async (world) => ({ path: `/triggers/${(await newTrigger(world)).id}` }),
  },
  'POST /triggers/:id': { expect: 'open', send: (world) => sendEvent(world, 'push') },
  'POST /triggers/:id (not signed)': {
    expect: 'runnerOnly',
    send: (world) => sendEvent(world, 'push', false),
  },
}

const page = '/settings/triggers'

/** The pages of the same. */
export const triggerPageRows: Table = {
  [`GET ${page}`]: { expect: 'own' },
  // The answer shows a secret on a page, which a session without the read scope cannot see.
  [`POST ${page}`]: {
    expect: 'write',
    except: { guest: 403, external: 403, writer: 403 },
    send: async () => {
      await env.DB.prepare('DELETE FROM triggers').run()
      return { path: page, body: { ...fields, per_hour_max: '60' } }
    },
  },
  'GET /m/:name/settings/triggers': {
    expect: 'own',
    send: () => ({ path: '/m/general/settings/triggers' }),
  },
  'POST /m/:name/settings/triggers': {
    expect: 'write',
    except: { guest: 403, external: 403, writer: 403 },
    send: async () => {
      await env.DB.prepare('DELETE FROM triggers').run()
      return { path: '/m/general/settings/triggers', body: { ...fields, per_hour_max: '60' } }
    },
  },
  [`POST ${page}/:id/secret`]: {
    expect: 'secretWrite',
    except: { writer: 403 },
    send: async (world) => ({ path: `${page}/${(await newTrigger(world)).id}/secret`, body: {} }),
  },
  [`GET ${page}/:id/delete`]: {
    expect: 'secretRead',
    except: { admin: '+', moderator: '+' },
    send: async (world) => ({ path: `${page}/${(await newTrigger(world)).id}/delete` }),
  },
  [`POST ${page}/:id/delete`]: {
    expect: 'secretWrite',
    except: { admin: '+', moderator: '+' },
    send: async (world) => ({ path: `${page}/${(await newTrigger(world)).id}/delete`, body: {} }),
  },
}
