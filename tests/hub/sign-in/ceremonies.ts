import { env } from 'cloudflare:workers'
import { createHubApi } from '../../../src/hub/api/hub-api'
import type { installFakeIssuer } from '../../support/fake-issuer'
import { createSoftwareBrowser } from '../../support/software-browser'
import { createSoftwarePasskey } from '../../support/software-passkey'
import type { Browser } from '../../web/open-pages'
import type { TestHub } from '../create-test-hub'

export type Person = Awaited<ReturnType<TestHub['join']>> & { session: Browser }

/** Something that a request begins or does, after which an account or another one has a right that lasts. */
export interface Ceremony {
  /** The least role of who does it. */
  role: 'guest' | 'member' | 'admin'
  /** What stands between its two requests; absent: there is one. */
  begin?(by: Person): Promise<string>
  finish(by: Person, begun: string): Promise<Response>
  /** The statement that gives the right. */
  write: RegExp
  /** SQL that counts what it gave the account `?1`. */
  count: string
}

const newName = () => `c-${crypto.randomUUID().slice(0, 8)}`
const ownForm = { 'sec-fetch-site': 'same-origin', origin: 'http://hub.test' }
const cookiesOf = (response: Response) =>
  response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')
const all = (table: string) => `SELECT count(*) FROM ${table} WHERE ?1 <> ''`

/** Returns all ceremonies of a hub by name. */
export function listCeremonies(
  hub: TestHub,
  issuer: ReturnType<typeof installFakeIssuer>,
): Record<string, Ceremony> {
  const api = ({ session }: Person, path: string, body: unknown, method = 'POST') =>
    hub.fetch(`/api/v1${path}`, {
      method,
      headers: { ...ownForm, cookie: session.cookie, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  return {
    ...listWaysToSignIn(hub, issuer, api),
    ...listKeys(hub, api),
    ...listRoles(hub, api),
  }
}

type Api = (by: Person, path: string, body: unknown, method?: string) => Promise<Response>

const listWaysToSignIn = (
  hub: TestHub,
  issuer: ReturnType<typeof installFakeIssuer>,
  api: Api,
): Record<string, Ceremony> => ({
  'adding a passkey': {
    role: 'guest',
    begin: async ({ session }) => {
      const options = await session.send('/settings/sign-in/passkeys/options', {})
      const passkey = await createSoftwarePasskey(await options.json(), 'http://hub.test')
      return passkey.registration
    },
    finish: ({ session }, response) =>
      session.send('/settings/sign-in/passkeys', { label: 'Laptop', response }),
    write: /INSERT INTO "?passkeys/i,
    count: 'SELECT count(*) FROM passkeys WHERE account_id = ?1',
  },
  ...Object.fromEntries(
    ['oidc', 'github'].map((provider): [string, Ceremony] => [
      `linking ${provider}`,
      {
        role: 'guest',
        begin: async ({ session }) => {
          const started = await session.send(`/settings/sign-in/${provider}`, {})
          const html = await started.clone().text()
          const url = /content="0; url=([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? ''
          const sub = provider === 'github' ? `${Math.floor(Math.random() * 1e9)}` : newName()
          const back = issuer.confirm(url, { sub })
          return JSON.stringify([back.pathname + back.search, cookiesOf(started)])
        },
        finish: ({ session }, begun) => {
          const [path, cookie] = JSON.parse(begun)
          return hub.fetch(path, {
            headers: { cookie: `${cookie}; ${session.cookie}`, 'sec-fetch-site': 'cross-site' },
            redirect: 'manual',
          })
        },
        write: /INSERT INTO "?identities/i,
        count: 'SELECT count(*) FROM identities WHERE account_id = ?1',
      },
    ]),
  ),
  'a sign-in link for an own device': {
    role: 'guest',
    finish: ({ session }) => session.send('/settings/sessions/link', {}),
    write: /INSERT INTO "?api_keys/i,
    count: `SELECT count(*) FROM api_keys WHERE account_id = ?1 AND kind = 'link'`,
  },
  'a sign-in link for another account': {
    role: 'admin',
    finish: async (by) => api(by, '/sessions/link', { name: (await hub.join(newName())).name }),
    write: /INSERT INTO "?api_keys/i,
    count: `SELECT count(*) FROM api_keys WHERE link_by = ?1 AND kind = 'link'`,
  },
})

const listKeys = (hub: TestHub, api: Api): Record<string, Ceremony> => ({
  'a key': {
    role: 'guest',
    finish: (by) => api(by, '/me/keys', {}),
    write: /INSERT INTO "?api_keys/i,
    count: `SELECT count(*) FROM api_keys WHERE account_id = ?1 AND label = ''
      AND kind = 'key' AND created_at > 0 AND opened_by IS NULL AND last_used_at IS NULL`,
  },
  'a runner key': {
    role: 'admin',
    finish: (by) => api(by, '/runners/keys', {}),
    write: /INSERT INTO "?runner_keys/i,
    count: 'SELECT count(*) FROM runner_keys WHERE account_id = ?1',
  },
  'a trigger': {
    role: 'member',
    begin: async () => {
      const agent = await hub.join(newName())
      await hub.host(agent.id)
      return agent.name
    },
    finish: (by, agent) =>
      api(by, '/triggers', { agent, template: 'Look at {{ title }}', verify: 'github' }),
    write: /INSERT INTO "?triggers/i,
    count: 'SELECT count(*) FROM triggers WHERE account_id = ?1',
  },
  'a browser for notifications': {
    role: 'guest',
    begin: async () => (await createSoftwareBrowser('https://push.example')).subscription,
    finish: ({ session }, subscription) =>
      session.send('/settings/notifications/devices', { label: 'Phone', subscription }),
    write: /INSERT INTO "?push_devices/i,
    count: 'SELECT count(*) FROM push_devices WHERE account_id = ?1',
  },
})

const listRoles = (hub: TestHub, api: Api): Record<string, Ceremony> => ({
  'an invitation': {
    role: 'member',
    finish: (by) => api(by, '/invitations', { role: 'guest' }),
    write: /INSERT INTO "?invitations/i,
    count: 'SELECT count(*) FROM invitations WHERE created_by = ?1',
  },
  'a claim': {
    role: 'member',
    begin: async () => {
      const { body } = await hub.call('/accounts', { body: { name: newName() } })
      return new URL(body.account.claim_url).pathname
    },
    finish: ({ session }, path) => session.send(path, { role: 'guest' }),
    write: /UPDATE "?accounts"? SET "?owner_id/i,
    count: 'SELECT count(*) FROM accounts WHERE owner_id = ?1',
  },
  'the registration of a member': {
    role: 'admin',
    finish: (by) => api(by, '/accounts', { name: newName(), kind: 'human' }),
    write: /INSERT INTO "?accounts/i,
    count: all('accounts'),
  },
  'a role': {
    role: 'admin',
    begin: async () => (await hub.join(newName())).name,
    finish: (by, name) => api(by, `/accounts/${name}/role`, { role: 'admin' }, 'PUT'),
    write: /UPDATE "?accounts/i,
    count: `SELECT count(*) FROM accounts WHERE role = 'admin' AND id <> ?1`,
  },
  'a moderator': {
    role: 'admin',
    begin: async () => (await hub.join(newName(), 'human')).name,
    finish: (by, name) => api(by, `/accounts/${name}/moderator`, { is_moderator: true }, 'PUT'),
    write: /UPDATE "?accounts/i,
    count: `SELECT count(*) FROM accounts WHERE is_moderator = 1 AND ?1 <> ''`,
  },
  'a policy': {
    role: 'admin',
    begin: async () => (await hub.join(newName())).name,
    finish: (by, name) => api(by, `/agents/${name}/grants`, { allowed: ['hub:*'] }, 'PUT'),
    write: /INSERT INTO "?grant_policies/i,
    count: all('grant_policies'),
  },
  'an approval': {
    role: 'admin',
    begin: async () => {
      const { id: agent } = await hub.join(newName())
      await createHubApi(hub.context).requestApproval(agent, {
        callId: newName(),
        tool: 'hub_create_post',
        grant: 'hub:write',
        tier: 'write',
        arguments: '{}',
        argumentsHash: newName(),
        reasons: [],
      })
      const row = await env.DB.prepare('SELECT id FROM approvals WHERE account_id = ?')
        .bind(agent)
        .first<{ id: string }>()
      return row?.id ?? ''
    },
    finish: (by, id) => api(by, `/approvals/${id}/decide`, { decision: 'approve' }),
    write: /UPDATE "?approvals/i,
    count: 'SELECT count(*) FROM approvals WHERE decided_by = ?1',
  },
  'an opening of private runs': {
    role: 'admin',
    begin: async () => (await hub.join(newName(), 'human')).name,
    finish: (by, account) => api(by, '/openings', { account, reason: 'A report.' }),
    write: /INSERT INTO "?admin_openings/i,
    count: 'SELECT count(*) FROM admin_openings WHERE account_id = ?1',
  },
})
