import { env } from 'cloudflare:workers'
import { createSoftwarePasskey, type SoftwarePasskey } from '../../support/software-passkey'
import { form } from '../../web/open-pages'
import { adminKey, type TestHub } from '../create-test-hub'
import { type Member, openSession } from './requesters'

const origin = 'http://hub.test'

type Headers = Record<string, string>

/**
 * Creates what the rows about signing in use up: links, passkeys, identities and sessions.
 *
 * @param readOwner returns the headers of the browser session that the rows call the owner's
 */
export function createWaysToSignIn(
  hub: TestHub,
  person: Member,
  readOwner: () => Promise<Headers>,
) {
  const sendWith = (session: Headers, path: string, fields: Record<string, string>) => {
    const init = form(fields)
    return hub.fetch(path, { ...init, headers: { ...(init.headers as Headers), ...session } })
  }
  const createPasskey = async (session: Headers): Promise<SoftwarePasskey> => {
    const options = await sendWith(session, '/settings/sign-in/passkeys/options', {})
    return createSoftwarePasskey(await options.json(), origin)
  }
  let personal: SoftwarePasskey | null = null
  const addPersonal = async (): Promise<SoftwarePasskey> => {
    const session = await openSession(hub, person.key)
    const passkey = await createPasskey(session)
    const fields = { label: 'Laptop', response: passkey.registration }
    const added = await sendWith(session, '/settings/sign-in/passkeys', fields)
    if (added.status !== 303) throw new Error(`No passkey was added: ${added.status}`)
    return passkey
  }
  const insert = async (sql: string, ...values: unknown[]): Promise<string> => {
    const id = crypto.randomUUID()
    await env.DB.prepare(sql)
      .bind(id, ...values)
      .run()
    return id
  }
  return {
    /** Returns the token of a sign-in link for the person. */
    newLink: async (): Promise<string> => {
      const { body } = await hub.call('/sessions/link', {
        key: adminKey,
        body: { name: person.name },
      })
      return new URL(body.url).searchParams.get('token') ?? ''
    },
    /** Returns what the person's passkey answers to a new challenge. */
    signWithPasskey: async (): Promise<string> => {
      personal ??= await addPersonal()
      const options = await hub.fetch('/login/passkey/options', form({}))
      return personal.sign(await options.json())
    },
    /** Returns the answer of a new passkey to a challenge for the owner's session, which is not added yet. */
    makePasskey: async () => (await createPasskey(await readOwner())).registration,
    newPasskey: async (account: Member): Promise<string> => {
      await env.DB.prepare(`DELETE FROM passkeys WHERE label = 'to delete'`).run()
      return insert(
        `INSERT INTO passkeys (id, account_id, credential_id, public_key, counter, rp_id, label, created_at)
         VALUES (?1, ?2, ?1, '', 0, 'hub.test', 'to delete', 0)`,
        account.id,
      )
    },
    newIdentity: (account: Member): Promise<string> =>
      insert(
        `INSERT INTO identities (id, account_id, issuer, subject, label, created_at)
         VALUES (?1, ?2, 'https://issuer.test', ?1, 'olga', 0)`,
        account.id,
      ),
    newPushDevice: async (account: Member): Promise<string> => {
      await env.DB.prepare(`DELETE FROM push_devices WHERE label = 'to delete'`).run()
      return insert(
        `INSERT INTO push_devices (id, account_id, session_id, endpoint, p256dh, auth, server_key, label, created_at)
         SELECT ?1, ?2, id, 'https://push.example/' || ?1, '', '', '', 'to delete', 0
         FROM api_keys WHERE account_id = ?2 LIMIT 1`,
        account.id,
      )
    },
    /** Returns the service of an account that is connected, whose tokens nobody can decrypt. */
    newConnectedAccount: async (account: Member): Promise<string> => {
      await insert(
        `INSERT OR REPLACE INTO connected_accounts (account_id, service, id, destination, issuer, scopes,
         ciphertext, iv, key_id, version, connected_at)
         VALUES (?2, 'signin', ?1, 'https://desk.example', 'https://desk.example', '', '', '', '', 0, 0)`,
        account.id,
      )
      return 'signin'
    },
    newBrowserSession: (account: Member): Promise<string> =>
      insert(
        `INSERT INTO api_keys (id, account_id, hash, kind, created_at, expires_at)
         VALUES (?1, ?2, ?1, 'session', 0, 1e15)`,
        account.id,
      ),
  }
}
