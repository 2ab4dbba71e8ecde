import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import {
  createGuardedFetch,
  createGuardedStream,
  type GuardedFetch,
  guardHost,
  type Resolve,
  type ServiceRequest,
} from '../fetch/guarded-fetch'
import type { ServiceKind, ServiceKinds } from '../services/check-service'
import { credentialMark, toDestination } from '../services/check-service'
import { type ServiceRow, selectService } from '../services/queries'
import { toRow } from '../services/services'
import type {
  AccountOwner,
  Connect,
  Connection,
  ConnectionRequest,
  OwnAccounts,
} from './connection'
import { credentialErrors } from './errors'
import { type CredentialRow, selectCandidates } from './queries'
import type { RecentSecrets } from './scrub'
import { createGrowingScrubber, emptyScrubber, type Scrubber } from './scrub'
import type { Vault } from './vault'

interface ConnectDeps {
  db: Db
  vault: Vault
  known: RecentSecrets
  ownAccounts: OwnAccounts
  kinds: ServiceKinds
  isPrivateAllowed: boolean
  resolve?: Resolve | undefined
  /** The time of one request; absent: the default. */
  toolTimeoutMs?: number | undefined
}

/** Creates `Connect`: with the account of a requester, or with a credential of the hub. */
export const createConnect =
  (deps: ConnectDeps): Connect =>
  (ask) =>
    ask.owner === null ? connectAsAgent(deps, ask) : connectAsRequester(deps, ask, ask.owner)

/** Connects with the account that a requester has connected, and with no other credential. */
async function connectAsRequester(
  deps: ConnectDeps,
  { server, service, signal }: ConnectionRequest,
  owner: AccountOwner,
): ReturnType<Connect> {
  const { db, known, ownAccounts, isPrivateAllowed, resolve, toolTimeoutMs: timeoutMs } = deps
  const row = await run(db, selectService(server, service))
  if (!row || server !== 'remote') throw credentialErrors.noOwnAccounts(service)
  const scrubber = createGrowingScrubber()
  const access = await ownAccounts.open(owner, row, {
    signal,
    onSecrets: (secrets) => scrubber.add(known.scrubberFor(secrets)),
  })
  const reach = toReach(row, isPrivateAllowed)
  const fetch = createGuardedFetch({
    service,
    reach,
    hasCredential: true,
    signal,
    resolve,
    timeoutMs,
  })
  const authorize = (request: ServiceRequest): ServiceRequest => ({
    ...request,
    headers: { ...request.headers, authorization: `Bearer ${access.token()}` },
  })
  const send: GuardedFetch = async (request) => {
    const answer = await fetch(authorize(request))
    if (answer.status !== 401) return answer
    await access.renew()
    return fetch(authorize(request))
  }
  const connection: Connection = {
    service,
    baseUrl: new URL(row.baseUrl),
    format: row.format,
    credential: null,
    hosts: reach.hosts,
    allowPrivate: reach.allowPrivate,
    owner: owner.id,
    headers: withoutCredential(row.headers),
    guardHost: (hostname) => guardHost({ service, reach, resolve }, hostname, signal),
    scrub: scrubber.text,
    fetch: scrubAnswers(send, scrubber),
  }
  return { connection, scrubber }
}

const toReach = ({ hosts, allowHttp, allowPrivate }: ServiceRow, isPrivateAllowed: boolean) => ({
  hosts,
  allowHttp,
  allowPrivate: allowPrivate && isPrivateAllowed,
})

/** Returns the headers that hold no credential of the hub. */
const withoutCredential = (headers: Record<string, string>): Record<string, string> =>
  fillIn(
    Object.fromEntries(
      Object.entries(headers).filter(([, text]) => !text.includes(credentialMark)),
    ),
    null,
  )

/** Connects with a credential of the hub, if any. Reads declaration and credentials in one round trip. */
async function connectAsAgent(
  { db, vault, known, kinds, isPrivateAllowed, resolve, toolTimeoutMs: timeoutMs }: ConnectDeps,
  ask: ConnectionRequest,
): ReturnType<Connect> {
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
  const reach = toReach({ ...row, hosts: [...row.hosts, ...more] }, isPrivateAllowed)
  const hasCredential = value !== null
  const fetch = createGuardedFetch({
    service,
    reach,
    hasCredential,
    signal,
    resolve,
    timeoutMs,
  })
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
    stream: createGuardedStream({ service, reach, signal, resolve }),
    owner: null,
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
    const { onEvent, isDecodedLater } = request
    const clean = onEvent && {
      onEvent: (event: string, of: Headers) => onEvent(scrubber.text(event), of),
    }
    const answer = await fetch({ ...request, ...clean })
    const headers = new Headers(
      [...answer.headers].map(([name, value]) => [name, scrubber.text(value)]),
    )
    if (answer.text === null) return { ...answer, headers }
    const scrub = isDecodedLater ? scrubber.exceptBase64 : scrubber.text
    const text = answer.isTruncated ? scrubber.textTruncated(answer.text) : scrub(answer.text)
    return { ...answer, headers, text }
  }
