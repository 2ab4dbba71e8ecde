import { env } from 'cloudflare:workers'
import { adminKey, call } from './cast'

/** URL of the local test service (`fake-service.ts`). */
export const serviceUrl = (env as unknown as { FAKE_SERVICE_URL: string }).FAKE_SERVICE_URL

export const asAdmin = (method: string, path: string, body?: unknown) =>
  call<Record<string, never>>(method, `/api/v1${path}`, { key: adminKey, body })

/** Declares the test service under a name, as an admin. */
export async function declare(name: string, more: Record<string, unknown> = {}) {
  const { status, body } = await asAdmin('PUT', `/http-services/${name}`, {
    base_url: `${serviceUrl}/api`,
    allow_http: true,
    allow_private: true,
    ...more,
  })
  if (status !== 200) throw new Error(`Declaring ${name} failed: ${JSON.stringify(body)}`)
}

/** Declares the test service with a credential for `Authorization: Bearer`. */
export async function declareWithKey(name: string, credential: string, value: string, more = {}) {
  await declare(name, { credential, headers: { Authorization: 'Bearer {credential}' }, ...more })
  const { status, body } = await asAdmin('PUT', `/credentials/${credential}`, {
    value,
    service: name,
  })
  if (status !== 200) throw new Error(`Setting ${credential} failed: ${JSON.stringify(body)}`)
}

export const allow = (accountId: string, allowed: string[]) =>
  env.DB.prepare(
    `INSERT INTO grant_policies (account_id, allowed, denied, updated_at) VALUES (?, ?, '[]', 0)
     ON CONFLICT DO UPDATE SET allowed = excluded.allowed`,
  )
    .bind(accountId, JSON.stringify(allowed))
    .run()
