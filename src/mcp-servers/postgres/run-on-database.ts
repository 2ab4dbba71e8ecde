import type { Connection } from '../credentials/connection'
import { createScrubber, emptyScrubber, type Scrubber, secretCharsMin } from '../credentials/scrub'
import type { Login } from './driver'
import { postgresErrors } from './errors'
import { type Address, readAddress, splitCredential, toSecrets } from './read-address'
import type { Outcome, Statement } from './run-statement'

/** Runs a statement on the database of the connection. The driver is loaded at first use. */
export async function runOnDatabase(
  outside: Connection | null,
  statement: Statement,
): Promise<Outcome> {
  if (!outside) throw new Error('The gateway opens the service first.')
  const { service, baseUrl } = outside
  const address = readAddress(baseUrl)
  if (typeof address === 'string') throw postgresErrors.misconfigured(service, `its URL ${address}`)
  const { runStatement } = await import('./run-statement')
  if (address.kind === 'host') {
    const login = toLogin(outside, address)
    await outside.guardHost(address.hostname)
    return runStatement(login, statement)
  }
  const { login, scrubber } = await readHyperdrive(service, address.binding)
  return scrubber.value(await runStatement(login, statement)) as Outcome
}

function toLogin(outside: Connection, address: Address & { kind: 'host' }): Login {
  const { service, credential, allowPrivate, scrub } = outside
  const parts = splitCredential(credential ?? '')
  if (!parts) {
    throw postgresErrors.misconfigured(service, 'it has no credential of the form user:password')
  }
  if (!allowPrivate && address.isPlain) {
    throw postgresErrors.misconfigured(service, 'only a private database can be used without TLS')
  }
  return { service, ...address, ...parts, scrub }
}

/**
 * Returns the login of a Hyperdrive binding, and a scrubber of its password, which the gateway does not
 * know. Hyperdrive connects to the database with TLS; the connection to it stays within Cloudflare.
 */
async function readHyperdrive(
  service: string,
  binding: string,
): Promise<{ login: Login; scrubber: Scrubber }> {
  // Imported here, because docs/tools.md is generated outside a Worker.
  const { env } = await import('cloudflare:workers')
  const found: unknown = Reflect.get(env, binding)
  if (!isHyperdrive(found)) {
    throw postgresErrors.misconfigured(service, `this Worker has no Hyperdrive binding ${binding}`)
  }
  const { host: hostname, port, user, password, database } = found
  const scrubber =
    password.length < secretCharsMin ? emptyScrubber : createScrubber(...toSecrets(password))
  const place = { hostname, port: Number(port), database, isPlain: true }
  return { login: { service, ...place, user, password, scrub: scrubber.text }, scrubber }
}

const isHyperdrive = (value: unknown): value is Hyperdrive =>
  typeof value === 'object' && value !== null && 'connectionString' in value && 'password' in value
