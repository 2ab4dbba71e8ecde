import { env } from 'cloudflare:workers'
import { toPurpose } from '../../../src/hub/mail/tokens'
import { sha256 } from '../../../src/shared/sha256'
import type { Table } from './cells'
import type { World } from './create-world'

const form = (path: string, fields: Record<string, string> = {}) => ({ path, body: fields })
const address = 'ana@mail.test'

/** Gives every account an address that is not confirmed, each its own. */
const giveAddresses = () =>
  env.DB.prepare(
    `INSERT OR IGNORE INTO mail_addresses (account_id, address, normalized, created_at, token_hash)
     SELECT id, id || '@mail.test', id || '@mail.test', 0, '' FROM accounts`,
  ).run()

/** Returns the link that confirms olga's address, which was not opened yet. */
async function newConfirmation({ hub, olga }: World) {
  await giveAddresses()
  const { mail, clock } = hub.context()
  const token = await mail.createToken(toPurpose.confirmation(olga.id, address))
  await env.DB.prepare(
    `UPDATE mail_addresses SET address = ?1, normalized = ?1, created_at = ?2, token_hash = ?3, confirmed_at = NULL
     WHERE account_id = ?4`,
  )
    .bind(address, clock.now(), await sha256(token), olga.id)
    .run()
  return form(`/mail/confirm?${new URLSearchParams({ account: olga.id, token })}`)
}

async function newUnsubscribe(world: World) {
  await newConfirmation(world)
  const { id: account } = world.olga
  const token = await world.hub
    .context()
    .mail.createToken(toPurpose.unsubscribe(account, address, 'dm'))
  return form(`/mail/unsubscribe?${new URLSearchParams({ account, kind: 'dm', token })}`)
}

/** Mail: the token of a link is all that it needs; an address is a way to sign in, which a session adds. */
export const mailPageRows: Table = {
  'GET /admin/mail': { expect: 'admin' },
  'POST /admin/mail/test': {
    expect: 'admin',
    send: async () => {
      await giveAddresses()
      return { body: {} }
    },
  },
  'GET /mail/confirm': {
    expect: 'open',
    send: async (world) => ({ path: (await newConfirmation(world)).path }),
  },
  'POST /mail/confirm': { expect: 'open', send: newConfirmation },
  'GET /mail/unsubscribe': {
    expect: 'open',
    send: async (world) => ({ path: (await newUnsubscribe(world)).path }),
  },
  'POST /mail/unsubscribe': { expect: 'open', send: newUnsubscribe },
  'POST /login/mail': {
    expect: 'open',
    send: () => form('/login/mail', { address, next: '/' }),
  },
  'POST /settings/notifications/mail': {
    expect: 'write',
    except: { writer: 403 },
    send: () => {
      const own = `${crypto.randomUUID()}@mail.test`
      return form('/settings/notifications/mail', { address: own })
    },
  },
  'POST /settings/notifications/mail/delete': {
    expect: 'write',
    except: { writer: 403 },
    send: () => ({ body: {} }),
  },
}
