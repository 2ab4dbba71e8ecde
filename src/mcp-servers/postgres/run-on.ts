import { AppError } from '../../errors'
import type { Connection } from '../credentials/connection'
import { createScrubber, noScrubber, type Scrubber, secretCharsMin } from '../credentials/scrub'
import type { Login } from './driver'
import { type Address, readAddress, splitCredential, toSecrets } from './read-address'
import type { Outcome, Statement } from './run-statement'

/** Runs a statement on the database that the gateway opened. The driver is loaded at first use. */
export async function runOn(outside: Connection | null, statement: Statement): Promise<Outcome> {
  if (!outside) throw new Error('The gateway opens the service first.')
  const { service, baseUrl } = outside
  const address = readAddress(baseUrl)
  if (typeof address === 'string') throw unusable(service, `its address ${address}`)
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
  if (!parts) throw unusable(service, 'it has no credential of the form user:password')
  if (!allowPrivate && address.isPlain) {
    throw unusable(service, 'only a private one may go without TLS')
  }
  return { service, ...address, ...parts, scrub }
}

/**
 * Hyperdrive pools connections, and speaks TLS to the database by itself; what goes there stays within
 * Cloudflare. Its password comes with the binding, so the gateway does not know it.
 */
async function readHyperdrive(
  service: string,
  binding: string,
): Promise<{ login: Login; scrubber: Scrubber }> {
  // Not at the top: what is written about tools is made outside of a Worker.
  const { env } = await import('cloudflare:workers')
  const found: unknown = Reflect.get(env, binding)
  if (!isHyperdrive(found)) {
    throw unusable(service, `this Worker has no Hyperdrive binding ${binding}`)
  }
  const { host: hostname, port, user, password, database } = found
  const scrubber =
    password.length < secretCharsMin ? noScrubber : createScrubber(...toSecrets(password))
  const place = { hostname, port: Number(port), database, isPlain: true }
  return { login: { service, ...place, user, password, scrub: scrubber.text }, scrubber }
}

const isHyperdrive = (value: unknown): value is Hyperdrive =>
  typeof value === 'object' && value !== null && 'connectionString' in value && 'password' in value

const unusable = (service: string, why: string): AppError =>
  new AppError('UNAVAILABLE', `The database ${service} cannot be used: ${why}.`, {
    hint: 'An admin sets it right: PUT /api/v1/services/postgres/<name>.',
  })
