import type { ModelConnection } from '../../hub/contract/hub'
import { modelGateway } from '../../shared/config'
import { truncateBody } from '../../shared/cut-text'
import type { ModelAccess, OpenedConnection } from '../contract/model-admin'
import type { CredentialRow } from '../credentials/queries'
import type { RecentSecrets } from '../credentials/scrub'
import { emptyScrubber, type Scrubber } from '../credentials/scrub'
import type { Vault } from '../credentials/vault'
import type { PrivateRule } from '../fetch/check-url'
import { checkUrl, type Reach, toHost } from '../fetch/check-url'
import { fetchErrors, guardHost, type Resolve } from '../fetch/guarded-fetch'
import { credentialMark, toDestination } from '../services/check-service'
import { type AiBinding, createBindingFetch } from './ai-binding'

/** What a connection holds for this module only. */
export interface SealedConnection {
  credential: CredentialRow | null
  headers: Record<string, string>
  allowHttp: boolean
  allowPrivate: boolean
  /** The address is part of this program or of the environment, and needs no lookup. */
  isBuiltIn: boolean
}

interface AccessDeps {
  vault: Pick<Vault, 'read'>
  known: RecentSecrets
  canReachPrivate: PrivateRule
  resolve?: Resolve | undefined
  /** The platform's binding; absent where there is none. */
  ai?: AiBinding | undefined
}

/** Error responses are read up to this size, to redact them. */
const { errorBytesMax } = modelGateway

/**
 * Creates the sender of model calls. A key is decrypted at the first call of a connection, stays in this
 * module, and goes to its own origin only; an answer that is an error is redacted before it is passed on.
 */
export const createModelAccess = (deps: AccessDeps): ModelAccess => ({
  open: (connection) =>
    connection.isBinding && deps.ai
      ? { fetch: createBindingFetch(deps.ai), redact: (text) => text }
      : openConnection(deps, connection),
})

function openConnection(
  { vault, known, canReachPrivate, resolve }: AccessDeps,
  connection: ModelConnection,
): OpenedConnection {
  const sealed = connection.sealed as SealedConnection
  const base = new URL(connection.baseUrl)
  const reach: Reach = {
    hosts: [toHost(base)],
    allowHttp: sealed.allowHttp,
    allowPrivate: sealed.isBuiltIn || (sealed.allowPrivate && canReachPrivate(base.hostname)),
  }
  let key: Promise<string | null> | undefined
  let scrubber: Scrubber = emptyScrubber
  const readKey = async (): Promise<string | null> => {
    if (sealed.credential === null) return null
    const value = await vault.read(sealed.credential, toDestination(connection.baseUrl))
    scrubber = known.scrubberFor([value])
    return value
  }
  const service = connection.provider
  return {
    redact: (text) => scrubber.text(text),
    async fetch(input, init = {}) {
      const url = new URL(input instanceof Request ? input.url : input)
      const problem = checkUrl(url, reach)
      if (problem !== null) throw fetchErrors.blocked(service, problem)
      const signal = init.signal ?? AbortSignal.timeout(lookupMs)
      await guardHost({ service, reach, resolve }, url.hostname, signal)
      key ??= readKey()
      const value = await key.catch((error) => {
        key = undefined
        throw error
      })
      const headers = new Headers(init.headers)
      for (const [name, text] of Object.entries(sealed.headers)) {
        headers.delete(name)
        if (value !== null)
          headers.set(
            name,
            text.replaceAll(credentialMark, () => value),
          )
      }
      const response = await fetch(url, { ...init, headers, redirect: 'manual' })
      return response.ok ? response : redactError(response, scrubber)
    },
  }
}

/** A lookup of a host's addresses outside of a call takes at most this long. */
const lookupMs = 10_000

async function redactError(response: Response, scrubber: Scrubber): Promise<Response> {
  if (response.body === null) return response
  // One more, so that a longer one is found to be truncated.
  const begin = truncateBody(response, errorBytesMax + 1)
  const text = await begin.text().catch(() => '')
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  headers.delete('content-encoding')
  const body =
    text.length <= errorBytesMax
      ? scrubber.text(text)
      : scrubber.textTruncated(text.slice(0, errorBytesMax))
  return new Response(body, { status: response.status, headers })
}
