import { AppError, notFound } from '../../errors'
import { createGuardedFetch, type GuardedFetch, type Resolve } from '../fetch/guarded-fetch'
import { type ServiceRow, selectService } from '../http/queries'
import { credentialMark } from '../http/services'
import type { Connect } from './connection'
import type { KnownSecrets } from './known-secrets'
import { type CredentialRow, selectCandidates } from './queries'
import { noScrubber, type Scrubber } from './scrub'
import type { Vault } from './vault'

interface ConnectDeps {
  d1: D1Database
  vault: Vault
  known: KnownSecrets
  isPrivateAllowed: boolean
  resolve?: Resolve | undefined
}

/** Declaration and credentials come in one round trip, and only for calls that were let through. */
export const createConnect =
  ({ d1, vault, known, isPrivateAllowed, resolve }: ConnectDeps): Connect =>
  async (ask) => {
    const { server, service, actor, signal } = ask
    const [found, candidates] = await d1.batch<unknown>([
      selectService(d1, service),
      selectCandidates(d1, { server, service, agentId: actor.accountId }),
    ])
    const row = found?.results[0] as ServiceRow | undefined
    if (!row) throw notFound('service', 'An admin declares it: PUT /api/v1/http-services/<name>.')
    const rows = (candidates?.results ?? []) as CredentialRow[]
    const value = row.credential === null ? null : await vault.open(await pick(ask, row, rows))
    const scrubber = value === null ? noScrubber : known.scrubberFor(value)
    const reach = {
      hosts: JSON.parse(row.hosts) as string[],
      allowHttp: row.allowHttp === 1,
      allowPrivate: row.allowPrivate === 1 && isPrivateAllowed,
    }
    const hasCredential = value !== null
    const fetch = createGuardedFetch({ service, reach, hasCredential, signal, resolve })
    const connection = {
      ...{ service, baseUrl: new URL(row.baseUrl), format: row.format },
      headers: fillIn(JSON.parse(row.headers), value),
      fetch: scrubAnswers(fetch, scrubber),
    }
    return { connection, scrubber }
  }

/** The most specific one: of the agent, else of the community it works in, else the service's own. */
async function pick(
  { actor, hub }: Parameters<Connect>[0],
  { name, credential }: ServiceRow,
  rows: CredentialRow[],
): Promise<CredentialRow> {
  const ofCommunity = rows.some(({ community }) => community !== null)
  const community =
    ofCommunity && actor.postId !== null
      ? (await hub.readThread(actor, actor.postId, 1)).post.community
      : null
  const usable = rows.filter((row) => row.community === null || row.community === community)
  const found =
    usable.find((row) => row.agentId !== null && row.community !== null) ??
    usable.find((row) => row.agentId !== null) ??
    usable.find((row) => row.community !== null) ??
    usable.find((row) => row.name === credential)
  if (found) return found
  throw new AppError('UNAVAILABLE', `The service ${name} has no credential ${credential} here.`, {
    hint: `An admin sets it: PUT /api/v1/credentials/${credential}.`,
  })
}

const fillIn = (
  headers: Record<string, string>,
  credential: string | null,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      credential === null ? value : value.replaceAll(credentialMark, () => credential),
    ]),
  )

/** Before anything is made of them: what a tool cuts or quotes must not hold half a credential. */
const scrubAnswers =
  (fetch: GuardedFetch, scrubber: Scrubber): GuardedFetch =>
  async (request) => {
    const answer = await fetch(request)
    const headers = new Headers(
      [...answer.headers].map(([name, value]) => [name, scrubber.text(value)]),
    )
    if (answer.text === null) return { ...answer, headers }
    const text = answer.isCut ? scrubber.cut(answer.text) : scrubber.text(answer.text)
    return { ...answer, headers, text }
  }
