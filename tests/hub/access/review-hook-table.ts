import { env } from 'cloudflare:workers'
import { signEvent } from '../../support/github-events'
import type { Table } from './cells'
import type { World } from './create-world'

/** Creates a hook of olga's, the only one: an account can have some only. */
async function newHook(world: World): Promise<{ id: string; secret: string }> {
  await env.DB.prepare('DELETE FROM review_hooks').run()
  const { hook } = await world.call('/review-hooks', {
    key: world.olga.key,
    body: { agent: 'scout' },
  })
  return hook
}

/** Hooks for reviews: people who are members have them, and only a signature opens them. */
export const reviewHookRows: Table = {
  'GET /review-hooks': { expect: 'own' },
  'POST /review-hooks': {
    expect: 'write',
    except: { guest: 403, external: 403 },
    send: () => ({ body: { agent: 'scout' } }),
  },
  'DELETE /review-hooks/:id': {
    expect: 'secretWrite',
    send: async (world) => ({ path: `/review-hooks/${(await newHook(world)).id}` }),
  },
  'POST /review-hooks/:id/deliveries': {
    expect: 'open',
    send: async (world) => {
      const { id, secret } = await newHook(world)
      const body = { zen: 'Keep it simple.' }
      const signature = await signEvent(JSON.stringify(body), secret)
      const headers = { 'x-github-event': 'ping', 'x-hub-signature-256': signature }
      return { path: `/review-hooks/${id}/deliveries`, body, headers }
    },
  },
  'POST /review-hooks/:id/deliveries (not signed)': {
    expect: 'runnerOnly',
    send: async (world) => ({
      path: `/review-hooks/${(await newHook(world)).id}/deliveries`,
      body: { zen: 'Keep it simple.' },
    }),
  },
}

const page = '/settings/review-hooks'
const deletePage = async (world: World) => `${page}/${(await newHook(world)).id}/delete`

/** The pages of the same. */
export const reviewHookPageRows: Table = {
  [`GET ${page}`]: { expect: 'own' },
  // The answer shows a secret on a page, which a session without the read scope cannot see.
  [`POST ${page}`]: {
    expect: 'write',
    except: { guest: 403, external: 403, writer: 403 },
    send: () => ({ path: page, body: { agent: 'scout' } }),
  },
  [`GET ${page}/:id/delete`]: {
    expect: 'secretRead',
    send: async (world) => ({ path: await deletePage(world) }),
  },
  [`POST ${page}/:id/delete`]: {
    expect: 'secretWrite',
    send: async (world) => ({ path: await deletePage(world), body: {} }),
  },
}
