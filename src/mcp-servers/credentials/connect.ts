import { batch } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import {
  createGuardedFetch,
  type GuardedFetch,
  guardHost,
  type Resolve,
} from '../fetch/guarded-fetch'
import { credentialMark } from '../services/check-service'
import { toDestination } from '../services/destination'
import { type ServiceRow, selectService } from '../services/queries'
import type { ServiceKind, ServiceKinds } from '../services/service-kind'
import { toRow } from '../services/to-row'
import type { Connect } from './connection'
import { credentialErrors } from './errors'
import { type CredentialRow, selectCandidates } from './queries'
import type { RecentSecrets } from './recent-secrets'
import { emptyScrubber, type Scrubber } from './scrub'
import type { Vault } from './vault'

interface ConnectDeps {
  db: Db
  vault: Vault
  known: RecentSecrets
  kinds: ServiceKinds
  isPrivateAllowed: boolean
  resolve?: Resolve | undefined
}

/** Creates `Connect`. It reads declaration and credentials in one round trip. */
export const createConnect =
  ({ db, vault, known, kinds, isPrivateAllowed, resolve }: ConnectDeps): Connect =>
  async (ask) => {
    const { server, service, actor, signal } = ask
    const { declared, candidates } = await batch(db, {
      declared: selectService(server, service),
      candidates: selectCandidates({ server, service, agentId: actor.accountId }),
    })
    const kind = kinds.get(server)
    const row = declared ?? findBuiltIn(server, service, kind)
    const picked = await pick(ask, row, kind, candidates)
    const value = picked && (await vault.open(picked, toDestination(row.baseUrl)))
    const scrubber =
      value === null
        ? emptyScrubber
        : known.scrubberFor([value, ...(kind?.secretParts?.(value) ?? [])])
    const more = declared || value === null ? [] : (kind?.hostsOf?.(value) ?? [])
    const reach = {
      hosts: [...row.hosts, ...more],
      allowHttp: row.allowHttp,
      allowPrivate: row.allowPrivate && isPrivateAllowed,
    }
    const hasCredential = value !== null
    const fetch = createGuardedFetch({ service, reach, hasCredential, signal, resolve })
    const guard = (hostname: string) => guardHost({ service, reach, resolve }, hostname, signal)
    const connection = {
      service,
      baseUrl: new URL(row.baseUrl),
      format: row.format,
      credential: value,
      hosts: reach.hosts,
      allowPrivate: reach.allowPrivate,
      headers: fillIn(row.headers, value),
      guardHost: guard,
      scrub: scrubber.text,
      fetch: scrubAnswers(fetch, scrubber),
    }
    return { connection, scrubber }
  }

function findBuiltIn(server: string, service: string, kind: ServiceKind | undefined): ServiceRow {
  const known = kind?.builtIn(service)
  if (known) return toRow(server, service, known)
  throw credentialErrors.undeclaredService()
}

/**
 * Picks the most specific credential: that of the agent, else of the community it works in, else the
 * one that the service names, else the only one without a restriction. Null: the service needs none.
 */
async function pick(
  { actor, hub }: Parameters<Connect>[0],
  row: ServiceRow,
  kind: ServiceKind | undefined,
  candidates: CredentialRow[],
): Promise<CredentialRow | null> {
  const isMarked = Object.values(row.headers).some((text) => text.includes(credentialMark))
  if (kind?.isSentInHeader && !isMarked) return null
  const ofCommunity = candidates.some(({ community }) => community !== null)
  const community =
    ofCommunity && actor.postId !== null
      ? (await hub.readThread(actor, actor.postId, 1)).post.community
      : null
  const usable = candidates.filter(
    // Case-insensitive: rows written before communities were looked up contain the name as typed.
    (each) => each.community === null || each.community.toLowerCase() === community?.toLowerCase(),
  )
  const found =
    usable.find((each) => each.agentId !== null && each.community !== null) ??
    usable.find((each) => each.agentId !== null) ??
    usable.find((each) => each.community !== null) ??
    findForAll(row, usable)
  if (found) return found
  if (row.credential === null && !isMarked) return null
  throw credentialErrors.noCredential(row.name, row.credential)
}

function findForAll(
  { credential }: ServiceRow,
  usable: CredentialRow[],
): CredentialRow | undefined {
  if (credential !== null) return usable.find(({ name }) => name === credential)
  return usable.length === 1 ? usable[0] : undefined
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

/** Redacts responses before a tool truncates or quotes them, which could leave half a credential. */
const scrubAnswers =
  (fetch: GuardedFetch, scrubber: Scrubber): GuardedFetch =>
  async (request) => {
    const { watch, isDecodedLater } = request
    const clean = watch && { watch: (line: string) => watch(scrubber.text(line)) }
    const answer = await fetch({ ...request, ...clean })
    const headers = new Headers(
      [...answer.headers].map(([name, value]) => [name, scrubber.text(value)]),
    )
    if (answer.text === null) return { ...answer, headers }
    const scrub = isDecodedLater ? scrubber.exceptBase64 : scrubber.text
    const text = answer.isTruncated ? scrubber.textTruncated(answer.text) : scrub(answer.text)
    return { ...answer, headers, text }
  }
