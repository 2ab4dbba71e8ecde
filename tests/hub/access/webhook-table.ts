import { env } from 'cloudflare:workers'
import type { Table } from './cells'
import type { World } from './create-world'

/** Creates a webhook of olga's, the only one: an account can have some only. */
async function newWebhook(world: World): Promise<string> {
  for (const table of ['outbox', 'webhooks']) await env.DB.prepare(`DELETE FROM ${table}`).run()
  const { webhook } = await world.call('/webhooks', {
    key: world.olga.key,
    body: {
      url: 'https://webhook.invalid.example/',
      events: ['post.created'],
      community: 'general',
    },
  })
  return webhook.id
}

/** A delivery to a new webhook of olga's, which was given up. */
async function newDelivery(world: World): Promise<string> {
  const id = await newWebhook(world)
  await env.DB.prepare(
    `INSERT INTO outbox (id, kind, target_id, event, "key", state, created_at, next_at)
     VALUES ('delivery', 'webhook', ?, 'post.created', 'k', 'failed', 0, 0)`,
  )
    .bind(id)
    .run()
  return `/webhooks/${id}/deliveries/delivery/resend`
}

const webhook = { url: 'https://webhook.example/', events: ['post.created'], community: 'general' }

/** Webhooks: people who are members have them, and their owner alone changes them. */
export const webhookRows: Table = {
  'GET /webhooks': { expect: 'own' },
  'POST /webhooks': {
    expect: 'write',
    except: { guest: 403, external: 403 },
    send: async (world) => {
      await newWebhook(world)
      return { body: webhook }
    },
  },
  'POST /webhooks (whole hub)': {
    expect: 'admin',
    send: async (world) => {
      await newWebhook(world)
      return { body: { ...webhook, community: undefined } }
    },
  },
  'PATCH /webhooks/:id': {
    expect: 'secretWrite',
    send: async (world) => ({
      path: `/webhooks/${await newWebhook(world)}`,
      body: { events: ['comment.created'] },
    }),
  },
  // Who moderates m/general may delete it, too.
  'DELETE /webhooks/:id': {
    expect: 'secretWrite',
    except: { moderator: '+', admin: '+' },
    send: async (world) => ({ path: `/webhooks/${await newWebhook(world)}` }),
  },
  'POST /webhooks/:id/secret': {
    expect: 'secretWrite',
    send: async (world) => ({ path: `/webhooks/${await newWebhook(world)}/secret`, body: {} }),
  },
  'POST /webhooks/:id/test': {
    expect: 'secretWrite',
    send: async (world) => ({ path: `/webhooks/${await newWebhook(world)}/test`, body: {} }),
  },
  'GET /webhooks/:id/deliveries': {
    expect: 'secretOrAdminRead',
    except: { moderator: '+' },
    send: async (world) => ({ path: `/webhooks/${await newWebhook(world)}/deliveries` }),
  },
  'POST /webhooks/:id/deliveries/:delivery/resend': {
    expect: 'secretWrite',
    send: async (world) => ({ path: await newDelivery(world), body: {} }),
  },
}

const page = '/settings/webhooks'
const form = { url: webhook.url, format: 'json', community: 'general', 'post.created': 'on' }
const ownPage = async (world: World) => `${page}/${await newWebhook(world)}`

/** The pages of the same. */
export const webhookPageRows: Table = {
  [`GET ${page}`]: { expect: 'own' },
  // The answer shows a secret on a page, which a session without the read scope cannot see.
  [`POST ${page}`]: {
    expect: 'write',
    except: { guest: 403, external: 403, writer: 403 },
    send: async (world) => {
      await newWebhook(world)
      return { path: page, body: form }
    },
  },
  'GET /m/:name/settings/webhooks': {
    expect: 'own',
    send: () => ({ path: '/m/general/settings/webhooks' }),
  },
  'POST /m/:name/settings/webhooks': {
    expect: 'write',
    except: { guest: 403, external: 403, writer: 403 },
    send: async (world) => {
      await newWebhook(world)
      return { path: '/m/general/settings/webhooks', body: form }
    },
  },
  [`GET ${page}/:id`]: {
    expect: 'secretOrAdminRead',
    except: { moderator: '+' },
    send: async (world) => ({ path: await ownPage(world) }),
  },
  [`POST ${page}/:id`]: {
    expect: 'secretWrite',
    except: { writer: 403 },
    send: async (world) => ({ path: await ownPage(world), body: { do: 'disable' } }),
  },
  [`GET ${page}/:id/delete`]: {
    expect: 'secretOrAdminRead',
    except: { moderator: '+' },
    send: async (world) => ({ path: `${await ownPage(world)}/delete` }),
  },
  [`POST ${page}/:id/delete`]: {
    expect: 'secretWrite',
    except: { moderator: '+', admin: '+' },
    send: async (world) => ({ path: `${await ownPage(world)}/delete`, body: {} }),
  },
}
